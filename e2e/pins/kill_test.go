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
	"github.com/kurlsh/addon-operator/flux"
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
	t.Run("failing after that", func(t *testing.T) { failAfterDeath(t, w) })
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

// underWay are releases in the middle of an action; the quiet ones have been asked to be suspended since.
type underWay struct{ install, installQuiet, upgrade, upgradeQuiet *subject }

func (u underWay) all() []*subject {
	return []*subject{u.install, u.installQuiet, u.upgrade, u.upgradeQuiet}
}
func (u underWay) quiet() []*subject { return []*subject{u.installQuiet, u.upgradeQuiet} }

func startUnderWay(t *testing.T, w *world, prefix string) underWay {
	t.Helper()
	u := underWay{
		install:      w.start(t, w.release(t, prefix+"-install", "hooks", "1.0.0", hold)),
		installQuiet: w.start(t, w.release(t, prefix+"-install-quiet", "hooks", "1.0.0", hold)),
		upgrade:      w.start(t, w.release(t, prefix+"-upgrade", "hooks", "1.0.0", "")),
		upgradeQuiet: w.start(t, w.release(t, prefix+"-upgrade-quiet", "hooks", "1.0.0", "")),
	}
	for _, s := range []*subject{u.upgrade, u.upgradeQuiet} {
		s.awaitSettled(t)
		s.apply(t, w.release(t, s.name, "hooks", "2.0.0", hold))
	}
	for _, s := range u.all() {
		s.awaitHeld(t)
		s.await(t, "under way", func(m moment) bool { return m.Status.LastAttemptedGeneration == m.Generation })
	}
	for _, s := range u.quiet() {
		s.patch(t, func(hr *helmv2.HelmRelease) {
			hr.Spec.Suspend = true
			annotate(hr, meta.ReconcileRequestAnnotation, "quiet")
		})
	}
	return u
}

// Whether helm-controller is killed or interrupted in the middle of an action, the conditions and the history stay as they were before;
// only the storage differs, where a killed one leaves the revision pending, and an interrupted one failed. Once it is back it continues
// by an upgrade, an install too, and so repeats the hook; of a pending revision it first says Ready=False for PendingRelease. The history
// is emptied until that upgrade ends. What is suspended is acknowledged, and left as it was until it is resumed.
func end(t *testing.T, w *world, d death) {
	t.Helper()
	u := startUnderWay(t, w, d.prefix)
	require.NoError(t, d.by(t.Context(), cluster.HelmController))
	runs, marks, conditions := map[*subject]types.UID{}, map[*subject]int{}, map[*subject][]metav1.Condition{}
	for _, s := range u.all() {
		m := moment{HelmRelease: s.get(t)}
		runs[s], marks[s], conditions[s] = s.hook(t).UID, s.mark(), m.Status.Conditions
		assert.Regexp(t, "^Running '(install|upgrade)' action with timeout of 5m0s$", m.condition(meta.ReadyCondition).Message)
	}
	installed, upgraded := []string{"v1 " + d.install}, []string{"v2 " + d.upgrade, "v1 deployed"}
	assert.Equal(t, installed, u.install.stored(t))
	assert.Equal(t, upgraded, u.upgrade.stored(t))
	assert.Empty(t, u.install.get(t).Status.History)
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, moment{HelmRelease: u.upgrade.get(t)}.history())

	require.NoError(t, w.cluster.Restart(t.Context(), cluster.HelmController))
	u.install.awaitHeld(t, runs[u.install])
	u.upgrade.awaitHeld(t, runs[u.upgrade])
	assert.Equal(t, []string{"v2 pending-upgrade", "v1 failed"}, u.install.stored(t))
	assert.Equal(t, []string{"v3 pending-upgrade", "v2 failed", "v1 deployed"}, u.upgrade.stored(t))
	u.upgrade.await(t, "without a history", func(m moment) bool { return len(m.Status.History) == 0 })
	for _, s := range u.quiet() {
		m := s.await(t, "acknowledged", func(m moment) bool { return m.observed() && m.Status.LastHandledReconcileAt == "quiet" })
		assert.Equal(t, conditions[s], m.Status.Conditions)
	}
	assert.Equal(t, installed, u.installQuiet.stored(t))
	assert.Equal(t, upgraded, u.upgradeQuiet.stored(t))

	for _, s := range u.quiet() {
		s.patch(t, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		s.awaitHeld(t, runs[s])
	}
	for _, s := range u.all() {
		s.unhold(t)
		m := s.awaitSettled(t)
		assert.Len(t, m.Status.History, 1)
		checkRecovery(t, s.since(marks[s]), d)
	}
	assert.Equal(t, []string{"v2 deployed", "v1 superseded"}, u.install.stored(t))
	assert.Equal(t, []string{"v3 deployed", "v2 failed", "v1 superseded"}, u.upgrade.stored(t))
}

// checkRecovery looks for the unlocking of pending revisions, and checks that it is not taken for a failure.
func checkRecovery(t *testing.T, moments []moment, d death) {
	t.Helper()
	unlocked := false
	for _, m := range moments {
		assert.NotEqual(t, addons.PhaseFailing, m.seen.Phase, m)
		unlocked = unlocked || m.condition(meta.ReadyCondition).Reason == "PendingRelease"
	}
	assert.Equal(t, d.install != "failed", unlocked)
}

// When the upgrade that follows on helm-controller's death fails, nothing in the history is deployed, though Helm's storage has what was.
// flux.Observe knows of it only from what flux.Remember took down. While that upgrade runs, Flux calls its last action what it was before.
func failAfterDeath(t *testing.T, w *world) {
	t.Helper()
	s := w.start(t, w.release(t, "doomed", "hooks", "1.0.0", ""))
	s.awaitSettled(t)
	before := s.get(t)
	s.apply(t, w.release(t, "doomed", "hooks", "2.0.0", hold), func(hr *helmv2.HelmRelease) {
		flux.Remember(hr, before)
	})
	run := s.awaitHeld(t)
	require.NoError(t, w.cluster.Kill(t.Context(), cluster.HelmController))
	require.NoError(t, w.cluster.Restart(t.Context(), cluster.HelmController))
	s.awaitHeld(t, run)
	m := s.await(t, "without a history", func(m moment) bool { return len(m.Status.History) == 0 })
	assert.Equal(t, helmv2.ReleaseActionInstall, m.Status.LastAttemptedReleaseAction)
	s.failHook(t)
	m = s.await(t, "failed", notedFailure)
	assert.Equal(t, []string{"v3 failed 2.0.0"}, m.history())
	assert.Equal(t, []string{"v3 failed", "v2 failed", "v1 deployed"}, s.stored(t))
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	assert.Equal(t, "1.0.0", m.seen.ChartVersion)
	assert.Equal(t, int64(1), m.seen.Revision)
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
	eventually(t, func(c *assert.CollectT) { assert.Contains(c, s.look(t).seen.Message, l.message) })
	assert.Equal(t, before.history(), m.history())

	l.back(t, s)
	s.await(t, "settled", func(m moment) bool { return m.seen.Phase == addons.PhaseSettled && m.ready() == "True" })
	for _, m := range s.since(mark) {
		assert.Contains(t, []addons.Phase{addons.PhaseSettled, addons.PhaseDegraded}, m.seen.Phase, m)
	}
}
