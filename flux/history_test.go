package flux

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

func tested(success metav1.ConditionStatus, phases map[string]string) func(*world) {
	return func(w *world) { w.hooks(success, phases) }
}

var helmTestStates = map[string]observation{
	"off, whatever they said when they were on": {
		change: func(w *world) {
			w.hooks(metav1.ConditionFalse, map[string]string{"web-test": "Failed"})
			w.hr.Spec.Test.Enable = false
		},
		phase: addons.PhaseSettled, message: upgraded,
	},
	"passed": {
		change: tested(metav1.ConditionTrue, map[string]string{"web-test": "Succeeded", "web-login": "Succeeded"}),
		phase:  addons.PhaseSettled, message: upgraded,
	},
	"the chart has none": {
		change: tested(metav1.ConditionTrue, map[string]string{}),
		phase:  addons.PhaseSettled, message: upgraded,
	},
	"the chart has none, but that was not said yet": {
		change: tested(metav1.ConditionUnknown, map[string]string{}),
		phase:  addons.PhaseFailing, message: "tests did not run to the end",
	},
	"failed": {
		change: func(w *world) {
			w.hooks(metav1.ConditionFalse, map[string]string{"web-test": "Failed", "web-login": ""})
			w.ready(metav1.ConditionFalse, "RetryAfterInterval", "Will retry after 2m0s")
		},
		phase: addons.PhaseFailing, message: "result of the tests",
	},
	"failed, while Flux looks again": {
		change: func(w *world) {
			w.hooks(metav1.ConditionFalse, map[string]string{"web-test": "Failed"})
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseFailing, message: "result of the tests",
	},
	"running": {
		change: func(w *world) {
			w.hr.Spec.Test.Enable = true
			w.set(helmv2.TestSuccessCondition, metav1.ConditionUnknown, "AwaitingTests", "awaiting tests")
			w.ready(metav1.ConditionUnknown, "AwaitingTests", "awaiting tests")
			w.reconciling("Running 'test' action with timeout of 5m0s")
		},
		phase: addons.PhaseProgressing, message: "Running 'test' action",
	},
	"about to run": {
		change: func(w *world) {
			w.hr.Spec.Test.Enable = true
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, "AwaitingTests", "awaiting tests")
		},
		phase: addons.PhaseProgressing, message: "awaiting tests",
	},
	"switched on, not noticed": {
		change: func(w *world) {
			w.respec()
			w.hr.Spec.Test.Enable = true
		},
		phase: addons.PhaseProgressing, message: unnoticed,
	},
	"counted as run by 1.4.0, although one never ran": {
		change: tested(metav1.ConditionTrue, map[string]string{"web-test": "Succeeded", "web-login": ""}),
		phase:  addons.PhaseFailing, message: "tests did not run to the end",
	},
	"without a word on one of them": {
		change: func(w *world) {
			w.hooks(metav1.ConditionTrue, nil)
			(*w.hr.Status.History[0].TestHooks)["web-test"] = nil
		},
		phase: addons.PhaseFailing, message: "tests did not run to the end",
	},
	"given up by helm-controller for another reason": {
		change: func(w *world) {
			w.hr.Spec.Test.Enable = true
			w.ready(metav1.ConditionFalse, "ReconcileError", "required for test")
		},
		phase: addons.PhaseFailing, message: "required for test",
	},
	"failed and rolled back": {
		change: func(w *world) {
			rolledBack(w)
			w.hr.Spec.Test.Enable = true
			w.set(helmv2.ReleasedCondition, metav1.ConditionTrue, helmv2.UpgradeSucceededReason, "Helm upgrade succeeded")
			w.set(helmv2.TestSuccessCondition, metav1.ConditionFalse, helmv2.TestFailedReason, "Helm test failed: pod web-test failed")
		},
		phase: addons.PhaseFailing, message: "pod web-test failed; Helm rollback to previous release", stalled: true,
	},
}

func TestHelmTests(t *testing.T) { observeAll(t, helmTestStates) }

func TestDeletion(t *testing.T) {
	observeAll(t, map[string]observation{
		"asked for": {
			change: func(w *world) { w.delete() },
			phase:  addons.PhaseDeleting, message: "waiting for Flux to uninstall it",
		},
		"suspended": {
			change: func(w *world) { w.delete(); w.hr.Spec.Suspend = true },
			phase:  addons.PhaseDeleting, message: "waiting for Flux to uninstall it",
		},
		"never installed": {
			change: func(w *world) { w.delete(); w.hr.Status = helmv2.HelmReleaseStatus{} },
			phase:  addons.PhaseDeleting, message: "waiting for Flux to uninstall it",
		},
		"a failed upgrade before": {
			change: func(w *world) {
				w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed")
				w.delete()
			},
			phase: addons.PhaseDeleting, message: "waiting for Flux to uninstall it",
		},
		"failing": {
			change: func(w *world) {
				w.delete()
				w.ready(metav1.ConditionFalse, helmv2.UninstallFailedReason, "Helm uninstall failed: pre-delete hook failed")
			},
			phase: addons.PhaseDeleting, message: "pre-delete hook failed",
		},
		"done": {
			change: func(w *world) {
				w.delete()
				w.letGo()
				w.hr.Status.History = nil
				w.ready(metav1.ConditionFalse, helmv2.UninstallSucceededReason, "Helm uninstall succeeded")
			},
			phase: addons.PhaseDeleting, message: "uninstalled", uninstall: addons.UninstallDone,
		},
		"nothing to uninstall": {
			change: func(w *world) {
				w.delete()
				w.letGo()
				w.hr.Status.History = nil
				w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallSucceededReason, "Release a/b was not found, assuming it is uninstalled")
			},
			phase: addons.PhaseDeleting, message: "Flux found no Helm release to uninstall", uninstall: addons.UninstallAssumed,
		},
		"let go without an uninstall": {
			change: func(w *world) { w.delete(); w.letGo() },
			phase:  addons.PhaseDeleting, message: "without an uninstall", uninstall: addons.UninstallSkipped,
		},
	})
}

// What runs is read from the history, never from what was attempted.
func TestObservedRevision(t *testing.T) {
	for name, test := range map[string]struct {
		history  helmv2.Snapshots
		version  string
		revision int64
	}{
		"nothing":               {nil, "", 0},
		"first install failed":  {helmv2.Snapshots{snapshot(1, "failed", "1.0.0")}, "", 0},
		"installed":             {helmv2.Snapshots{snapshot(1, "deployed", "1.0.0")}, "1.0.0", 1},
		"upgraded":              {helmv2.Snapshots{snapshot(2, "deployed", "1.1.0"), snapshot(1, "superseded", "1.0.0")}, "1.1.0", 2},
		"upgrade failed":        {helmv2.Snapshots{snapshot(2, "failed", "1.1.0"), snapshot(1, "deployed", "1.0.0")}, "1.0.0", 1},
		"upgrade failed twice":  {helmv2.Snapshots{snapshot(3, "failed", "1.1.0"), snapshot(2, "failed", "1.1.0"), snapshot(1, "deployed", "1.0.0")}, "1.0.0", 1},
		"rolled back":           {helmv2.Snapshots{snapshot(3, "deployed", "1.0.0"), snapshot(2, "failed", "1.1.0"), snapshot(1, "superseded", "1.0.0")}, "1.0.0", 3},
		"uninstalled by a hand": {helmv2.Snapshots{snapshot(1, "uninstalled", "1.0.0")}, "", 0},
		"killed in the middle":  {helmv2.Snapshots{snapshot(2, "pending-upgrade", "1.1.0"), snapshot(1, "deployed", "1.0.0")}, "1.0.0", 1},
		"in another order":      {helmv2.Snapshots{snapshot(1, "superseded", "1.0.0"), nil, snapshot(2, "deployed", "1.1.0")}, "1.1.0", 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.Status.History = test.history
			got := Observe(w.hr, w.sources())
			assert.Equal(t, test.version, got.ChartVersion)
			assert.Equal(t, test.revision, got.Revision)
		})
	}
}

// A dependent is told once of every new state: the token must change with spec and revision, and with nothing else.
func TestTokenChangesWithTheState(t *testing.T) {
	token := func(change func(*world)) string {
		w := settledWorld()
		change(w)
		return Observe(w.hr, w.sources()).Token
	}
	base := token(func(*world) {})
	assert.NotEqual(t, base, token(func(w *world) { w.respec() }))
	assert.NotEqual(t, base, token(func(w *world) { w.hr.Status.History[0].Version++ }))
	assert.Equal(t, base, token(func(w *world) { w.reconciling(prerequisites) }))
	assert.Equal(t, base, token(func(w *world) { w.hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "x"} }))
}

// Digests of two algorithms cannot be compared: helm-controller can be told to use another one.
func TestDigestAlgorithmMayChange(t *testing.T) {
	w := settledWorld()
	w.hr.Status.LastAttemptedConfigDigest = "blake3:values"
	assert.Equal(t, addons.PhaseSettled, Observe(w.hr, w.sources()).Phase)
}
