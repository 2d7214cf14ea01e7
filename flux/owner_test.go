package flux

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAskedByUs(t *testing.T) {
	const version = `{"f:spec":{"f:chart":{"f:spec":{"f:version":{}}}}}`
	fieldless := managed("addon-operator", 1, "")
	fieldless.FieldsV1 = nil
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"ours":              {[]metav1.ManagedFieldsEntry{managed("helm-controller", 1, `{"f:status":{}}`), managed("addon-operator", 2, version)}, true},
		"ours once":         {[]metav1.ManagedFieldsEntry{managed("addon-operator", 1, `{"f:spec":{"f:chart":{"f:spec":{"f:chart":{}}}}}`), managed("kubectl-edit", 2, version)}, false},
		"somebody's":        {[]metav1.ManagedFieldsEntry{managed("kubectl-edit", 1, version)}, false},
		"without fields":    {[]metav1.ManagedFieldsEntry{fieldless}, false},
		"unreadable fields": {[]metav1.ManagedFieldsEntry{managed("addon-operator", 1, `{"f:spec":[]}`)}, false},
		"unknown":           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.ManagedFields = test.fields
			assert.Equal(t, test.want, Observe(w.hr, w.sources()).AskedByUs)
		})
	}
}
