package flux

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

// What helm-controller says after it died in the middle of an upgrade is no failure of the release: it goes on at once.
func TestUnlockingIsNoFailure(t *testing.T) {
	const unlockedMessage = "Unlocked Helm release web-system/web.v4 with chart webapp@1.1.0 in pending-upgrade state"
	unlocked := func(w *world) {
		w.ask("1.1.0")
		w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, "PendingRelease", unlockedMessage)
		w.reconciling("Running 'unlock' action with timeout of 5m0s")
	}
	observeAll(t, map[string]observation{
		"unlocked": {
			change: func(w *world) {
				unlocked(w)
				w.ready(metav1.ConditionFalse, "PendingRelease", unlockedMessage)
			},
			phase: addons.PhaseProgressing, message: unlockedMessage,
		},
		"died again after that": {
			change: func(w *world) {
				unlocked(w)
				w.reconciling(prerequisites)
				w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
			},
			phase: addons.PhaseProgressing, message: prerequisites,
		},
	})
}

// A failure that is over stays one while Flux checks again, so that its state does not flicker; it is not forced away in the middle of
// a check, where the request could be lost.
func TestStaleFailureOutlastsChecks(t *testing.T) {
	observeAll(t, map[string]observation{"checked": {
		change: func(w *world) {
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: set password")
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseDegraded, message: "Helm upgrade failed: set password",
	}})
}
