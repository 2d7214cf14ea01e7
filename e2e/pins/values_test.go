package pins

import (
	"encoding/json"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Of a scalar given both inline and by targetPath, the inline one reaches the chart.
func TestTargetPathAndInlineValues(t *testing.T) {
	w := share(t)
	w.write(t, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "paths"},
		Data: map[string]string{
			"value":       "from-path",
			"values.yaml": "message: from-reference\nreference: from-reference\n",
		},
	})
	release := w.release(t, "paths", "tiny", "1.0.0", `
message: from-inline
nested: {leaf: from-inline}
list: [{leaf: from-inline}]
`)
	s := w.start(t, release, func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []meta.ValuesReference{{Kind: "ConfigMap", Name: "paths"}}
		for _, path := range []string{"message", "only", "nested.leaf", "nested.only", "list[0].leaf"} {
			hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, meta.ValuesReference{Kind: "ConfigMap", Name: "paths", ValuesKey: "value", TargetPath: path})
		}
	})
	s.awaitSettled(t)
	values := s.values(t)
	delete(values, "deployment")
	assert.Equal(t, map[string]any{
		"message":   "from-inline",
		"reference": "from-reference",
		"only":      "from-path",
		"nested":    map[string]any{"leaf": "from-inline", "only": "from-path"},
		"list":      []any{map[string]any{"leaf": "from-path"}},
	}, values)
}

// A null that was applied server-side is kept in spec.values and in a ConfigMap of valuesFrom, and deletes the chart's default; a JSON
// merge patch cannot carry one.
func TestNullsReachTheChart(t *testing.T) {
	w := share(t)
	release := w.release(t, "nulls", "tiny", "1.0.0", "message: null")
	release.Defaults = map[string]any{"deployment": map[string]any{"replicas": nil}}
	s := w.start(t, release)
	s.awaitSettled(t)
	assert.JSONEq(t, `{"message": null}`, string(s.get(t).Spec.Values.Raw))
	assert.Equal(t, map[string]any{"deployment": map[string]any{"enabled": false}}, s.values(t))

	s.patch(t, func(hr *helmv2.HelmRelease) {
		raw, err := json.Marshal(map[string]any{"message": nil, "deployment": map[string]any{"enabled": nil}})
		require.NoError(t, err)
		hr.Spec.Values.Raw = raw
	})
	assert.JSONEq(t, `{"message": null, "deployment": {}}`, string(s.get(t).Spec.Values.Raw))
}
