package pins

import (
	"context"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Helm deletes a CRD that leaves the templates of a chart, and with it every object of its kind. An annotation on the live CRD prevents
// that, but not if the CRD moves to the crds folder and is replaced from there: helm-controller 1.4.0 replaces it whole, without the
// annotation, before it lets Helm upgrade. It is kept if CRDs are only created. That they may be replaced again afterwards makes no
// new revision, and leaves the CRD as it is.
func TestACRDThatLeavesTheTemplatesIsLostUnlessItIsMarkedAndNotReplaced(t *testing.T) {
	w := share(t)
	for _, test := range []struct {
		name, to, policy, values string

		crds v1alpha1.CRDPolicy
		lost bool
	}{
		{name: "dropped", to: "1.1.0", crds: v1alpha1.CRDCreateReplace, lost: true},
		{name: "dropped-marked", to: "1.1.0", policy: "keep", crds: v1alpha1.CRDCreateReplace},
		{name: "moved", to: "2.0.0", crds: v1alpha1.CRDCreate, lost: true},
		{name: "moved-replaced", to: "2.0.0", policy: "keep", crds: v1alpha1.CRDCreateReplace, lost: true},
		{name: "moved-marked", to: "2.0.0", policy: "keep", crds: v1alpha1.CRDCreate},
		{name: "conditional", to: "1.0.0", values: "crds: {enabled: false}", crds: v1alpha1.CRDCreateReplace, lost: true},
		{name: "conditional-marked", to: "1.0.0", values: "crds: {enabled: false}", policy: "keep", crds: v1alpha1.CRDCreateReplace},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := w.start(t, w.release(t, test.name, "moving-crds", "1.0.0", ""))
			s.awaitSettled(t)
			gear := w.makeGear(t)
			if test.policy != "" {
				patch := `{"metadata":{"annotations":{"helm.sh/resource-policy":"` + test.policy + `"}}}`
				require.NoError(t, w.api.Patch(t.Context(), gears(), client.RawPatch(types.MergePatchType, []byte(patch))))
			}
			next := w.release(t, test.name, "moving-crds", test.to, test.values)
			next.CRDs = test.crds
			s.apply(t, next)
			s.awaitSettled(t)
			if test.lost {
				eventually(t, func(c *assert.CollectT) { assert.True(c, w.gone(c, gear.DeepCopy()) || w.gone(c, gears())) })
			} else {
				s.requireKept(t, gear)
				next.CRDs = v1alpha1.CRDCreateReplace
				s.apply(t, next)
				s.awaitSettled(t)
				s.requireKept(t, gear)
				assert.Equal(t, []string{"v2 deployed", "v1 superseded"}, s.stored(t))
			}
			s.clearAway(t)
		})
	}
}

// At an uninstall, Helm goes by the annotation in the chart: one on the live CRD does not hold it.
func TestACRDThatIsMarkedLiveGoesWithItsReleaseAllTheSame(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "marked", "templated-crds", "1.0.0", "crds: {keep: false}"))
	s.awaitSettled(t)
	crd := crdNamed("gadgets.example.com")
	require.NoError(t, w.api.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`))))
	hr := s.patch(t, func(hr *helmv2.HelmRelease) { hr.Finalizers = []string{helmv2.HelmReleaseFinalizer} })
	require.NoError(t, s.api.Delete(t.Context(), hr))
	eventually(t, func(c *assert.CollectT) { assert.True(c, w.gone(c, crd)) })
}

func gears() *unstructured.Unstructured { return crdNamed("gears.example.com") }

func crdNamed(name string) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(name)
	return crd
}

// makeGear makes an object of the kind that moving-crds defines.
func (w *world) makeGear(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	gear := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"teeth": int64(12)}}}
	gear.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gear"})
	gear.SetName("precious")
	eventually(t, func(c *assert.CollectT) {
		require.NoError(c, client.IgnoreAlreadyExists(w.api.Create(context.Background(), gear)))
	})
	return gear
}

// requireKept checks that an object is the one that it was, and that its CRD is not on its way out.
func (s *subject) requireKept(t *testing.T, gear *unstructured.Unstructured) {
	t.Helper()
	crd, now := gears(), gear.DeepCopy()
	require.False(t, s.gone(t, crd))
	require.Nil(t, crd.GetDeletionTimestamp())
	require.False(t, s.gone(t, now))
	assert.Equal(t, gear.GetUID(), now.GetUID())
}

// clearAway uninstalls the release, and deletes the CRD that may be left.
func (s *subject) clearAway(t *testing.T) {
	t.Helper()
	hr := s.patch(t, func(hr *helmv2.HelmRelease) { hr.Finalizers = []string{helmv2.HelmReleaseFinalizer} })
	require.NoError(t, s.api.Delete(t.Context(), hr))
	eventually(t, func(c *assert.CollectT) { assert.True(c, s.gone(c, hr)) })
	require.NoError(t, client.IgnoreNotFound(s.api.Delete(t.Context(), gears())))
	eventually(t, func(c *assert.CollectT) { assert.True(c, s.gone(c, gears())) })
}
