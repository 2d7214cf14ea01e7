package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAChainInstallsInOrder(t *testing.T) {
	s := beside(t, "chain")
	s.define("chain-c", "tiny", requires("chain-b"))
	s.define("chain-b", "tiny", requires("chain-a"))
	s.define("chain-a", "tiny")
	s.install(`{addons: [{name: chain-c}, {name: chain-a}, {name: chain-b}]}`)

	s.installerReady()
	s.requireOrder("chain-a", "chain-b")
	s.requireOrder("chain-b", "chain-c")
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
	s.define("diamond-top", "tiny", requires("diamond-left", "diamond-right"))
	s.define("diamond-left", "tiny", requires("diamond-base"))
	s.define("diamond-right", "webapp", requires("diamond-base"))
	s.define("diamond-base", "tiny")
	s.install(`{addons: [{name: diamond-top}, {name: diamond-left}, {name: diamond-right}, {name: diamond-base}]}`)

	s.installerReady()
	for _, side := range []string{"diamond-left", "diamond-right"} {
		s.requireOrder("diamond-base", side)
		s.requireOrder(side, "diamond-top")
	}
}

// requireOrder checks that Helm began to install the second release after the first. A tiny chart takes it two seconds.
func (s *story) requireOrder(first, second string) {
	s.t.Helper()
	a, b := s.helmRelease(s.t, first).Status.History, s.helmRelease(s.t, second).Status.History
	require.NotEmpty(s.t, a)
	require.NotEmpty(s.t, b)
	began, then := a[len(a)-1].FirstDeployed, b[len(b)-1].FirstDeployed
	assert.True(s.t, began.Before(&then), "%s began at %s, %s at %s", first, began, second, then)
}
