package flux

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAskedByUs(t *testing.T) {
	fieldless := managed("addon-operator", 1, "")
	fieldless.FieldsV1 = nil
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"ours":              {[]metav1.ManagedFieldsEntry{managed("helm-controller", 1, `{"f:status":{}}`), managed("addon-operator", 2, ourVersion)}, true},
		"ours once":         {[]metav1.ManagedFieldsEntry{managed("addon-operator", 1, `{"f:spec":{"f:chart":{"f:spec":{"f:chart":{}}}}}`), managed("kubectl-edit", 2, ourVersion)}, false},
		"somebody's":        {[]metav1.ManagedFieldsEntry{managed("kubectl-edit", 1, ourVersion)}, false},
		"without fields":    {[]metav1.ManagedFieldsEntry{fieldless}, false},
		"unreadable fields": {[]metav1.ManagedFieldsEntry{managed("addon-operator", 1, `{"f:spec":[]}`)}, false},
		"unknown":           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.ManagedFields = test.fields
			assert.Equal(t, test.want, Observe(w.hr, w.sources()).AskedByUs)

			before := len(w.hr.ManagedFields)
			TrimOwnership(w.hr)
			assert.LessOrEqual(t, len(w.hr.ManagedFields), min(before, 1))
			assert.Equal(t, test.want, Observe(w.hr, w.sources()).AskedByUs)
			w.hr.Spec.Suspend, w.hr.ManagedFields = true, test.fields
			TrimOwnership(w.hr)
			assert.Equal(t, test.fields, w.hr.ManagedFields)
		})
	}
}
