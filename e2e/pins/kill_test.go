package pins

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// TestControllersDie has a cluster of its own, whose controllers it ends.
func TestControllersDie(t *testing.T) {
	t.Parallel()
	w, err := newWorld()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.cluster.Stop()) })
	t.Run("killed", func(t *testing.T) {
		end(t, w, death{prefix: "killed", by: w.cluster.Kill, install: "pending-install", upgrade: "pending-upgrade"})
	})
	t.Run("interrupted", func(t *testing.T) {
		end(t, w, death{prefix: "interrupted", by: w.cluster.Interrupt, install: "failed", upgrade: "failed"})
	})
	for name, l := range losses() {
		t.Run(name, func(t *testing.T) { loseArtifacts(t, w, strings.ReplaceAll(name, " ", "-"), l) })
	}
	t.Run("late view", func(t *testing.T) { seeLate(t, w) })
}

// death is an end of helm-controller, and how Helm's storage then calls the revisions that were under way.
type death struct {
	prefix           string
	by               func(ctx context.Context, component string) error
	install, upgrade string
}

// Whether helm-controller is killed or interrupted in the middle of an action, the conditions and the history stay as they were before;
// only the storage differs, where a killed one leaves the revision pending, and an interrupted one failed. Once it is back it continues
// by an upgrade, an install too, and so repeats the hook; of a pending revision it first says Ready=False for PendingRelease. The history
// is emptied until that upgrade ends. What is suspended is acknowledged, and left as it was until it is resumed.
func end(t *testing.T, w *world, d death) {
	t.Helper()
	install := w.start(t, w.release(t, d.prefix+"-install", "hooks", "1.0.0", hold))
	installQuiet := w.start(t, w.release(t, d.prefix+"-install-quiet", "hooks", "1.0.0", hold))
	upgrade := w.start(t, w.release(t, d.prefix+"-upgrade", "hooks", "1.0.0", ""))
	upgradeQuiet := w.start(t, w.release(t, d.prefix+"-upgrade-quiet", "hooks", "1.0.0", ""))
	active, quiet := []*subject{install, upgrade}, []*subject{installQuiet, upgradeQuiet}
	for _, s := range []*subject{upgrade, upgradeQuiet} {
		s.awaitSettled(t)
		s.apply(t, w.release(t, s.name, "hooks", "2.0.0", hold))
	}
	runs := map[*subject]types.UID{}
	for _, s := range []*subject{install, installQuiet, upgrade, upgradeQuiet} {
		runs[s] = s.awaitHeld(t)
		s.await(t, "under way", func(m moment) bool { return m.Status.LastAttemptedGeneration == m.Generation })
	}
	for _, s := range quiet {
		s.patch(t, func(hr *helmv2.HelmRelease) {
			hr.Spec.Suspend = true
			annotate(hr, meta.ReconcileRequestAnnotation, "quiet")
		})
	}
	require.NoError(t, d.by(t.Context(), cluster.HelmController))

	marks, conditions := map[*subject]int{}, map[*subject][]metav1.Condition{}
	for s := range runs {
		marks[s], conditions[s] = s.mark(), s.get(t).Status.Conditions
	}
	for _, s := range []*subject{install, installQuiet} {
		assert.Equal(t, []string{"v1 " + d.install}, s.stored(t))
		m := moment{HelmRelease: s.get(t)}
		assert.Empty(t, m.history())
		assert.Equal(t, "Running 'install' action with timeout of 5m0s", m.condition(meta.ReadyCondition).Message)
	}
	for _, s := range []*subject{upgrade, upgradeQuiet} {
		assert.Equal(t, []string{"v2 " + d.upgrade, "v1 deployed"}, s.stored(t))
		m := moment{HelmRelease: s.get(t)}
		assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
		assert.Equal(t, "Running 'upgrade' action with timeout of 5m0s", m.condition(meta.ReadyCondition).Message)
	}

	require.NoError(t, w.cluster.Restart(t.Context(), cluster.HelmController))
	for _, s := range active {
		runs[s] = s.awaitHeld(t, runs[s])
	}
	for _, s := range quiet {
		m := s.await(t, "acknowledged", func(m moment) bool { return m.observed() && m.Status.LastHandledReconcileAt == "quiet" })
		assert.Equal(t, conditions[s], m.Status.Conditions)
	}
	assert.Equal(t, []string{"v1 " + d.install}, installQuiet.stored(t))
	assert.Equal(t, []string{"v2 " + d.upgrade, "v1 deployed"}, upgradeQuiet.stored(t))
	assert.Equal(t, []string{"v2 pending-upgrade", "v1 failed"}, install.stored(t))
	assert.Equal(t, []string{"v3 pending-upgrade", "v2 failed", "v1 deployed"}, upgrade.stored(t))
	upgrade.await(t, "without a history", func(m moment) bool { return len(m.Status.History) == 0 })

	for _, s := range quiet {
		s.patch(t, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		s.awaitHeld(t, runs[s])
	}
	for s := range runs {
		s.unhold(t)
		m := s.awaitSettled(t)
		assert.Len(t, m.Status.History, 1)
		pending := 0
		for _, m := range s.since(marks[s]) {
			assert.NotEqual(t, addons.PhaseFailing, m.seen.Phase, m)
			if m.condition(meta.ReadyCondition).Reason == "PendingRelease" {
				pending++
			}
		}
		assert.Equal(t, d.install != "failed", pending > 0)
	}
	assert.Equal(t, []string{"v2 deployed", "v1 superseded"}, install.stored(t))
	assert.Equal(t, []string{"v3 deployed", "v2 failed", "v1 superseded"}, upgrade.stored(t))
}

// loss is a way for charts to stay away after source-controller lost its storage.
type loss struct {
	away, back func(t *testing.T, s *subject)
	noArtifact bool // in the HelmChart's status
	reason     string
	message    string // what flux.Observe says then
}

func losses() map[string]loss {
	return map[string]loss{
		"repository away": {
			away:       func(t *testing.T, s *subject) { t.Helper(); require.NoError(t, s.charts.HTTP.Down()) },
			back:       func(t *testing.T, s *subject) { t.Helper(); require.NoError(t, s.charts.HTTP.Up()) },
			noArtifact: true,
			reason:     "SourceNotReady",
			message:    "failed to fetch Helm repository index",
		},
		"not noticed yet": {
			away:    func(t *testing.T, s *subject) { t.Helper(); s.suspendChart(t, true) },
			back:    func(t *testing.T, s *subject) { t.Helper(); s.suspendChart(t, false) },
			reason:  helmv2.ArtifactFailedReason,
			message: "waiting for its chart to be fetched",
		},
	}
}

func (s *subject) suspendChart(t *testing.T, suspend bool) {
	t.Helper()
	chart := s.since(s.mark() - 1)[0].sources.Chart.DeepCopy()
	before := chart.DeepCopy()
	chart.Spec.Suspend = suspend
	before.Spec.Suspend = !suspend
	require.NoError(t, s.api.Patch(t.Context(), chart, client.MergeFrom(before)))
	eventually(t, func(c *assert.CollectT) {
		require.NoError(c, s.api.Get(context.Background(), client.ObjectKeyFromObject(chart), chart))
		assert.Equal(c, chart.Generation, chart.Status.ObservedGeneration)
	})
}

// After source-controller lost its storage a release that runs as asked turns Ready=False at its next check, for SourceNotReady once
// source-controller has noticed and fails to fetch the chart again, and for ArtifactFailed before. flux.Observe calls it degraded at
// worst, and settled again by itself once the chart is there.
func loseArtifacts(t *testing.T, w *world, name string, l loss) {
	t.Helper()
	s := w.start(t, w.release(t, name, "tiny", "1.0.0", ""))
	before := s.awaitSettled(t)
	mark := s.mark()
	l.away(t, s)
	require.NoError(t, w.cluster.Kill(t.Context(), cluster.SourceController))
	entries, err := filepath.Glob(filepath.Join(w.cluster.Dir(), "artifacts", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		require.NoError(t, os.RemoveAll(entry))
	}
	require.NoError(t, w.cluster.Restart(t.Context(), cluster.SourceController))
	chart := before.sources.Chart
	eventually(t, func(c *assert.CollectT) {
		require.NoError(c, w.api.Get(context.Background(), client.ObjectKeyFromObject(chart), chart))
		assert.Equal(c, l.noArtifact, chart.Status.Artifact == nil)
	})

	s.poke(t)
	m := s.await(t, "without its chart", func(m moment) bool { return m.ready() == "False" })
	assert.Equal(t, l.reason, m.condition(meta.ReadyCondition).Reason)
	assert.Equal(t, addons.PhaseDegraded, m.seen.Phase)
	assert.Contains(t, m.seen.Message, l.message)
	assert.Equal(t, before.history(), m.history())

	l.back(t, s)
	s.await(t, "settled", func(m moment) bool { return m.seen.Phase == addons.PhaseSettled && m.ready() == "True" })
	for _, m := range s.since(mark) {
		assert.Contains(t, []addons.Phase{addons.PhaseSettled, addons.PhaseDegraded}, m.seen.Phase, m)
	}
}
