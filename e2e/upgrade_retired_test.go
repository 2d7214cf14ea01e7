package e2e

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func deprecated(version, why string) trait {
	return atVersion(version, func(v *v1alpha1.VersionDefinition) { v.Deprecated = why })
}

func withdrawn(version, why string) trait {
	return atVersion(version, func(v *v1alpha1.VersionDefinition) { v.Withdrawn = why })
}

func TestNothingGoesToVersionsThatAreDeprecatedOrWithdrawn(t *testing.T) {
	s := beside(t, "retired")
	s.define("retired-a", stepwise, minors(8), deprecated("1.5.0", "it leaks memory; use 1.6.0"))
	s.install(`{addons: [{name: retired-a, version: 1.5.0}]}`)
	s.installerSays(v1alpha1.ConditionResolved, "spec.addons[retired-a].version", "version 1.5.0 is deprecated: it leaks memory; use 1.6.0")
	s.notThere(&v1alpha1.Addon{}, "retired-a")
	s.notThere(&helmv2.HelmRelease{}, "retired-a")
	s.install(`{addons: [{name: retired-a, version: "<=1.5"}]}`)
	s.installerReady()
	s.requireRevisions("retired-a", "1.4.0")

	s.install(`{addons: [{name: retired-a, version: 1.6.0}]}`)
	s.installerReady()
	s.requireRevisions("retired-a", "1.4.0", "1.5.0", "1.6.0") // an upgrade may go through a deprecated version

	before := s.identity("retired-a")
	s.revise("retired-a", withdrawn("1.6.0", "it loses data; use 1.8.0"), withdrawn("1.7.0", "it loses data, too; use 1.8.0"))
	s.unsupported("retired-a", "version 1.6.0, which runs, is withdrawn: it loses data; use 1.8.0")
	s.lookAgain("retired-a")
	s.installerReady()
	assert.Equal(t, v1alpha1.StateReady, s.addon(t, "retired-a").Status.State)

	s.install(`{addons: [{name: retired-a, version: 1.8.0}]}`)
	s.says("retired-a", v1alpha1.StateBlocked, `no upgrade path of "retired-a" leads from 1.6.0 to 1.8.0`, "version 1.7.0 is withdrawn: it loses data, too")
	assert.Equal(t, before, s.identity("retired-a"))
	s.revise("retired-a", reachableFrom(">=1.6.0", "1.8.0"))
	s.installerReady()
	s.requireRevisions("retired-a", "1.4.0", "1.5.0", "1.6.0", "1.8.0")
	assert.Empty(t, status(s.addon(t, "retired-a").Status.Conditions, v1alpha1.ConditionSupportedVersion))
}

// unsupported waits until an Addon says that what it runs should not be used any more.
func (s *story) unsupported(addon, says string) {
	s.t.Helper()
	s.eventually(addon+" says that its version is not supported", func(t *assert.CollectT) {
		conditions := s.addon(t, addon).Status.Conditions
		assert.Equal(t, "False", status(conditions, v1alpha1.ConditionSupportedVersion))
		assert.Contains(t, conditionMessage(conditions, v1alpha1.ConditionSupportedVersion), says)
	})
	s.t.Log(conditionMessage(s.addon(s.t, addon).Status.Conditions, v1alpha1.ConditionSupportedVersion))
}
