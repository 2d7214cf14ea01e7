package main

import (
	"fmt"

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
)

// task says what to install.
type task struct {
	count   int  // of add-ons
	chained bool // each requires the one before
	// pods gives each a Deployment, so that Helm and Flux have something to wait for. Where only the operator is measured,
	// they would but take the machine's time.
	pods bool
	// gates keeps each from being removed.
	gates bool
}

func addonName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// definition of the i-th add-on.
func (t task) definition(i int, charts string) *v1alpha1.AddonDefinition {
	name := addonName(i)
	def := &v1alpha1.AddonDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AddonDefinitionSpec{
			Releases: []v1alpha1.ReleaseDefinition{{
				Name: name, Namespace: namespace, Chart: v1alpha1.ChartReference{Repository: charts, Name: chart},
			}},
			Versions: []v1alpha1.VersionDefinition{{
				Version: version, Releases: map[string]v1alpha1.ReleaseVersion{name: {ChartVersion: version}},
			}},
		},
	}
	if t.gates {
		def.Spec.Gates = []v1alpha1.Gate{volumesLeft()}
	}
	if t.chained && i > 0 {
		def.Spec.Requires = []v1alpha1.Requirement{{Addon: addonName(i - 1)}}
	}
	return def
}

func (t task) values(message string) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"message": %q, "deployment": {"enabled": %t}}`, message, t.pods)}
}

// installer of all its add-ons.
func (t task) installer() *v1alpha1.Installer {
	object := &v1alpha1.Installer{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for i := range t.count {
		object.Spec.Addons = append(object.Spec.Addons, v1alpha1.InstallerAddon{Name: addonName(i), Version: version, Values: t.values("hello")})
	}
	return object
}

// fluxObjects are what the operator makes of the add-ons.
func (t task) fluxObjects(charts string) []client.Object {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		flux.Repository(addons.Repository{URL: charts}),
	}
	for i := range t.count {
		var after []string
		if t.chained && i > 0 {
			after = []string{addonName(i - 1)}
		}
		spec := &v1alpha1.AddonSpec{Version: version, Values: t.values("hello")}
		for _, release := range addons.Releases(t.definition(i, charts), spec, version, after) {
			objects = append(objects, flux.HelmRelease(release))
		}
	}
	return objects
}
