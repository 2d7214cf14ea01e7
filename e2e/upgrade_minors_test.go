package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// stopsAt is a gate that is closed once a version of an add-on runs, until it is switched on. It looks at what the chart made, which
// each hop changes.
func stopsAt(story, addon, version string) v1alpha1.Check {
	stop := switchboard(story)
	stop.Resources["shown"] = v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "ConfigMap", Namespace: story, Name: addon}
	stop.Expression = `!shown.exists(c, c.data.version == "` + version + `") || ` + stop.Expression
	return stop
}

func TestAnUpgradeGoesThroughEveryMinor(t *testing.T) {
	s := beside(t, "minors")
	s.define("minors-base", stepwise, minors(8), gated(v1alpha1.MomentUpgrade, stopsAt("minors", "minors-base", "1.6.0")))
	s.define("minors-app", stepwise, minors(8), requires("minors-base"))
	s.define("minors-idle", stepwise, minors(8), requires("minors-base"))
	s.install(`{addons: [{name: minors-base, version: 1.4.0}, {name: minors-app, version: 1.4.0}, {name: minors-idle, version: 1.4.0}]}`)
	s.installerReady()
	dependents, begin, seen := s.identity("minors-app", "minors-idle"), time.Now(), s.recordAddon("minors-base")

	s.install(`{addons: [{name: minors-base}, {name: minors-app, version: 1.5.0}, {name: minors-idle, version: 1.4.0}]}`)
	s.says("minors-base", v1alpha1.StateBlocked, "it is not upgraded while its gate switched-on is closed: switch it on")
	addon := s.addon(t, "minors-base")
	assert.Equal(t, "1.6.0", addon.Status.Version)
	assert.Equal(t, []string{"1.7.0", "1.8.0"}, addon.Status.Path)
	s.requireRevisions("minors-base", "1.4.0", "1.5.0", "1.6.0")
	s.says("minors-app", v1alpha1.StateBlocked, `waits for add-on "minors-base"`, "switch it on")
	s.ready("minors-idle")
	requests := s.requests(begin)
	assert.Empty(t, writes(requests, "minors-app"))
	assert.Empty(t, writes(requests, "minors-idle"))
	s.lookAgain("minors-base", "minors-app", "minors-idle")
	assert.Equal(t, dependents, s.identity("minors-app", "minors-idle"))
	s.requireRevisions("minors-base", "1.4.0", "1.5.0", "1.6.0")

	s.advised("kubectl", message(s.addon(t, "minors-base").Status.Conditions))
	s.installerReady()
	s.requireRevisions("minors-base", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0")
	s.requireRevisions("minors-app", "1.4.0", "1.5.0")
	s.requireRevisions("minors-idle", "1.4.0")
	s.requireSeen(seen, "path 1.5.0 1.6.0 1.7.0 1.8.0", "path 1.6.0 1.7.0 1.8.0", "path 1.7.0 1.8.0", "path 1.8.0")
	s.requireSeen(seen, "gate switched-on passed at 1.4.0", "gate switched-on passed at 1.5.0",
		"gate switched-on closed at 1.6.0", "gate switched-on passed at 1.6.0", "gate switched-on passed at 1.7.0")
	assert.Empty(t, s.addon(t, "minors-base").Status.Path)
	s.requireLooks(s.requests(begin), "minors-base", 4)
}

// requireLooks checks that before each of a number of hops, once the version before was there, the operator looked at what the gate rests on.
func (s *story) requireLooks(requests []cluster.Request, addon string, hops int) {
	s.t.Helper()
	looks := matching(requests, func(r cluster.Request) bool {
		return byOperator(r) && r.Resource == "configmaps" && r.Namespace == s.name && r.Name == addon
	})
	hopped := writes(requests, addon)
	for hop := 1; hop <= hops; hop++ {
		before := requests[0].Received
		if hop > 1 {
			before = s.done(requests, addon, hop)
		}
		write := firstAfter(hopped, before)
		look := firstAfter(looks, before)
		assert.True(s.t, look.Received.Before(write.Received), "hop %d was written at %s, and its gate was looked at only at %s", hop, write.Received, look.Received)
	}
}

// firstAfter is the first request after a time.
func firstAfter(requests []cluster.Request, t time.Time) cluster.Request {
	for _, r := range requests {
		if r.Received.After(t) {
			return r
		}
	}
	return cluster.Request{}
}

// requests since a time that the API server has answered.
func (s *story) requests(since time.Time) []cluster.Request {
	s.t.Helper()
	requests, err := s.Requests(since, time.Now())
	require.NoError(s.t, err)
	return requests
}
