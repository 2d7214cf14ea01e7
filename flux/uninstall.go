package flux

import (
	"cmp"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

// assumed is how helm-controller says that it found no Helm release to uninstall. Its reason is the same as after an uninstall.
const assumed = "assuming it is uninstalled"

// uninstall says how far the uninstall of a release is. Our finalizer keeps the HelmRelease once Flux has taken its own away, and with
// it what helm-controller last knew: it empties the history only after an uninstall, or when there was nothing to uninstall.
func (r report) uninstall() addons.Uninstall {
	switch {
	case r.hr.DeletionTimestamp == nil || slices.Contains(r.hr.Finalizers, helmv2.HelmReleaseFinalizer):
		return addons.UninstallUnderway
	case len(r.history) > 0:
		return addons.UninstallSkipped
	}
	released := r.condition(helmv2.ReleasedCondition)
	if released != nil && released.Reason == helmv2.UninstallSucceededReason && strings.Contains(released.Message, assumed) {
		return addons.UninstallAssumed
	}
	return addons.UninstallDone
}

// deletionMessage quotes Flux only on the uninstall: until that ends, the condition still speaks of the last install or upgrade.
func (r report) deletionMessage(ready *metav1.Condition) string {
	switch r.uninstall() {
	case addons.UninstallDone:
		return "uninstalled"
	case addons.UninstallAssumed:
		return "Flux found no Helm release to uninstall"
	case addons.UninstallSkipped:
		return "Flux let go of it without an uninstall, and is asked to try again"
	}
	if ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == helmv2.UninstallFailedReason {
		return cmp.Or(ready.Message, "the uninstall failed")
	}
	return "waiting for Flux to uninstall it"
}
