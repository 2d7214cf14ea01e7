package flux

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// TestObjectsFitFluxCRDs applies every golden shape as the operator does, to an API server with the CRDs of the oldest Flux that
// is supported: what a CRD does not know would be dropped in silence.
func TestObjectsFitFluxCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an API server")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Bare: true, Progress: t.Output()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Stop()) })
	for _, controller := range []string{"helm-controller", "source-controller"} {
		for _, path := range fluxCRDs(t, controller) {
			crd, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, c.Apply(t.Context(), crd))
		}
	}
	plain, err := client.New(c.RESTConfig(), client.Options{})
	require.NoError(t, err)
	api := client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	require.NoError(t, api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}))

	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, object := range objectsOf(shapedRelease(shape)) {
				asApplied(t, api, object)
			}
		})
	}
	t.Run("nulls survive", func(t *testing.T) {
		r := shapedRelease(shapes["values"])
		r.Name = "nulls"
		r.Values.Raw = []byte(`{"a":null,"b":{"c":null,"d":1},"e":[null,{"f":null}]}`)
		for range 2 { // to create, and to apply over what is there
			values, _, err := unstructured.NestedMap(asApplied(t, api, HelmRelease(r)).Object, "spec", "values")
			require.NoError(t, err)
			got, err := yaml.Marshal(values)
			require.NoError(t, err)
			assert.YAMLEq(t, string(r.Values.Raw), string(got))
			r.Timeout += time.Second
		}
	})
}

// fluxCRDs returns the paths of the CRDs of a Flux controller, in the version that tools/ pins.
func fluxCRDs(t *testing.T, controller string) []string {
	t.Helper()
	root, err := cluster.Checkout()
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Module.Dir}}", "tool")
	list.Dir = filepath.Join(root, "tools", controller)
	module, err := list.Output()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// asApplied returns an object as the API server stores it, and checks that it holds everything that was applied.
func asApplied(t *testing.T, api client.Client, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	delete(content, "status")
	intended := &unstructured.Unstructured{Object: content}
	stored := intended.DeepCopy()
	require.NoError(t, api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(stored), client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership))
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	for _, field := range []string{"spec", "data", "immutable"} {
		assert.Equal(t, intended.Object[field], stored.Object[field], "the API server must neither drop nor default anything")
	}
	return stored
}
