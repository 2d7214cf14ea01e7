package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAChainInstallsInOrder(t *testing.T) {
	s := beside(t, "chain")
	recorded := s.record()
	s.define("chain-c", "tiny", requires("chain-b"))
	s.define("chain-b", "tiny", requires("chain-a"))
	s.define("chain-a", "tiny")
	s.install(`{addons: [{name: chain-c}, {name: chain-a}, {name: chain-b}]}`)

	s.installerReady()
	s.requireOrder(recorded, "chain-a", "chain-b")
	s.requireOrder(recorded, "chain-b", "chain-c")
	var order []string
	for _, summary := range s.installer(t).Status.Addons {
		order = append(order, summary.Name)
		assert.Equal(t, v1alpha1.StateReady, summary.State)
		assert.Equal(t, "1.0.0", summary.Version)
	}
	assert.Equal(t, []string{"chain-a", "chain-b", "chain-c"}, order)
}

func TestADiamondInstallsInOrder(t *testing.T) {
	s := beside(t, "diamond")
	recorded := s.record()
	s.define("diamond-top", "tiny", requires("diamond-left", "diamond-right"))
	s.define("diamond-left", "tiny", requires("diamond-base"))
	s.define("diamond-right", "webapp", requires("diamond-base"))
	s.define("diamond-base", "tiny")
	s.install(`{addons: [{name: diamond-top}, {name: diamond-left}, {name: diamond-right}, {name: diamond-base}]}`)

	s.installerReady()
	for _, side := range []string{"diamond-left", "diamond-right"} {
		s.requireOrder(recorded, "diamond-base", side)
		s.requireOrder(recorded, side, "diamond-top")
	}
}

func TestAnIndependentAddonProceedsWhileAnotherFails(t *testing.T) {
	s := beside(t, "apart")
	s.define("apart-broken", "broken-template")
	s.define("apart-after", "tiny", requires("apart-broken"))
	s.define("apart-other", "tiny")
	s.install(`{addons: [{name: apart-broken}, {name: apart-after}, {name: apart-other}]}`)

	s.ready("apart-other")
	s.says("apart-broken", v1alpha1.StateFailed, "set password")
	s.says("apart-after", v1alpha1.StateBlocked, "apart-broken", "set password")
	blockers := s.addon(t, "apart-after").Status.BlockedBy
	require.NotEmpty(t, blockers)
	assert.Equal(t, "apart-broken", blockers[len(blockers)-1].Name)
	s.installerSays(v1alpha1.ConditionReady, "apart-broken", "set password")
}

func TestAFailingAddonRecoversOnceItsRepositoryIsUp(t *testing.T) {
	s := beside(t, "down-up")
	charts, err := s.ServeCharts(t.Context())
	require.NoError(t, err)
	require.NoError(t, charts.HTTP.Down())
	s.define("down-up-a", "tiny", from(charts.HTTPURL()))
	s.define("down-up-b", "tiny", requires("down-up-a"))
	s.install(`{addons: [{name: down-up-a}, {name: down-up-b}]}`)
	s.says("down-up-a", v1alpha1.StateFailed, charts.HTTPURL(), "connection refused")

	require.NoError(t, charts.HTTP.Up())
	s.installerReady()
}

func TestAFailingAddonRecoversWithGoodValues(t *testing.T) {
	s := beside(t, "cure")
	s.define("cure-a", "webapp")
	s.define("cure-b", "tiny", requires("cure-a"))
	s.install(`{addons: [{name: cure-a, values: {replicaCount: many}}, {name: cure-b}]}`)
	s.says("cure-a", v1alpha1.StateFailed, "replicaCount", "integer")

	s.install(`{addons: [{name: cure-a, values: {replicaCount: 2}}, {name: cure-b}]}`)
	s.installerReady()
}

func TestAFailedHelmTestShows(t *testing.T) {
	s := beside(t, "tests")
	s.define("tests-a", "webapp", tested())
	s.install(`{addons: [{name: tests-a, values: {test: {fail: true}}}]}`)
	s.says("tests-a", v1alpha1.StateFailed, "tests-a-answers")

	s.install(`{addons: [{name: tests-a}]}`)
	s.installerReady()
}
