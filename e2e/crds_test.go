package e2e

import (
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// A chart moves its CRD from the templates to the crds folder: Helm would delete it, with all objects of its kind. The version after that
// drops a CRD version in which objects are stored: the API server would refuse it.
func TestACRDThatMovesWithinItsChartKeepsItsObjects(t *testing.T) {
	s := beside(t, "gears")
	s.define("gears-a", "moving-crds", versions("1.0.0", "2.0.0", "3.0.0"))
	s.install(`{addons: [{name: gears-a, version: 1.0.0}]}`)
	s.installerReady()
	_, err := s.kubectl("apiVersion: example.com/v1\nkind: Gear\nmetadata: {name: precious}\nspec: {teeth: 12}\n", "create", "-f", "-")
	require.NoError(t, err)
	before := s.gear()

	s.install(`{addons: [{name: gears-a, version: 2.0.0}]}`)
	s.installerReady()
	assert.Equal(t, before, s.gear())
	crd := s.crd("gears.example.com")
	assert.Len(t, crd.Spec.Versions, 2, "the CRD is the new chart's")
	assert.Equal(t, "keep", crd.Annotations["helm.sh/resource-policy"])
	assert.NotContains(t, crd.Annotations, "meta.helm.sh/release-name", "it is among the templates no more")
	assert.Equal(t, "CreateReplace", string(s.helmRelease(t, "gears-a").Spec.Upgrade.CRDs), "the exception has ended")
	assert.Len(t, s.helmStorage("gears-a"), 2, "it took one revision")
	s.eventually("the HelmChart for the look ahead is gone", func(t *assert.CollectT) { assert.Len(t, s.helmCharts(t, "gears-a"), 1) })

	_, err = s.kubectl("", "annotate", "gear", "precious", "touched=yes") // it is now stored as v2, and the CRD still says v1 too
	require.NoError(t, err)
	settled := s.helmRelease(t, "gears-a")
	s.install(`{addons: [{name: gears-a, version: 3.0.0}]}`)
	s.says("gears-a", v1alpha1.StateBlocked, "gears.example.com (v1)", "status.storedVersions")
	assert.Equal(t, settled.Generation, s.helmRelease(t, "gears-a").Generation)

	_, err = s.kubectl("", "patch", "crd", "gears.example.com", "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":["v2"]}}`)
	require.NoError(t, err)
	s.installerReady()
	assert.Len(t, s.crd("gears.example.com").Spec.Versions, 1)
	assert.Equal(t, before, s.gear())
	assert.Len(t, s.helmStorage("gears-a"), 3)
}

// gear is the identity of an object of the CRD, in whichever version it is served.
func (s *story) gear() string {
	s.t.Helper()
	versions := s.crd("gears.example.com").Spec.Versions
	gear := &metav1.PartialObjectMetadata{}
	gear.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: versions[len(versions)-1].Name, Kind: "Gear"})
	require.NoError(s.t, s.api.Get(s.t.Context(), client.ObjectKey{Name: "precious"}, gear))
	return string(gear.UID)
}

func (s *story) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	s.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(s.t, s.api.Get(s.t.Context(), client.ObjectKey{Name: name}, crd))
	return crd
}

// helmCharts are those of an add-on: Flux's and the operator's own.
func (s *story) helmCharts(t require.TestingT, addon string) []sourcev1.HelmChart {
	var list sourcev1.HelmChartList
	require.NoError(t, s.api.List(s.t.Context(), &list, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelAddon: addon}))
	return list.Items
}
