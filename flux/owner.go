package flux

import (
	"encoding/json"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

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
