package flux

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

func managed(manager string, minute int, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		Time:     new(metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))),
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestSuspendedBy(t *testing.T) {
	const suspend = `{"f:spec":{"f:suspend":{}}}`
	timeless := managed("timeless", 0, suspend)
	timeless.Time = nil
	fieldless := managed("fieldless", 9, "")
	fieldless.FieldsV1 = nil
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"flux suspend":      {[]metav1.ManagedFieldsEntry{managed("addon-operator", 9, `{"f:spec":{"f:interval":{}}}`), managed("flux", 1, suspend)}, "flux"},
		"kubectl edit":      {[]metav1.ManagedFieldsEntry{managed("kubectl-edit", 1, `{"f:spec":{"f:suspend":{},"f:timeout":{}}}`)}, "kubectl-edit"},
		"ourselves":         {[]metav1.ManagedFieldsEntry{managed("addon-operator", 1, suspend)}, "addon-operator"},
		"the last of two":   {[]metav1.ManagedFieldsEntry{managed("first", 1, suspend), managed("second", 2, suspend)}, "second"},
		"in any order":      {[]metav1.ManagedFieldsEntry{managed("second", 2, suspend), managed("first", 1, suspend)}, "second"},
		"without a time":    {[]metav1.ManagedFieldsEntry{timeless}, "timeless"},
		"without fields":    {[]metav1.ManagedFieldsEntry{fieldless}, "somebody"},
		"unreadable fields": {[]metav1.ManagedFieldsEntry{managed("odd", 1, `{"f:spec":[]}`)}, "somebody"},
		"elsewhere":         {[]metav1.ManagedFieldsEntry{managed("odd", 1, `{"f:status":{"f:suspend":{}}}`)}, "somebody"},
		"unknown":           {nil, "somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.Spec.Suspend = true
			w.hr.ManagedFields = test.fields

			got := Observe(w.hr, w.sources())

			assert.Equal(t, test.want, got.SuspendedBy)
			assert.Equal(t, addons.PhaseProgressing, got.Phase)
			assert.Contains(t, got.Message, test.want)
			assert.Equal(t, "1.0.0", got.ChartVersion, "it still runs")

			w.hr.Spec.Suspend = false
			assert.Empty(t, Observe(w.hr, w.sources()).SuspendedBy)
		})
	}
}
