package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// A chart refuses values by its values.schema.json. Helm would say so in the middle of an upgrade, and again at each retry.
func TestAValueThatTheNextChartRefusesIsFoundBeforeTheHop(t *testing.T) {
	s := beside(t, "refuse")
	s.define("refuse-a", "renaming", versions("1.0.0", "2.0.0"))
	s.define("refuse-b", "tiny", requires("refuse-a"))
	s.install(`{addons: [{name: refuse-a, version: 1.0.0, values: {mode: quick, storage: {size: 2Gi}}}, {name: refuse-b}]}`)
	s.installerReady()
	before := s.identity("refuse-a", "refuse-b")

	s.install(`{addons: [{name: refuse-a, version: 2.0.0, values: {mode: quick, storage: {size: 2Gi}}}, {name: refuse-b}]}`)
	s.says("refuse-a", v1alpha1.StateBlocked, "chart renaming 2.0.0 does not accept the values of release refuse-a: "+
		`mode must be one of "fast", "safe"; storage is not known to the chart, which knows mode, persistence; correct them in Installer refuse`)
	assert.Equal(t, before, s.identity("refuse-a", "refuse-b"))
	assert.Equal(t, "1.0.0", s.rendered(t, "refuse-a").Data["version"])
	assert.Equal(t, "1.0.0", s.addon(t, "refuse-a").Status.Version)

	s.install(`{addons: [{name: refuse-a, version: 2.0.0, values: {mode: safe, persistence: {size: 2Gi}}}, {name: refuse-b}]}`)
	s.installerReady()
	assert.Equal(t, "2.0.0", s.rendered(t, "refuse-a").Data["version"])
	assert.JSONEq(t, `{"mode":"safe","persistence":{"size":"2Gi"}}`, s.rendered(t, "refuse-a").Data["values"])
	assert.Len(t, s.helmStorage("refuse-a"), 2, "no upgrade failed on the way")
	assert.Len(t, s.helmStorage("refuse-b"), 1)
}

// The schema of neither chart takes the other's name.
func TestARenamedValueGoesByItsOldNameOnTheWay(t *testing.T) {
	s := beside(t, "rename")
	gate := switchboard("rename")
	gate.Expression = `addon.to == "1.1.0" || (` + gate.Expression + ")"
	s.define("rename-a", "renaming", versions("1.0.0", "1.1.0", "2.0.0"), gated(v1alpha1.MomentUpgrade, gate), func(def *v1alpha1.AddonDefinition) {
		newest := def.Spec.Versions[2].Releases["rename-a"]
		newest.ChangedValues = []v1alpha1.ChangedValue{{Path: "storage", RenamedTo: "persistence"}}
		def.Spec.Versions[2].Releases["rename-a"] = newest
		def.Spec.SupportedValues = []string{"persistence.size"}
	})
	s.install(`{addons: [{name: rename-a, version: 1.0.0, values: {storage: {size: 2Gi}}}]}`)
	s.installerReady()
	before := s.identity("rename-a")

	s.install(`{addons: [{name: rename-a, version: 2.0.0, values: {storage: {size: 2Gi}}}]}`)
	s.installerSays(v1alpha1.ConditionResolved,
		`spec.addons[rename-a].values.storage.size: version 2.0.0 of "rename-a" does not know it any more; it is called persistence.size now`)
	assert.Equal(t, before, s.identity("rename-a"))

	s.install(`{addons: [{name: rename-a, version: 2.0.0, values: {persistence: {size: 2Gi}, mode: safe}}]}`)
	s.says("rename-a", v1alpha1.StateBlocked, "it is not upgraded while its gate switched-on is closed")
	assert.Equal(t, "1.1.0", s.rendered(t, "rename-a").Data["version"])
	assert.JSONEq(t, `{"mode":"safe","storage":{"size":"2Gi"}}`, s.rendered(t, "rename-a").Data["values"])

	s.turn("rename", "on")
	s.installerReady()
	assert.Equal(t, "2.0.0", s.rendered(t, "rename-a").Data["version"])
	assert.JSONEq(t, `{"mode":"safe","persistence":{"size":"2Gi"}}`, s.rendered(t, "rename-a").Data["values"])
	assert.Len(t, s.helmStorage("rename-a"), 3)
	conditions := s.addon(t, "rename-a").Status.Conditions
	assert.Equal(t, "False", status(conditions, v1alpha1.ConditionSupportedValues))
	assert.Equal(t, "values that are not tested, at your own risk (1): mode", conditionMessage(conditions, v1alpha1.ConditionSupportedValues))
}
