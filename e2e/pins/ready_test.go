package pins

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/addons"
)

// After a change of the chart version Flux may, for a moment, say Ready=True with the new generation observed and attempted while the old
// version runs; flux.Observe calls no such moment settled, and whenever it says settled the new version is there.
func TestNewVersionIsNotSettledEarly(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "bump", "tiny", "1.0.0", ""))
	s.awaitSettled(t)
	for _, version := range []string{"1.1.0", "2.0.0", "1.0.0", "1.1.0", "2.0.0"} {
		s.apply(t, w.release(t, "bump", "tiny", version, ""))
		s.awaitSettled(t)
		config := s.config()
		require.False(t, s.gone(t, config))
		assert.Equal(t, version, config.Data["version"])
	}
	traps := 0
	for _, m := range s.since(0) {
		if len(m.Status.History) == 0 || m.Status.History[0].ChartVersion == m.Spec.Chart.Spec.Version {
			continue
		}
		assert.NotEqual(t, addons.PhaseSettled, m.seen.Phase, m)
		if m.ready() == "True" && m.observed() && m.Status.LastAttemptedGeneration == m.Generation {
			traps++
		}
	}
	t.Logf("Ready at the old version with all generations current: %d of %d moments", traps, s.mark())
}

// Every check by 1.4.0 turns Ready to Unknown for a moment, beside a release that runs as asked; flux.Observe calls it settled throughout.
func TestReadyBlinksAtEveryCheck(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "blink", "tiny", "1.0.0", ""))
	s.awaitSettled(t)
	mark := s.mark() - 1
	blinks := 0
	for range 10 {
		s.awaitHandled(t, s.poke(t))
	}
	for _, m := range s.since(mark) {
		assert.Equal(t, addons.PhaseSettled, m.seen.Phase, m)
		if m.ready() == "Unknown" {
			blinks++
		}
	}
	assert.GreaterOrEqual(t, blinks, 10)
}
