package main

import (
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// All contestants install the same chart into the same namespace, one release per add-on.
const (
	chart     = "tiny"
	version   = "1.0.0"
	namespace = "bench"

	chained, independent = true, false
)

func addonName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// definition of the i-th add-on, which in a chain requires the one before.
func (b *testbed) definition(i int, chained bool) *v1alpha1.AddonDefinition {
	name := addonName(i)
	def := &v1alpha1.AddonDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AddonDefinitionSpec{
			Releases: []v1alpha1.ReleaseDefinition{{
				Name: name, Namespace: namespace, Chart: v1alpha1.ChartReference{Repository: b.charts, Name: chart},
			}},
			Versions: []v1alpha1.VersionDefinition{{
				Version: version, Releases: map[string]v1alpha1.ReleaseVersion{name: {ChartVersion: version}},
			}},
		},
	}
	if chained && i > 0 {
		def.Spec.Requires = []v1alpha1.Requirement{{Addon: addonName(i - 1)}}
	}
	return def
}

func values(message string) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"message": %q}`, message)}
}

// installer of the first count add-ons.
func installer(count int) *v1alpha1.Installer {
	object := &v1alpha1.Installer{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for i := range count {
		object.Spec.Addons = append(object.Spec.Addons, v1alpha1.InstallerAddon{Name: addonName(i), Version: version, Values: values("hello")})
	}
	return object
}

// fluxObjects are what the operator makes of the first count add-ons, written by hand.
func (b *testbed) fluxObjects(count int, chained bool) []client.Object {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		b.repository(),
	}
	for i := range count {
		var after []string
		if chained && i > 0 {
			after = []string{addonName(i - 1)}
		}
		spec := &v1alpha1.AddonSpec{Version: version, Values: values("hello")}
		for _, release := range addons.Releases(b.definition(i, chained), spec, version, after) {
			objects = append(objects, flux.HelmRelease(release))
		}
	}
	return objects
}

func (b *testbed) repository() *sourcev1.HelmRepository {
	return flux.Repository(addons.Repository{URL: b.charts})
}
