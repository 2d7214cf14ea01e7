package flux

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// rollBack is what 1.4.0 leaves of an upgrade to 1.1.0 that failed and was rolled back.
func (w *world) rollBack(remediated metav1.ConditionStatus, reason, status string) {
	w.ask("1.1.0")
	w.chart.Status.ObservedGeneration = w.chart.Generation
	w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
	w.hr.Status.LastAttemptedRevision = "1.1.0"
	w.hr.Status.History = helmv2.Snapshots{snapshot(5, status, "1.0.0"), snapshot(4, "failed", "1.1.0"), snapshot(3, "superseded", "1.0.0")}
	w.ready(metav1.ConditionFalse, reason, "rollback")
	w.set(helmv2.RemediatedCondition, remediated, reason, "rollback")
	w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "the upgrade failed")
	w.set(meta.StalledCondition, metav1.ConditionTrue, "RetriesExceeded", "gave up")
}

func TestObserveSaysWhatWasRolledBack(t *testing.T) {
	w := settledWorld()
	w.rollBack(metav1.ConditionTrue, helmv2.RollbackSucceededReason, "deployed")
	got := Observe(w.hr, w.sources())
	assert.Equal(t, addons.PhaseFailing, got.Phase)
	assert.True(t, got.RolledBack)
	assert.True(t, got.Stalled)
	assert.Equal(t, "1.0.0", got.ChartVersion)
	assert.Equal(t, "the upgrade failed; rollback", got.Message)
	assert.True(t, ReplacedCRDs(w.hr, got))

	w = settledWorld()
	w.rollBack(metav1.ConditionFalse, helmv2.RollbackFailedReason, "failed")
	got = Observe(w.hr, w.sources())
	assert.Equal(t, addons.PhaseFailing, got.Phase)
	assert.False(t, got.RolledBack)
	assert.Equal(t, "the upgrade failed; rollback", got.Message)
}

func TestCRDsAreReplacedOnlyByAFailedUpgradeToAnotherChart(t *testing.T) {
	for name, change := range map[string]func(*world){
		"runs":              func(*world) {},
		"policy Create":     func(w *world) { w.failUpgrade(); w.hr.Spec.Upgrade.CRDs = helmv2.Create },
		"the same chart":    func(w *world) { w.failUpgrade(); w.hr.Spec.Chart.Spec.Version = "1.0.0" },
		"not attempted yet": func(w *world) { w.failUpgrade(); w.hr.Generation++ },
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			change(w)
			assert.False(t, ReplacedCRDs(w.hr, Observe(w.hr, w.sources())))
		})
	}
	w := settledWorld()
	w.failUpgrade()
	assert.True(t, ReplacedCRDs(w.hr, Observe(w.hr, w.sources())))
}

// failUpgrade is what 1.4.0 leaves of an upgrade to 1.1.0 that failed.
func (w *world) failUpgrade() {
	w.ask("1.1.0")
	w.chart.Status.ObservedGeneration = w.chart.Generation
	w.hr.Spec.Upgrade.CRDs = helmv2.CRDsPolicy(v1alpha1.CRDCreateReplace)
	w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
	w.hr.Status.History = helmv2.Snapshots{snapshot(4, "failed", "1.1.0"), snapshot(3, "deployed", "1.0.0")}
	w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "the upgrade failed")
	w.ready(metav1.ConditionFalse, reasonRetryLater, "Will retry after 2m0s")
}

func TestALostResetIsSeen(t *testing.T) {
	w := settledWorld()
	ask := func(token string) {
		w.hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: token, helmv2.ResetRequestAnnotation: token}
	}
	lost := func() bool { return Observe(w.hr, w.sources()).ResetLost }
	assert.False(t, lost())
	ask("one")
	assert.False(t, lost(), "Flux has not looked yet")
	w.hr.Status.LastHandledReconcileAt = "one"
	assert.True(t, lost())
	w.hr.Status.LastHandledResetAt = "one"
	assert.False(t, lost())
}

func TestAReleaseThatFluxHasNotLookedAtMayBeQueued(t *testing.T) {
	w := settledWorld()
	w.respec()
	w.wrote(-time.Hour)
	observed := Observe(w.hr, w.sources())
	assert.False(t, Unseen(observed))
	observed = observed.AsOf(observed.Deadline)
	assert.True(t, Unseen(observed))
	queued := Queued(observed, observed.Deadline.Add(time.Minute))
	assert.False(t, queued.Overdue)
	assert.Contains(t, queued.Message, "queued in helm-controller")

	busy := settledWorld()
	assert.False(t, AtWork(busy.hr, written))
	runFor("1m")(busy)
	busy.wrote(time.Minute)
	assert.True(t, AtWork(busy.hr, written))
	assert.False(t, AtWork(busy.hr, written.Add(time.Hour)), "it hangs, or is dead")
}
