package addons

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelectVersion(t *testing.T) {
	t.Parallel()
	def := define("a", versions("1.0.0", "1.1.0", "1.2.0-rc.1", "1.2.0", "v1.3.0", "2.0.0-beta.1"),
		inChannel("stable", "1.0.0", "1.1.0", "1.2.0"), inChannel("edge", "v1.3.0", "2.0.0-beta.1"),
		onKubernetes("1.1.0", ">=1.29"), onKubernetes("1.2.0", ">=1.31 <1.34"), onKubernetes("v1.3.0", ">=1.32"))
	dates := define("minio", versions("RELEASE.2023-09-30T07-02-29Z", "RELEASE.2024-01-02T00-00-00Z", "RELEASE.2025-10-15T17-29-55Z"))
	early := define("early", versions("0.1.0-alpha.1", "0.1.0-alpha.2"))
	notes := define("notes", versions("1.0.0", "1.1.0", "1.2.0", "2.0.0"), noted("1.1.0", "use 1.0.0", ""), noted("1.2.0", "", "it loses data: use 1.0.0"), noted("2.0.0", "use 1.0.0", ""))
	catalog := catalogOf(def, dates, early, notes, define("gone"))
	for name, test := range map[string]struct {
		request, channel, kubernetes string
		definition                   string // "a" unless given
		at                           string // where the add-on is
		version                      string
		err                          string
	}{
		"absent is the newest, without pre-releases": {version: "v1.3.0"},
		"latest is the newest, without pre-releases": {request: "latest", version: "v1.3.0"},
		"latest of a channel":                        {request: "latest", channel: "stable", version: "1.2.0"},
		"latest for this Kubernetes":                 {kubernetes: "1.31.0", version: "1.2.0"},
		"latest under the Kubernetes ceiling":        {channel: "stable", kubernetes: "1.34.0", version: "1.1.0"},
		"builds of Kubernetes are not pre-releases":  {kubernetes: "v1.29.4-gke.1043002", version: "1.1.0"},
		"Kubernetes with a build and metadata":       {kubernetes: "v1.31.2+k3s1", version: "1.2.0"},
		"unknown Kubernetes refuses nothing":         {kubernetes: "", version: "v1.3.0"},
		"unreadable Kubernetes refuses nothing":      {kubernetes: "main", version: "v1.3.0"},
		"exact":                                      {request: "1.1.0", version: "1.1.0"},
		"exact without the v":                        {request: "1.3.0", version: "v1.3.0"},
		"exact with a v":                             {request: "v1.0.0", version: "1.0.0"},
		"exact outside of the channel":               {request: "1.3.0", channel: "stable", version: "v1.3.0"},
		"exact pre-release":                          {request: "2.0.0-beta.1", version: "2.0.0-beta.1"},
		"wildcard":                                   {request: "1.1.x", version: "1.1.0"},
		"two parts":                                  {request: "1.2", version: "1.2.0"},
		"range":                                      {request: ">=1.0 <1.3", version: "1.2.0"},
		"range in a channel":                         {request: ">=1.0", channel: "stable", version: "1.2.0"},
		"range that names a pre-release":             {request: ">=2.0.0-0", version: "2.0.0-beta.1"},
		"exact, not semver":                          {definition: "minio", request: "RELEASE.2024-01-02T00-00-00Z", version: "RELEASE.2024-01-02T00-00-00Z"},
		"newest, not semver":                         {definition: "minio", version: "RELEASE.2025-10-15T17-29-55Z"},
		"exact for the wrong Kubernetes": {
			request: "1.2.0", kubernetes: "1.34.1",
			err: `version 1.2.0 needs Kubernetes >=1.31 <1.34, and this cluster runs 1.34.1`,
		},
		"unknown exact version": {
			request: "1.1.1",
			err:     `version "1.1.1" of "a" is not in the catalogue; the nearest: 1.0.0, 1.1.0, 1.2.0-rc.1, 1.2.0`,
		},
		"unknown newer version": {
			request: "v9.9.9",
			err:     `version "v9.9.9" of "a" is not in the catalogue; the nearest: 1.2.0-rc.1, 1.2.0, v1.3.0, 2.0.0-beta.1`,
		},
		"unknown older version": {
			request: "0.9.0",
			err:     `version "0.9.0" of "a" is not in the catalogue; the nearest: 1.0.0, 1.1.0, 1.2.0-rc.1, 1.2.0`,
		},
		"unknown word": {
			request: "newest",
			err:     `version "newest" of "a" is not in the catalogue; the nearest: 1.2.0-rc.1, 1.2.0, v1.3.0, 2.0.0-beta.1`,
		},
		"unknown date": {
			definition: "minio", request: "RELEASE.2024-01-01T00-00-00Z",
			err: `version "RELEASE.2024-01-01T00-00-00Z" of "minio" is not in the catalogue; the nearest: RELEASE.2023-09-30T07-02-29Z, RELEASE.2024-01-02T00-00-00Z, RELEASE.2025-10-15T17-29-55Z`,
		},
		"empty range": {
			request: ">=1.3.1 <2",
			err:     `the catalogue has no version of "a" that matches ">=1.3.1 <2"; the nearest: 1.2.0-rc.1, 1.2.0, v1.3.0, 2.0.0-beta.1`,
		},
		"impossible range": {
			request: ">2 <1",
			err:     `the catalogue has no version of "a" that matches ">2 <1"; the nearest: 1.2.0-rc.1, 1.2.0, v1.3.0, 2.0.0-beta.1`,
		},
		"not a range": {
			request: ">= one",
			err:     `">= one" is not a version range: write for example 1.27.x, ^1.2, ">=1.2 <2" or "1.2.x || 1.4.x"`,
		},
		"range on versions that are not semver": {
			definition: "minio", request: ">=2024",
			err: `the versions of "minio" are not semver, so no range such as ">=2024" contains them; name one exactly, such as RELEASE.2025-10-15T17-29-55Z, RELEASE.2024-01-02T00-00-00Z, RELEASE.2023-09-30T07-02-29Z`,
		},
		"channel without a match": {
			channel: "nightly",
			err:     `there is no channel "nightly" of "a", which has edge, stable; change spec.channel, or name a version exactly, such as v1.3.0, 1.2.0, 1.1.0, 1.0.0`,
		},
		"channel without a match in the range": {
			request: "<=1.2.0", channel: "edge",
			err: `channel "edge" has no version of "a" that matches "<=1.2.0"; change spec.channel, or name a version exactly, such as 1.2.0, 1.1.0, 1.0.0`,
		},
		"only pre-releases": {
			definition: "early",
			err:        `the catalogue has no released version of "early"; name a pre-release exactly, such as 0.1.0-alpha.2, 0.1.0-alpha.1`,
		},
		"every version in the range is for another Kubernetes": {
			request: ">=1.2", kubernetes: "v1.29.4-gke.1043002",
			err: `there is no version of "a" that matches ">=1.2" for this cluster: version v1.3.0 needs Kubernetes >=1.32, and this cluster runs 1.29.4`,
		},
		"open, and the newest are deprecated or withdrawn": {definition: "notes", request: "1.x", version: "1.0.0"},
		"open, and a withdrawn one is there":               {definition: "notes", request: "1.x", at: "1.2.0", version: "1.2.0"},
		"open, and a deprecated one is there":              {definition: "notes", request: "1.x", at: "1.1.0", version: "1.1.0"},
		"open, and all are deprecated": {
			definition: "notes", request: "2.x", err: `there is no version of "notes" that matches "2.x" for this cluster: version 2.0.0 is deprecated: use 1.0.0`,
		},
		"deprecated, anew":               {definition: "notes", request: "1.1.0", err: "version 1.1.0 is deprecated: use 1.0.0"},
		"deprecated, and there":          {definition: "notes", request: "1.1.0", at: "1.1.0", version: "1.1.0"},
		"deprecated, as an upgrade":      {definition: "notes", request: "1.1.0", at: "1.0.0", version: "1.1.0"},
		"withdrawn, anew":                {definition: "notes", request: "1.2.0", err: "version 1.2.0 is withdrawn: it loses data: use 1.0.0"},
		"withdrawn, and there":           {definition: "notes", request: "1.2.0", at: "1.2.0", version: "1.2.0"},
		"withdrawn, as an upgrade":       {definition: "notes", request: "1.2.0", at: "1.1.0", err: "version 1.2.0 is withdrawn: it loses data: use 1.0.0"},
		"a channel where there are none": {definition: "notes", channel: "stable", err: `there is no channel "stable" of "notes", which has no channels; change spec.channel, or name a version exactly, such as 2.0.0, 1.2.0, 1.1.0, 1.0.0`},
		"one version only": {
			definition: "gone", request: "1.0.1",
			err: `version "1.0.1" of "gone" is not in the catalogue; the nearest: 1.0.0`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := catalog.Get(cmp.Or(test.definition, "a"))
			require.NoError(t, err)
			version, err := SelectVersion(chosen, test.request, test.channel, test.kubernetes, test.at)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.version, version)
		})
	}
}
