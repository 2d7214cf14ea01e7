package flux

import (
	"encoding/json"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// ourVersion is all that TrimOwnership keeps of a HelmRelease whose chart version is the operator's.
const ourVersion = `{"f:spec":{"f:chart":{"f:spec":{"f:version":{}}}}}`

// TrimOwnership drops from the managed fields of a HelmRelease, in place, what Observe does not read: it leaves one entry, of when somebody
// but Flux changed it last, and of the chart version if that is the operator's.
func TrimOwnership(hr *helmv2.HelmRelease) {
	if hr.Spec.Suspend || len(hr.ManagedFields) == 0 { // who suspended it is of interest
		return
	}
	kept := metav1.ManagedFieldsEntry{Time: new(metav1.NewTime(report{hr: hr}.changedAt()))}
	if askedByUs(hr) {
		kept.Manager, kept.FieldsV1 = v1alpha1.FieldManager, metav1.NewFieldsV1(ourVersion)
	}
	hr.ManagedFields = []metav1.ManagedFieldsEntry{kept}
}

// askedByUs says whether the chart version in a HelmRelease is the operator's: whoever changes a field takes it away from its owner.
func askedByUs(hr *helmv2.HelmRelease) bool {
	return slices.ContainsFunc(hr.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Manager != v1alpha1.FieldManager || entry.FieldsV1 == nil {
			return false
		}
		var fields struct {
			Spec struct {
				Chart struct {
					Spec struct {
						Version *struct{} `json:"f:version"`
					} `json:"f:spec"`
				} `json:"f:chart"`
			} `json:"f:spec"`
		}
		return json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Chart.Spec.Version != nil
	})
}
