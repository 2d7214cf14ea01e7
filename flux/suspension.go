package flux

import (
	"encoding/json"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// suspendedBy names the field manager that last set spec.suspend, such as flux or kubectl-edit; empty when the HelmRelease is
// not suspended.
func suspendedBy(hr *helmv2.HelmRelease) string {
	if !hr.Spec.Suspend {
		return ""
	}
	by, at := "somebody", metav1.Time{}
	for _, entry := range hr.ManagedFields {
		if ownsSuspend(entry) && (entry.Time == nil || !entry.Time.Before(&at)) {
			by = entry.Manager
			if entry.Time != nil {
				at = *entry.Time
			}
		}
	}
	return by
}

func ownsSuspend(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	_, owns := fields.Spec["f:suspend"]
	return owns
}
