package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	deleting := installer("going", 9, "a")
	deleting.DeletionTimestamp = &metav1.Time{}
	for name, test := range map[string]struct {
		installers []*v1alpha1.Installer
		addons     []*v1alpha1.Addon
		owners     map[string]string
	}{
		"the oldest that lists it":              {installers: []*v1alpha1.Installer{installer("young", 1, "a", "b"), installer("old", 2, "a")}, owners: map[string]string{"a": "old", "b": "young"}},
		"the first by name of the same age":     {installers: []*v1alpha1.Installer{installer("two", 1, "a"), installer("one", 1, "a")}, owners: map[string]string{"a": "one"}},
		"the one that runs it keeps it":         {installers: []*v1alpha1.Installer{installer("young", 1, "a"), installer("old", 2, "a")}, addons: []*v1alpha1.Addon{present("young", "a@1.0.0")}, owners: map[string]string{"a": "young"}},
		"handed over once the owner drops it":   {installers: []*v1alpha1.Installer{installer("young", 1), installer("old", 2, "a")}, addons: []*v1alpha1.Addon{present("young", "a@1.0.0")}, owners: map[string]string{"a": "old"}},
		"handed over when the owner is deleted": {installers: []*v1alpha1.Installer{deleting, installer("old", 2, "a")}, addons: []*v1alpha1.Addon{present("going", "a@1.0.0")}, owners: map[string]string{"a": "old"}},
		"listed by nobody":                      {installers: []*v1alpha1.Installer{installer("old", 2)}, addons: []*v1alpha1.Addon{present("old", "a@1.0.0")}, owners: map[string]string{}},
		"of an Installer that has gone":         {addons: []*v1alpha1.Addon{present("gone", "a@1.0.0")}, owners: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.owners, Owners(test.installers, test.addons))
		})
	}
}

func TestResolveShares(t *testing.T) {
	t.Parallel()
	because := "both own the ingress port; keep traefik"
	for name, test := range map[string]resolveCase{
		"another Installer owns it": {
			catalog:  []v1alpha1.AddonDefinition{define("a"), define("b", requires("a"))},
			want:     []string{"a", "b"},
			others:   []*v1alpha1.Installer{installer("other", 2, "a")},
			resolved: []string{"b@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" belongs to Installer "other", which keeps it; remove it from one of the two`},
		},
		"taken over when the owner has dropped it": {
			catalog:  []v1alpha1.AddonDefinition{define("a")},
			want:     []string{"a"},
			others:   []*v1alpha1.Installer{installer("other", 2)},
			addons:   []*v1alpha1.Addon{present("other", "a@1.0.0")},
			resolved: []string{"a@1.0.0"},
		},
		"conflict of two new ones": {
			catalog:  []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", because)), define("traefik"), define("c")},
			want:     []string{"contour", "traefik", "c"},
			resolved: []string{"c@1.0.0"},
			problems: map[string]string{
				"contour": `spec.addons[contour]: add-on "contour" conflicts with "traefik": both own the ingress port; keep traefik`,
				"traefik": `spec.addons[traefik]: add-on "traefik" conflicts with "contour": both own the ingress port; keep traefik`,
			},
		},
		"conflict with one that runs": {
			catalog:  []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", "")), define("traefik")},
			want:     []string{"contour", "traefik"},
			addons:   []*v1alpha1.Addon{present("default", "traefik@1.0.0")},
			resolved: []string{"traefik@1.0.0"},
			problems: map[string]string{"contour": `spec.addons[contour]: add-on "contour" conflicts with "traefik": remove one of the two from spec.addons`},
		},
		"conflict that only the running one knows of": {
			catalog:  []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", because)), define("traefik")},
			want:     []string{"contour", "traefik"},
			addons:   []*v1alpha1.Addon{present("default", "contour@1.0.0")},
			resolved: []string{"contour@1.0.0"},
			problems: map[string]string{"traefik": `spec.addons[traefik]: add-on "traefik" conflicts with "contour": both own the ingress port; keep traefik`},
		},
		"conflict of two that run both": {
			catalog: []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", because)), define("traefik")},
			want:    []string{"contour", "traefik"},
			addons:  []*v1alpha1.Addon{present("default", "contour@1.0.0"), present("default", "traefik@1.0.0")},
			problems: map[string]string{
				"contour": `spec.addons[contour]: add-on "contour" conflicts with "traefik": both own the ingress port; keep traefik`,
				"traefik": `spec.addons[traefik]: add-on "traefik" conflicts with "contour": both own the ingress port; keep traefik`,
			},
		},
		"conflict with what another Installer runs": {
			catalog:  []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", because)), define("traefik")},
			want:     []string{"traefik"},
			others:   []*v1alpha1.Installer{installer("other", 2, "contour")},
			addons:   []*v1alpha1.Addon{present("other", "contour@1.0.0")},
			problems: map[string]string{"traefik": `spec.addons[traefik]: add-on "traefik" conflicts with "contour": both own the ingress port; keep traefik`},
		},
		"conflict with what is not wanted": {
			catalog:  []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", because)), define("traefik")},
			want:     []string{"contour"},
			resolved: []string{"contour@1.0.0"},
		},
		"release name of another add-on": {
			catalog:  []v1alpha1.AddonDefinition{define("a", releases("operator", "a")), define("b", releases("operator", "b"))},
			want:     []string{"b", "a"},
			resolved: []string{"a@1.0.0"},
			problems: map[string]string{"b": `spec.addons[b]: its release "operator" is also one of add-on "a"; rename it in one of the two AddonDefinitions`},
		},
		"release name of one that is there": {
			catalog:  []v1alpha1.AddonDefinition{define("a", releases("operator", "a")), define("b", releases("operator", "b"))},
			want:     []string{"b", "a"},
			addons:   []*v1alpha1.Addon{present("default", "b@1.0.0")},
			resolved: []string{"b@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a]: its release "operator" is also one of add-on "b"; rename it in one of the two AddonDefinitions`},
		},
		"release name of another Installer's": {
			catalog:  []v1alpha1.AddonDefinition{define("a", releases("operator")), define("b", releases("operator"))},
			want:     []string{"a"},
			others:   []*v1alpha1.Installer{installer("other", 2, "b")},
			addons:   []*v1alpha1.Addon{present("other", "b@1.0.0")},
			problems: map[string]string{"a": `spec.addons[a]: its release "operator" is also one of add-on "b"; rename it in one of the two AddonDefinitions`},
		},
	} {
		t.Run(name, test.run)
	}
}

func TestResolveValues(t *testing.T) {
	t.Parallel()
	one, two := define("one"), define("two", releases("first", "second"))
	first := func(entry func(*v1alpha1.InstallerAddon)) func(*v1alpha1.Installer) {
		return func(i *v1alpha1.Installer) { entry(&i.Spec.Addons[0]) }
	}
	override := func(name, values string) func(*v1alpha1.Installer) {
		return first(func(e *v1alpha1.InstallerAddon) {
			e.Releases = append(e.Releases, v1alpha1.ReleaseOverride{Name: name, Values: rawJSON(values)})
		})
	}
	inline := func(values string) func(*v1alpha1.Installer) {
		return first(func(e *v1alpha1.InstallerAddon) { e.Values = rawJSON(values) })
	}
	for name, test := range map[string]resolveCase{
		"values of the only release":         {want: []string{"one"}, edit: inline(`{"a":null}`), resolved: []string{"one@1.0.0"}},
		"override of the only release":       {want: []string{"one"}, edit: override("one", `{"a":1}`), resolved: []string{"one@1.0.0"}},
		"override of one release of several": {want: []string{"two"}, edit: override("second", `{"a":1}`), resolved: []string{"two@1.0.0"}},
		"values that are a list": {
			want: []string{"one"}, edit: inline(`["a"]`),
			problems: map[string]string{"one": `spec.addons[one].values: Invalid value: "[\"a\"]": Helm values are a map of keys to values`},
		},
		"values that are null": {
			want: []string{"one"}, edit: inline(`null`),
			problems: map[string]string{"one": `spec.addons[one].values: Invalid value: "null": Helm values are a map of keys to values`},
		},
		"override that is no map": {
			want: []string{"two"}, edit: override("second", `"text"`),
			problems: map[string]string{"two": `spec.addons[two].releases[second].values: Invalid value: "\"text\"": Helm values are a map of keys to values`},
		},
		"values for an add-on with several releases": {
			want: []string{"two"}, edit: inline(`{"a":1}`),
			problems: map[string]string{"two": `spec.addons[two].values: add-on "two" has several releases (first, second); give each its values under releases`},
		},
		"valuesFrom for an add-on with several releases": {
			want: []string{"two"},
			edit: first(func(e *v1alpha1.InstallerAddon) {
				e.ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
			}),
			problems: map[string]string{"two": `spec.addons[two].valuesFrom: add-on "two" has several releases (first, second); give each its values under releases`},
		},
		"override of an unknown release": {
			want: []string{"two"}, edit: override("third", `{}`),
			problems: map[string]string{"two": `spec.addons[two].releases[third]: add-on "two" has no release "third"; it has first, second`},
		},
		"values in two places": {
			want: []string{"one"},
			edit: func(i *v1alpha1.Installer) {
				inline(`{"a":1}`)(i)
				override("one", `{"a":2}`)(i)
			},
			problems: map[string]string{"one": `spec.addons[one].releases: values are given both for the add-on and under releases; keep one of the two`},
		},
	} {
		test.catalog = []v1alpha1.AddonDefinition{one, two}
		t.Run(name, test.run)
	}
}
