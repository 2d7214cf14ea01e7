package controllers

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func values(json string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(json)} }

// definition is an add-on with releases of the same names as their charts, in versions 1.0.0 and 1.1.0.
func definition(name string, requires []string, releases ...string) v1alpha1.AddonDefinition {
	def := v1alpha1.AddonDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, required := range requires {
		def.Spec.Requires = append(def.Spec.Requires, v1alpha1.Requirement{Addon: required})
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		listed := v1alpha1.VersionDefinition{Version: version, Releases: map[string]v1alpha1.ReleaseVersion{}}
		for _, release := range releases {
			listed.Releases[release] = v1alpha1.ReleaseVersion{ChartVersion: version}
		}
		def.Spec.Versions = append(def.Spec.Versions, listed)
	}
	for _, release := range releases {
		def.Spec.Releases = append(def.Spec.Releases, v1alpha1.ReleaseDefinition{
			Name: release, Namespace: "ns-" + name,
			Chart:  v1alpha1.ChartReference{Repository: "https://charts.example.com/" + name, Name: release},
			Values: values(`{"from":"definition"}`),
		})
	}
	return def
}

func installer(name string, addons ...v1alpha1.InstallerAddon) *v1alpha1.Installer {
	return &v1alpha1.Installer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstallerSpec{Addons: addons}}
}

func wanted(name, version string) v1alpha1.InstallerAddon {
	return v1alpha1.InstallerAddon{Name: name, Version: version}
}
