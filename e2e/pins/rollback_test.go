package pins

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func stalledFor(reason string) func(moment) bool {
	return func(m moment) bool { return m.condition(meta.StalledCondition).Reason == reason }
}

// rolledBack is a release that goes back after a failed upgrade.
func (w *world) rolledBack(t *testing.T, name, chart, version, values string) addons.Release {
	t.Helper()
	r := w.release(t, name, chart, version, values)
	r.OnFailure = v1alpha1.FailureRollback
	return r
}

// A failed upgrade of a release that is to be rolled back ends at once: the old version is deployed as a new revision, Flux is stalled for
// RetriesExceeded, and looks at it no more. Its conditions say so a moment before its history does. Ready quotes the rollback; the cause is
// in Released. A plain request changes nothing; one with a reset is one more upgrade and rollback.
func TestARollbackStallsUntilAReset(t *testing.T) {
	w := share(t)
	s := w.start(t, w.rolledBack(t, "rollback", "hooks", "1.0.0", ""))
	s.awaitSettled(t)
	s.apply(t, w.rolledBack(t, "rollback", "hooks", "1.1.0", fail))
	m := s.await(t, "stalled", func(m moment) bool { return stalledFor("RetriesExceeded")(m) && m.observed() })
	assert.Equal(t, "False", m.ready())
	assert.Equal(t, helmv2.RollbackSucceededReason, m.condition(meta.ReadyCondition).Reason)
	assert.Equal(t, metav1.ConditionTrue, m.condition(helmv2.RemediatedCondition).Status)
	assert.Equal(t, helmv2.UpgradeFailedReason, m.condition(helmv2.ReleasedCondition).Reason)
	assert.Equal(t, "v3 deployed 1.0.0", m.history()[0])
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	assert.True(t, m.seen.RolledBack)
	assert.True(t, m.seen.Stalled)
	assert.Equal(t, "1.0.0", m.seen.ChartVersion)
	assert.Contains(t, m.seen.Message, "pre-upgrade hooks failed")

	m = s.awaitHandled(t, s.poke(t))
	assert.Equal(t, "v3 deployed 1.0.0", m.history()[0])
	assert.Equal(t, "RetriesExceeded", m.condition(meta.StalledCondition).Reason)

	s.patch(t, func(hr *helmv2.HelmRelease) {
		annotate(hr, meta.ReconcileRequestAnnotation, "afresh")
		annotate(hr, helmv2.ResetRequestAnnotation, "afresh")
	})
	m = s.await(t, "stalled again", func(m moment) bool {
		return m.Status.LastHandledReconcileAt == "afresh" && stalledFor("RetriesExceeded")(m)
	})
	assert.Equal(t, "v5 deployed 1.0.0", m.history()[0])
	assert.Equal(t, "afresh", m.Status.LastHandledResetAt)
}

// What fails before Helm records a revision is not rolled back, and Flux does not give up, but waits longer and longer.
func TestWhatIsNotRenderedIsNotRolledBack(t *testing.T) {
	w := share(t)
	s := w.start(t, w.rolledBack(t, "unrendered", "broken-template", "1.0.0", "password: secret"))
	s.awaitSettled(t)
	s.apply(t, w.rolledBack(t, "unrendered", "broken-template", "1.1.0", ""))
	m := s.await(t, "failed", func(m moment) bool { return m.condition(helmv2.ReleasedCondition).Status == metav1.ConditionFalse })
	m = s.await(t, "tried again", func(n moment) bool { return n.Status.Failures > m.Status.Failures+1 })
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
	assert.Zero(t, m.Status.UpgradeFailures)
	assert.Equal(t, metav1.ConditionStatus("absent"), m.condition(meta.StalledCondition).Status)
	assert.Equal(t, metav1.ConditionStatus("absent"), m.condition(helmv2.RemediatedCondition).Status)
}

// An install that fails is tried again as an upgrade. If that is to be rolled back there is nothing to go back to, and Flux is stalled for
// MissingRollbackTarget; a new spec is a new start.
func TestAnInstallHasNothingToRollBackTo(t *testing.T) {
	w := share(t)
	s := w.start(t, w.rolledBack(t, "targetless", "hooks", "1.0.0", fail))
	s.await(t, "failed", notedFailure)
	s.poke(t)
	m := s.await(t, "stalled", stalledFor("MissingRollbackTarget"))
	assert.Equal(t, helmv2.ReleaseActionUpgrade, m.Status.LastAttemptedReleaseAction)
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	assert.Empty(t, m.seen.ChartVersion)
	assert.False(t, m.seen.RolledBack)
	assert.Contains(t, m.seen.Message, "pre-upgrade hooks failed")

	s.apply(t, w.rolledBack(t, "targetless", "hooks", "1.0.0", ""))
	s.awaitSettled(t)
}
