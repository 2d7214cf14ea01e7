package main

import (
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	installerName = "chaos"
	// switchPrefix begins the names of the namespaces with switches: each gate and health check reads a ConfigMap of its own, in a
	// namespace of its own, so that the proxy can tell by the path whose read it is.
	switchPrefix = "switch-"
	switchName   = "switch"
	shared       = "chaos"
)

// member is an add-on of the world.
type member struct {
	name string
	// charts of its releases. The first release has the add-on's name, the second one the suffix -extra.
	charts   []string
	versions []string
	// leaps means that any version leads to any higher one; otherwise a hop leads to the next.
	leaps bool
	needs []string
	likes []string // needs that are optional
	gates []v1alpha1.Moment
	// health means that there is a health check.
	health bool
	// alone means a namespace of its own.
	alone bool
}

// theWorld has three levels, and charts that install within seconds.
func theWorld() []member {
	three := []string{"1.0.0", "1.1.0", "2.0.0"}
	tiny, hooks, two := []string{"tiny"}, []string{"hooks"}, []string{"tiny", "umbrella"}
	remove, install, upgrade := v1alpha1.MomentRemove, v1alpha1.MomentInstall, v1alpha1.MomentUpgrade
	return []member{
		{name: "base-a", charts: tiny, versions: three, gates: []v1alpha1.Moment{remove}},
		{name: "base-b", charts: hooks, versions: []string{"1.0.0", "2.0.0"}, alone: true},
		{name: "base-c", charts: []string{"tiny", "tiny"}, versions: three, leaps: true, gates: []v1alpha1.Moment{remove, install}, alone: true},
		{name: "mid-a", charts: tiny, versions: three, needs: []string{"base-a"}, health: true},
		{name: "mid-b", charts: hooks, versions: []string{"1.0.0", "2.0.0"}, needs: []string{"base-a", "base-b"}, gates: []v1alpha1.Moment{upgrade}},
		{name: "mid-c", charts: two, versions: []string{"1.0.0", "1.1.0"}, likes: []string{"base-c"}, gates: []v1alpha1.Moment{remove}, alone: true},
		{name: "top-a", charts: tiny, versions: three, needs: []string{"mid-a"}, likes: []string{"mid-c"}, gates: []v1alpha1.Moment{remove, upgrade}},
		{name: "top-b", charts: two, versions: []string{"1.0.0", "1.1.0"}, needs: []string{"mid-b"}},
		{name: "solo", charts: tiny, versions: three, leaps: true, gates: []v1alpha1.Moment{remove, install, upgrade}},
	}
}

// releases names the HelmReleases.
func (m member) releases() []string {
	names := []string{m.name}
	for range m.charts[1:] {
		names = append(names, m.name+"-extra")
	}
	return names
}

func (m member) namespace() string {
	if m.alone {
		return shared + "-" + m.name
	}
	return shared
}

// switches names the namespaces with the ConfigMaps that its gates and health check read.
func (m member) switches() []string {
	var names []string
	for _, moment := range m.gates {
		names = append(names, m.gateSwitch(moment))
	}
	if m.health {
		names = append(names, m.healthSwitch())
	}
	return names
}

func (m member) gateSwitch(moment v1alpha1.Moment) string {
	return switchPrefix + m.name + "-" + map[v1alpha1.Moment]string{
		v1alpha1.MomentInstall: "install", v1alpha1.MomentUpgrade: "upgrade", v1alpha1.MomentRemove: "remove",
	}[moment]
}

func (m member) healthSwitch() string { return switchPrefix + m.name + "-health" }

// hops says whether a version may follow another in one step.
func (m member) hops(from, to string) bool {
	before, after := slices.Index(m.versions, from), slices.Index(m.versions, to)
	return before >= 0 && (after == before+1 || m.leaps && after > before)
}

// definition is the add-on's entry in the catalogue, with charts from a Helm repository.
func (m member) definition(repository string) *v1alpha1.AddonDefinition {
	def := &v1alpha1.AddonDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AddonDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name},
	}
	for i, name := range m.releases() {
		def.Spec.Releases = append(def.Spec.Releases, v1alpha1.ReleaseDefinition{
			Name: name, Namespace: m.namespace(), Chart: v1alpha1.ChartReference{Repository: repository, Name: m.charts[i]},
			Timeout: &metav1.Duration{Duration: time.Minute}, Values: &apiextensionsv1.JSON{Raw: []byte(`{"origin":"chaos"}`)},
		})
	}
	for _, version := range m.versions {
		def.Spec.Versions = append(def.Spec.Versions, m.version(version))
	}
	for _, name := range m.needs {
		def.Spec.Requires = append(def.Spec.Requires, v1alpha1.Requirement{Addon: name})
	}
	for _, name := range m.likes {
		def.Spec.Requires = append(def.Spec.Requires, v1alpha1.Requirement{Addon: name, Optional: true})
	}
	for _, moment := range m.gates {
		def.Spec.Gates = append(def.Spec.Gates, v1alpha1.Gate{Check: check(m.gateSwitch(moment)), When: moment})
	}
	if m.health {
		def.Spec.Health = append(def.Spec.Health, check(m.healthSwitch()))
	}
	return def
}

func (m member) version(name string) v1alpha1.VersionDefinition {
	version := v1alpha1.VersionDefinition{Version: name, Releases: map[string]v1alpha1.ReleaseVersion{}}
	if m.leaps {
		version.UpgradeFrom = ">=" + m.versions[0]
	}
	for _, release := range m.releases() {
		version.Releases[release] = v1alpha1.ReleaseVersion{ChartVersion: name}
	}
	return version
}

// check passes while the switch in a namespace is on.
func check(namespace string) v1alpha1.Check {
	return v1alpha1.Check{
		Name:       namespace,
		Resources:  map[string]v1alpha1.ResourceQuery{"switches": {APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: switchName}},
		Expression: `switches.exists(s, s.data.state == "on")`,
		Message:    fmt.Sprintf("%q", namespace+" is off"),
	}
}
