package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// The stories here kill programs that all stories use, so they run before the others: none of them calls t.Parallel.

func TestAnOperatorKilledAtAnyMomentEndsInTheSameState(t *testing.T) {
	s := before(t, "killed")
	s.define("killed-a", "tiny", versions("1.0.0", "1.1.0"))
	s.define("killed-b", "tiny", versions("1.0.0", "1.1.0"), requires("killed-a"))
	s.define("killed-c", "tiny", requires("killed-a"))
	recorded := s.record()

	s.install(`{addons: [{name: killed-a, version: 1.0.0}, {name: killed-b, version: 1.0.0}, {name: killed-c}]}`)
	s.killOperatorAfterAFew(recorded)
	s.installerReady()
	s.requireOrder(recorded, "killed-a", "killed-b")
	s.requireOrder(recorded, "killed-a", "killed-c")

	s.install(`{addons: [{name: killed-a, version: 1.1.0}, {name: killed-b, version: 1.1.0}, {name: killed-c}]}`)
	s.killOperatorAfterAFew(recorded)
	s.installerReady()
	s.requireSeen(recorded, "asked killed-a 1.1.0", "running killed-a 1.1.0", "asked killed-b 1.1.0", "running killed-b 1.1.0")
	assert.Len(t, s.helmStorage("killed-a"), 2, "each change is one revision")
	assert.Len(t, s.helmStorage("killed-b"), 2)
	assert.Len(t, s.helmStorage("killed-c"), 1)

	s.install(`{addons: []}`)
	s.approve()
	s.killOperatorAfterAFew(recorded)
	s.gone("killed-a", "killed-b", "killed-c")
	s.installerReady()
	s.requireSeen(recorded, "deleting killed-b", "gone killed-b", "deleting killed-a", "gone killed-a")
	assert.Contains(t, recorded.seen(), "gone killed-c")
	assert.Empty(t, s.defaultsLeft("killed-a", "killed-b", "killed-c"))
}

// killOperatorAfterAFew kills the operator once it has seen a few more things happen, or after a moment when nothing does, and
// starts it again, three times.
func (s *story) killOperatorAfterAFew(recorded *recording) {
	s.t.Helper()
	for range 3 {
		start, few := len(recorded.seen()), 1+rand.IntN(3)
		moment := time.After(time.Duration(rand.IntN(3000)) * time.Millisecond)
		happened := func() bool {
			select {
			case <-moment:
				return true
			default:
				return len(recorded.seen()) >= start+few
			}
		}
		require.Eventually(s.t, happened, patience, time.Millisecond)
		s.t.Logf("the operator dies after: %v", recorded.seen()[start:])
		require.NoError(s.t, s.Kill(s.t.Context(), cluster.Operator))
		require.NoError(s.t, s.Restart(s.t.Context(), cluster.Operator))
	}
}

func TestHelmControllerKilledInTheMiddleOfAnInstallFinishesIt(t *testing.T) {
	s := before(t, "midway")
	recorded := s.record()
	s.define("midway-a", "hooks", defaults(`{hook: {hold: true}}`))
	s.define("midway-b", "tiny", requires("midway-a"))
	s.install(`{addons: [{name: midway-a}, {name: midway-b}]}`)
	job := &batchv1.Job{}
	s.eventually("the hook runs", func(t *assert.CollectT) {
		require.NoError(t, s.api.Get(s.t.Context(), client.ObjectKey{Namespace: s.name, Name: "midway-a-prepare"}, job))
	})

	require.NoError(t, s.Kill(t.Context(), cluster.HelmController))
	require.NoError(t, s.Restart(t.Context(), cluster.HelmController))
	s.eventually("the hook is let go", func(t *assert.CollectT) {
		_, err := s.kubectl("", "patch", "job", "midway-a-prepare", "-n", s.name, "-p", `{"spec":{"suspend":false}}`)
		require.NoError(t, err)
		require.NotEmpty(t, s.helmRelease(t, "midway-a").Status.History)
		assert.Equal(t, "deployed", s.helmRelease(t, "midway-a").Status.History.Latest().Status)
	})
	s.installerReady()
	s.requireOrder(recorded, "midway-a", "midway-b")
}
