package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// mishap is a state that an add-on gets stuck in, and the edit that mends it. Entries are what follows the name in spec.addons.
type mishap struct {
	chart  string
	traits []trait
	// first is the entry with which it runs before; empty when nothing does.
	first string
	bad   string
	// state, if not Failed, and parts of the message.
	state v1alpha1.AddonState
	says  []string
	// given says that Flux has given up.
	given bool
	good  string
	// define replaces the traits of the definition before good is applied; nil for none.
	define []trait
	// version that runs in the end.
	version string
}

const (
	failing  = `, values: {hook: {fail: true}}`
	rollback = v1alpha1.FailureRollback
	tryAgain = "reconcile.fluxcd.io/requestedAt="
)

func onFailure(policy v1alpha1.FailurePolicy) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.OnFailure = policy })
}

var firstInstalls = map[string]mishap{
	"hook": {
		chart: "hooks", bad: failing, says: []string{"pre-install"}, version: "1.0.0",
	},
	"render": {
		chart: "broken-template", says: []string{"set password"}, good: `, values: {password: secret}`, version: "1.0.0",
	},
	"schema": {
		chart: "webapp", bad: `, values: {service: {port: 99999}}`, says: []string{"/service/port"}, version: "1.0.0",
	},
	"timeout": {
		chart: "never-ready", traits: []trait{timeout(10 * time.Second)}, says: []string{"not ready within 10s"}, good: `, values: {fixed: true}`, version: "1.0.0",
	},
	"test": {
		chart: "webapp", traits: []trait{tested()}, bad: `, values: {test: {fail: true}}`, says: []string{"test"}, version: "1.0.0",
	},
	"url": {
		chart: "tiny", traits: []trait{from("http://127.0.0.1:1/charts")}, says: []string{"http://127.0.0.1:1/charts", "connection refused"},
		define: []trait{}, version: "1.0.0",
	},
	"url-kind": {
		chart: "tiny", traits: []trait{from("oci://127.0.0.1:1/charts"), plainHTTP()}, says: []string{"oci://127.0.0.1:1/charts"},
		define: []trait{}, version: "1.0.0",
	},
	"chart-version": {
		chart: "tiny", traits: []trait{versions("1.0.0", "7.7.7")}, says: []string{"7.7.7"}, good: `, version: 1.0.0`, version: "1.0.0",
	},
	"new-version": {
		chart: "hooks", traits: []trait{versions("1.0.0", "1.1.0")}, bad: `, version: 1.0.0` + failing, says: []string{"pre-install"},
		good: `, version: 1.1.0`, version: "1.1.0",
	},
	"no-secret": {
		chart: "tiny", bad: `, valuesFrom: [{kind: Secret, name: mend-no-secret}]`, says: []string{"kurl-addons/mend-no-secret"}, version: "1.0.0",
	},
}

var (
	hops = versions("1.0.0", "1.1.0")

	upgrades = map[string]mishap{
		"hook": {
			chart: "hooks", traits: []trait{hops}, first: `, version: 1.0.0`, bad: failing, says: []string{"pre-upgrade hook"}, version: "1.1.0",
		},
		"hook-rolled": {
			chart: "hooks", traits: []trait{hops, onFailure(rollback)}, first: `, version: 1.0.0`, bad: failing, given: true,
			says: []string{"pre-upgrade hook", "rollback", "so chart 1.0.0 runs as before", tryAgain}, version: "1.1.0",
		},
		"timeout-rolled": {
			chart: "never-ready", traits: []trait{hops, onFailure(rollback), timeout(10 * time.Second)}, first: `, version: 1.0.0, values: {fixed: true}`,
			given: true, says: []string{"not ready within 10s", "chart 1.0.0 runs", tryAgain}, good: `, values: {fixed: true}`, version: "1.1.0",
		},
		"test": {
			chart: "webapp", traits: []trait{hops, tested()}, first: `, version: 1.0.0`, bad: `, values: {test: {fail: true}}`,
			says: []string{"test"}, version: "1.1.0",
		},
		"test-rolled": {
			chart: "webapp", traits: []trait{hops, tested(), onFailure(rollback)}, first: `, version: 1.0.0`, bad: `, values: {test: {fail: true}}`,
			given: true, says: []string{"test", "chart 1.0.0 runs"}, version: "1.1.0",
		},
		"render": {
			chart: "broken-template", traits: []trait{hops}, first: `, version: 1.0.0, values: {password: secret}`, says: []string{"set password"},
			good: `, values: {password: secret}`, version: "1.1.0",
		},
		"render-rolled": {
			chart: "broken-template", traits: []trait{hops, onFailure(rollback)}, first: `, version: 1.0.0, values: {password: secret}`,
			says: []string{"set password"}, good: `, values: {password: secret}`, version: "1.1.0",
		},
		"values": {
			chart: "hooks", bad: failing, first: `, values: {}`, says: []string{"pre-upgrade hook"}, version: "1.0.0",
		},
		"values-rolled": {
			chart: "hooks", traits: []trait{onFailure(rollback)}, bad: failing, first: `, values: {}`, given: true,
			says: []string{"pre-upgrade hook", "so chart 1.0.0 runs with its earlier values"}, version: "1.0.0",
		},
		"immutable": {
			chart: "immutable", traits: []trait{hops}, first: `, version: 1.0.0`, says: []string{"field is immutable"},
			good: `, values: {selector: old}`, version: "1.1.0",
		},
		"immutable-rolled": {
			chart: "immutable", traits: []trait{hops, onFailure(rollback)}, first: `, version: 1.0.0`, says: []string{"field is immutable", "chart 1.0.0 runs"},
			given: true, good: `, values: {selector: old}`, version: "1.1.0",
		},
		"immutable-mended": {
			chart: "immutable", traits: []trait{hops}, first: `, version: 1.0.0`, says: []string{"field is immutable"},
			define: []trait{versions("1.0.0", "1.1.0", "1.1.1")}, version: "1.1.1",
		},
		"chart-version": {
			chart: "tiny", traits: []trait{versions("1.0.0", "1.1.7")}, first: `, version: 1.0.0`, bad: `, version: 1.1.7`,
			state: v1alpha1.StateUpgrading, says: []string{"1.1.7", "no 'tiny' chart"}, good: `, version: 1.0.0`, version: "1.0.0",
		},
	}
)

func TestEditingTheSpecAlwaysHelps(t *testing.T) {
	t.Parallel()
	for kind, mishaps := range map[string]map[string]mishap{"install": firstInstalls, "upgrade": upgrades} {
		for name, m := range mishaps {
			t.Run(kind+"-"+name, func(t *testing.T) {
				s := beside(t, "mend-"+kind+"-"+name)
				s.mend(m)
			})
		}
	}
}

func (s *story) mend(m mishap) {
	s.t.Helper()
	name := s.name + "-a"
	list := func(entry string) { s.install(`{addons: [{name: ` + name + entry + `}]}`) }
	s.define(name, m.chart, m.traits...)
	if m.first != "" {
		list(m.first)
		s.installerReady()
	}
	list(m.bad)
	if m.state == "" {
		m.state = v1alpha1.StateFailed
	}
	s.says(name, m.state, m.says...)
	if m.given {
		s.eventually("it is stalled", func(t *assert.CollectT) {
			assert.Equal(t, "True", status(s.addon(t, name).Status.Conditions, v1alpha1.ConditionStalled))
		})
	}
	addon, hr := s.addon(s.t, name), s.helmRelease(s.t, name)
	if m.define != nil {
		s.redefine(name, m.chart, m.define...)
	}
	list(m.good)
	s.installerReady()
	assert.Equal(s.t, m.version, s.addon(s.t, name).Status.Version)
	assert.Equal(s.t, addon.UID, s.addon(s.t, name).UID)
	assert.Equal(s.t, hr.UID, s.helmRelease(s.t, name).UID)
}

// redefine gives an add-on another definition than story.define did.
func (s *story) redefine(name, chart string, traits ...trait) {
	s.t.Helper()
	def := &v1alpha1.AddonDefinition{}
	s.get(s.t, name, def)
	def.Spec = s.definition(name, chart, traits...).Spec
	require.NoError(s.t, s.api.Update(s.t.Context(), def))
}
