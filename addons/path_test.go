package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPath(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(
		define("minors", versions("1.0.0", "1.0.5", "1.1.0", "1.1.3", "1.2.0", "1.4.0", "2.0.0", "2.1.0", "3.1.0")),
		define("rook", versions("1.17.0", "1.18.11", "1.19.7"), upgradeFrom("1.18.11", ">=1.17.0 <1.19"), upgradeFrom("1.19.7", ">=1.18.0 <1.20")),
		define("ceiling", versions("1.0.0", "1.1.0", "1.1.9", "1.2.0"),
			onKubernetes("1.0.0", "<1.30"), onKubernetes("1.1.0", "<1.31"), onKubernetes("1.1.9", ">=1.29 <1.33"), onKubernetes("1.2.0", ">=1.31")),
		define("choice", versions("1.0.0", "2.0.0", "3.0.0", "4.0.0"),
			upgradeFrom("2.0.0", "1.0.0"), upgradeFrom("3.0.0", "1.0.0"), upgradeFrom("4.0.0", "2.0.0 || 3.0.0")),
		define("leap", versions("1.0.0", "1.1.0", "1.2.0"), upgradeFrom("1.2.0", ">=1.0.0")),
		define("notes", versions("1.0.0", "1.1.0", "1.1.9", "1.2.0", "1.3.0"), noted("1.1.0", "slow", ""), noted("1.1.9", "", "it loses data"), noted("1.3.0", "", "it loses data")),
		define("dead-end", versions("1.0.0", "2.0.0"), upgradeFrom("2.0.0", ">=1.5")),
		define("minio", versions("RELEASE.2023-09-30T07-02-29Z", "RELEASE.2024-01-02T00-00-00Z", "RELEASE.2025-10-15T17-29-55Z")),
		define("packaged", versions("0.92.1-9.1.0", "0.92.1-87.15.1", "0.93.0-1.0.0")),
		define("pre", versions("1.0.0-rc.1", "1.0.0", "1.1.0"), upgradeFrom("1.0.0", ">=1.0.0-rc.1")),
	)
	for name, test := range map[string]struct {
		addon, from, to, kubernetes string
		needs                       []Need
		path                        []string
		err                         string
	}{
		"already there":                       {addon: "minors", from: "1.1.0", to: "1.1.0"},
		"same minor":                          {addon: "minors", from: "1.0.0", to: "1.0.5", path: []string{"1.0.5"}},
		"next minor":                          {addon: "minors", from: "1.0.0", to: "1.1.3", path: []string{"1.1.3"}},
		"two minors, over the newest patch":   {addon: "minors", from: "1.0.0", to: "1.2.0", path: []string{"1.1.3", "1.2.0"}},
		"next major from the last minor":      {addon: "minors", from: "1.4.0", to: "2.1.0", path: []string{"2.0.0", "2.1.0"}},
		"from a version that is not listed":   {addon: "minors", from: "1.0.7", to: "1.2.0", path: []string{"1.1.3", "1.2.0"}},
		"edges":                               {addon: "rook", from: "1.17.0", to: "1.19.7", path: []string{"1.18.11", "1.19.7"}},
		"edges, from an unlisted patch":       {addon: "rook", from: "1.17.9", to: "1.19.7", path: []string{"1.18.11", "1.19.7"}},
		"edges, straight from an unlisted":    {addon: "rook", from: "1.18.3", to: "1.19.7", path: []string{"1.19.7"}},
		"the shortest":                        {addon: "leap", from: "1.0.0", to: "1.2.0", path: []string{"1.2.0"}},
		"of equally short ones the furthest":  {addon: "choice", from: "1.0.0", to: "4.0.0", path: []string{"3.0.0", "4.0.0"}},
		"around a hop for another Kubernetes": {addon: "ceiling", from: "1.0.0", to: "1.2.0", kubernetes: "1.31.4", path: []string{"1.1.9", "1.2.0"}},
		"not semver: one after the other": {
			addon: "minio", from: "RELEASE.2023-09-30T07-02-29Z", to: "RELEASE.2025-10-15T17-29-55Z",
			path: []string{"RELEASE.2024-01-02T00-00-00Z", "RELEASE.2025-10-15T17-29-55Z"},
		},
		"packaging suffixes": {addon: "packaged", from: "0.92.1-9.1.0", to: "0.93.0-1.0.0", path: []string{"0.93.0-1.0.0"}},
		"from a pre-release": {addon: "pre", from: "1.0.0-rc.1", to: "1.0.0", path: []string{"1.0.0"}},
		"down": {
			addon: "minors", from: "1.1.0", to: "1.0.5",
			err: `"minors" runs at 1.1.0 and never goes down to 1.0.5, since its data may not survive that; ask for 1.1.0 or newer`,
		},
		"down, not semver": {
			addon: "minio", from: "RELEASE.2024-01-02T00-00-00Z", to: "RELEASE.2023-09-30T07-02-29Z",
			err: `"minio" runs at RELEASE.2024-01-02T00-00-00Z and never goes down to RELEASE.2023-09-30T07-02-29Z, since its data may not survive that; ask for RELEASE.2024-01-02T00-00-00Z or newer`,
		},
		"over a missing minor": {
			addon: "minors", from: "1.0.0", to: "1.4.0",
			err: `no upgrade path of "minors" leads from 1.0.0 to 1.4.0: the catalogue lists no version from which 1.4.0 can be reached; add one to the AddonDefinition`,
		},
		"into a major that does not begin with .0": {
			addon: "minors", from: "2.1.0", to: "3.1.0",
			err: `no upgrade path of "minors" leads from 2.1.0 to 3.1.0: the catalogue lists no version from which 3.1.0 can be reached; add one to the AddonDefinition`,
		},
		"from before every edge": {
			addon: "rook", from: "1.15.0", to: "1.19.7",
			err: `no upgrade path of "rook" leads from 1.15.0 to 1.19.7: 1.19.7 can be reached from 1.18.11 only, and no hop leads from 1.15.0 to 1.17.0; add the hop to the AddonDefinition`,
		},
		"from several": {
			addon: "choice", from: "2.5.0", to: "4.0.0",
			err: `no upgrade path of "choice" leads from 2.5.0 to 4.0.0: 4.0.0 can be reached from 3.0.0, 2.0.0 only, and no hop leads from 2.5.0 to 3.0.0; add the hop to the AddonDefinition`,
		},
		"no edge from a listed version": {
			addon: "dead-end", from: "1.0.0", to: "2.0.0",
			err: `no upgrade path of "dead-end" leads from 1.0.0 to 2.0.0: 2.0.0 can be reached from >=1.5 only (its upgradeFrom), and the catalogue lists no such version; add one to the AddonDefinition, or widen that range`,
		},
		"Kubernetes is too new for a hop": {
			addon: "ceiling", from: "1.0.0", to: "1.2.0", kubernetes: "1.33.0",
			err: `no upgrade path of "ceiling" leads from 1.0.0 to 1.2.0: version 1.1.9 needs Kubernetes >=1.29 <1.33, and this cluster runs 1.33.0; Kubernetes has gone ahead of it: add a hop around it to the AddonDefinition`,
		},
		"Kubernetes is too old for the target": {
			addon: "ceiling", from: "1.1.0", to: "1.2.0", kubernetes: "v1.30.2-eks-1",
			err: `no upgrade path of "ceiling" leads from 1.1.0 to 1.2.0: version 1.2.0 needs Kubernetes >=1.31, and this cluster runs 1.30.2; ask for 1.1.9, which runs on Kubernetes >=1.29 <1.33, then upgrade Kubernetes, then ask for more`,
		},
		"through a deprecated version, around a withdrawn one": {addon: "notes", from: "1.0.0", to: "1.2.0", path: []string{"1.1.0", "1.2.0"}},
		"to a withdrawn version": {
			addon: "notes", from: "1.2.0", to: "1.3.0",
			err: `no upgrade path of "notes" leads from 1.2.0 to 1.3.0: version 1.3.0 is withdrawn: it loses data`,
		},
		"through a range that others need": {
			addon: "minors", from: "1.0.0", to: "1.2.0", needs: []Need{{Addon: "b", Running: "2.0.0", Range: "<1.1.2 || 1.2.x"}}, path: []string{"1.1.0", "1.2.0"},
		},
		"out of a range that others need": {
			addon: "minors", from: "1.0.0", to: "1.2.0", needs: []Need{{Addon: "b", Running: "2.0.0", Range: "<1.2"}},
			err: `no upgrade path of "minors" leads from 1.0.0 to 1.2.0: add-on "b" runs 2.0.0 and needs this one at <1.2, which 1.2.0 is not`,
		},
		"Kubernetes is too old for a hop in the middle": {
			addon: "ceiling", from: "1.0.0", to: "1.2.0", kubernetes: "1.28.0",
			err: `no upgrade path of "ceiling" leads from 1.0.0 to 1.2.0: version 1.1.9 needs Kubernetes >=1.29 <1.33, and this cluster runs 1.28.0; ask for 1.1.0, which runs on Kubernetes <1.31, then upgrade Kubernetes, then ask for more`,
		},
		"to a version that is not listed": {
			addon: "minors", from: "1.0.0", to: "1.1.4",
			err: `no upgrade path of "minors" leads from 1.0.0 to 1.1.4: 1.1.4 is not in the catalogue; the nearest: 1.1.0, 1.1.3, 1.2.0, 1.4.0`,
		},
		"not semver, from a version that is not listed": {
			addon: "minio", from: "RELEASE.2022-01-01T00-00-00Z", to: "RELEASE.2023-09-30T07-02-29Z",
			err: `no upgrade path of "minio" leads from RELEASE.2022-01-01T00-00-00Z to RELEASE.2023-09-30T07-02-29Z: the catalogue lists no version from which RELEASE.2023-09-30T07-02-29Z can be reached; add one to the AddonDefinition`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(test.addon)
			require.NoError(t, err)
			path, err := Path(def, test.from, test.to, Limits{Kubernetes: test.kubernetes, Needs: test.needs})
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.path, path)
		})
	}
}
