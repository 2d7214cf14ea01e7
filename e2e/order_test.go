package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// needs are six add-ons in three levels, each with those that it requires.
var needs = map[string][]string{
	"levels-base-a": nil,
	"levels-base-b": nil,
	"levels-mid-a":  {"levels-base-a"},
	"levels-mid-b":  {"levels-base-a", "levels-base-b"},
	"levels-top-a":  {"levels-mid-a", "levels-mid-b"},
	"levels-top-b":  {"levels-mid-b"},
}

// The API server's own record is the witness here: it has what was asked of it, by whom, and when.
func TestAWholeInstallerGoesInReverseOrder(t *testing.T) {
	s := beside(t, "levels")
	entries := make([]string, 0, len(needs))
	for name, others := range needs {
		s.define(name, "tiny", requires(others...))
		entries = append(entries, "{name: "+name+"}")
	}
	s.install(`{addons: [` + strings.Join(entries, ", ") + `]}`)
	s.installerReady()
	begin := time.Now()

	s.confirmAndDelete()
	for name := range needs {
		s.gone(name)
	}
	requests, err := s.Requests(begin, time.Now())
	require.NoError(t, err)
	for name, others := range needs {
		proof := uninstalled(t, requests, name)
		for _, other := range others {
			asked := deletion(t, requests, other)
			assert.True(t, asked.Received.After(proof), "%s was to go at %s, and %s was uninstalled only at %s", other, asked.Received, name, proof)
		}
	}
	for _, request := range s.deletions(begin) {
		assert.Contains(t, request.User, ":"+v1alpha1.FieldManager, "%+v", request)
	}
}

// deletion is the one request that deleted a HelmRelease.
func deletion(t *testing.T, requests []cluster.Request, name string) cluster.Request {
	t.Helper()
	found := matching(requests, func(r cluster.Request) bool {
		return r.Verb == "delete" && r.Resource == "helmreleases."+helmv2.GroupVersion.Group && r.Name == name
	})
	require.Len(t, found, 1, name)
	return found[0]
}

// uninstalled is when Flux was seen to have uninstalled a release: it had deleted what the chart made and Helm's record of it, and
// then let go of the HelmRelease.
func uninstalled(t *testing.T, requests []cluster.Request, name string) time.Time {
	t.Helper()
	begin := deletion(t, requests, name).Received
	flux := matching(requests, func(r cluster.Request) bool {
		return strings.HasSuffix(r.User, ":helm-controller") && r.Write() && r.Received.After(begin)
	})
	object := matching(flux, func(r cluster.Request) bool {
		return r.Verb == "delete" && r.Resource == "configmaps" && r.Name == name
	})
	record := matching(flux, func(r cluster.Request) bool {
		return r.Verb == "delete" && r.Resource == "secrets" && r.Name == "sh.helm.release.v1."+name+".v1"
	})
	require.Len(t, object, 1, name)
	require.Len(t, record, 1, name)
	letGo := matching(flux, func(r cluster.Request) bool {
		return r.Verb == "patch" && strings.HasPrefix(r.Resource, "helmreleases.") && r.Name == name && r.Subresource == "" && r.Received.After(record[0].Received)
	})
	require.NotEmpty(t, letGo, name)
	return letGo[0].Received
}

// matching are the requests that succeeded and that a function picks.
func matching(requests []cluster.Request, picks func(cluster.Request) bool) []cluster.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r cluster.Request) bool { return r.Code >= 300 || !picks(r) })
}
