package flux

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// rolledBack says whether Flux has gone back to what ran before the last attempt. A rollback that failed does not count.
func (r report) rolledBack() bool {
	remediated := r.condition(helmv2.RemediatedCondition)
	return remediated != nil && remediated.Status == metav1.ConditionTrue && remediated.Reason == helmv2.RollbackSucceededReason &&
		len(r.history) > 0 && r.history[0].Status == statusDeployed
}

// resetLost says whether Flux took a request for a fresh start for handled while it waited for something else: it notes resets only
// once it gets to an attempt.
func (r report) resetLost() bool {
	token := r.hr.Annotations[helmv2.ResetRequestAnnotation]
	return token != "" && token == r.hr.Annotations[meta.ReconcileRequestAnnotation] &&
		token == r.hr.Status.LastHandledReconcileAt && token != r.hr.Status.LastHandledResetAt
}

// ReplacedCRDs says whether a failed upgrade to another chart version has replaced the CRDs of the chart: helm-controller does that first,
// and nothing brings them back.
func ReplacedCRDs(hr *helmv2.HelmRelease, observed addons.Observed) bool {
	r := report{hr: hr}
	released, remediated := r.condition(helmv2.ReleasedCondition), r.condition(helmv2.RemediatedCondition)
	failed := released != nil && released.Status == metav1.ConditionFalse && released.Reason == helmv2.UpgradeFailedReason || remediated != nil
	return CRDPolicy(hr) == v1alpha1.CRDCreateReplace && failed && observed.Phase == addons.PhaseFailing &&
		hr.Status.LastAttemptedGeneration == hr.Generation && observed.ChartVersion != "" &&
		!addons.SameChartVersion(observed.ChartVersion, observed.AskedVersion)
}
