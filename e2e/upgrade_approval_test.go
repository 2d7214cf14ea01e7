package e2e

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// demands lets a version need another add-on in a range.
func demands(version, addon, within string) trait {
	return atVersion(version, func(v *v1alpha1.VersionDefinition) {
		v.Requires = append(v.Requires, v1alpha1.VersionRequirement{Addon: addon, Version: within})
	})
}

// The base has to wait at 1.5.0 for the app, and the app for the base: an approved plan goes in stages.
func TestUnderManualNothingIsWrittenThatWasNotApproved(t *testing.T) {
	s := beside(t, "manual")
	s.define("manual-base", stepwise, minors(6), held("1.5.0"))
	s.define("manual-app", stepwise, minors(5), requires("manual-base"), demands("1.4.0", "manual-base", "<1.6"), demands("1.5.0", "manual-base", ">=1.5"),
		prefers("manual-unwanted"), demands("1.5.0", "manual-unwanted", ">=7")) // what is not wanted is required of nobody
	begin := time.Now()
	s.install(`{approval: Manual, addons: [{name: manual-base, version: 1.4.0}, {name: manual-app, version: 1.4.0}]}`)
	s.installerSays(v1alpha1.ConditionApproved, "spec.approval is Manual", "install manual-base 1.4.0; install manual-app 1.4.0", "nothing is changed until")
	s.notThere(&v1alpha1.Addon{}, "manual-base")
	s.notThere(&helmv2.HelmRelease{}, "manual-base")
	assert.Empty(t, matching(s.requests(begin), func(r cluster.Request) bool {
		return byOperator(r) && r.Write() && (r.Name == "manual-base" || r.Name == "manual-app" || r.Namespace == "manual")
	}))
	s.approve()
	s.installerReady()
	recorded, before := s.record(), s.identity("manual-base", "manual-app")

	s.install(`{approval: Manual, addons: [{name: manual-base}, {name: manual-app}]}`)
	s.installerSays(v1alpha1.ConditionApproved, "upgrade manual-base 1.4.0 → 1.5.0 → 1.6.0", "upgrade manual-app 1.4.0 → 1.5.0")
	s.lookAgain("manual-base", "manual-app")
	assert.Equal(t, before, s.identity("manual-base", "manual-app"))
	s.approve()
	s.hookRuns("manual", "manual-base-prepare")
	hop := s.identity("manual-base")
	s.revise("manual-app", defaults(`{message: edited}`))
	s.installerSays(v1alpha1.ConditionApproved, "what was approved is void, since the AddonDefinition of manual-app has changed")
	assert.Equal(t, []string{"the AddonDefinition of manual-app has changed"}, s.installer(t).Status.Plan.Differences)
	assert.Equal(t, hop, s.identity("manual-base"), "the hop that is under way is not disturbed")
	s.finishHook("manual", "manual-base-prepare")
	s.installerSays(v1alpha1.ConditionApproved, "upgrade manual-base 1.5.0 → 1.6.0", "upgrade manual-app 1.4.0 → 1.5.0")
	assert.Equal(t, before["manual-app"], s.identity("manual-app")["manual-app"])

	s.approve()
	s.installerReady()
	s.requireSeen(recorded, "running manual-base 1.5.0", "asked manual-app 1.5.0", "running manual-app 1.5.0", "asked manual-base 1.6.0", "running manual-base 1.6.0")
	assert.Equal(t, "edited", s.rendered(t, "manual-app").Data["message"])
	s.requireRevisions("manual-base", "1.4.0", "1.5.0", "1.6.0")
	s.requireRevisions("manual-app", "1.4.0", "1.5.0")
}

func TestUnderManualAnEditedDefinitionReachesWhatRunsOnlyOnceItIsApproved(t *testing.T) {
	s := beside(t, "pinned")
	s.define("pinned-a", stepwise, minors(4))
	s.install(`{approval: Manual, addons: [{name: pinned-a}]}`)
	s.approve()
	s.installerReady()
	before, pinned := s.identity("pinned-a"), s.addon(t, "pinned-a").Spec.Definition
	require.NotEmpty(t, pinned)

	s.revise("pinned-a", defaults(`{message: edited}`))
	s.says("pinned-a", v1alpha1.StateBlocked, "its AddonDefinition has changed since it was approved: approve the plan of Installer pinned")
	s.installerSays(v1alpha1.ConditionApproved, "reconfigure pinned-a")
	s.lookAgain("pinned-a")
	assert.Equal(t, before, s.identity("pinned-a"))
	assert.Equal(t, pinned, s.addon(t, "pinned-a").Spec.Definition)
	s.approve()
	s.installerReady()
	assert.Equal(t, "edited", s.rendered(t, "pinned-a").Data["message"])
	assert.NotEqual(t, pinned, s.addon(t, "pinned-a").Spec.Definition)
}
