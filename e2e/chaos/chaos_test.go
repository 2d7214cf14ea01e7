package main

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"
)

// slice of storms that every change has to stand, three minutes with the rests. The whole is make chaos.
const slice = 3 * stormLength

func TestASliceOfChaos(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "chaos-") //nolint:usetesting // it has to stay when the test fails
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), options{seed: rand.Uint64N(1e6), kills: math.MaxInt, lasts: slice, dir: dir}, t.Output()))
	require.NoError(t, os.RemoveAll(dir))
}

func TestAddonsComeAfterWhatTheyNeed(t *testing.T) {
	names := map[string]bool{}
	for _, m := range theWorld() {
		for _, before := range append(m.needs, m.likes...) {
			require.True(t, names[before], "%s comes after %s, which is not before it in the world", m.name, before)
		}
		names[m.name] = true
		require.Len(t, m.definition("http://charts").Spec.Releases, len(m.charts))
	}
}
