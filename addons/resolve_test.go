package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// resolveCase is an Installer called "default" in a world, and what it should come to.
type resolveCase struct {
	catalog    []v1alpha1.AddonDefinition
	want       []string                  // name@version
	edit       func(*v1alpha1.Installer) // further changes to the Installer
	kubernetes string                    // version of the cluster
	others     []*v1alpha1.Installer     // beside it
	addons     []*v1alpha1.Addon         // that are there
	resolved   []string                  // name@version, in order
	problems   map[string]string         // add-on: message
	after      map[string][]string       // add-on: what it comes after, where the case is about that
}

func (c resolveCase) run(t *testing.T) {
	t.Helper()
	t.Parallel()
	ours := installer("default", 1, c.want...)
	if c.edit != nil {
		c.edit(ours)
	}
	world := World{
		Catalog: catalogOf(c.catalog...), Kubernetes: c.kubernetes,
		Installers: append([]*v1alpha1.Installer{ours}, c.others...), Addons: c.addons,
	}
	resolution := Resolve(world, ours)
	var resolved []string
	for _, addon := range resolution.Addons {
		resolved = append(resolved, addon.Name+"@"+addon.Spec.Version)
		if after, given := c.after[addon.Name]; given {
			assert.Equal(t, after, addon.After, "what %s comes after", addon.Name)
		}
	}
	problems := map[string]string{}
	for _, problem := range resolution.Problems {
		problems[problem.Addon] = problem.Message
	}
	assert.Equal(t, c.resolved, resolved)
	if c.problems == nil {
		c.problems = map[string]string{}
	}
	assert.Equal(t, c.problems, problems)
}

func TestResolveFindsAddons(t *testing.T) {
	t.Parallel()
	broken := define("broken", releases("broken"), func(def *v1alpha1.AddonDefinition) { def.Spec.Releases[0].Chart.Repository = "charts.example.com" })
	for name, test := range map[string]resolveCase{
		"nothing is wanted": {catalog: []v1alpha1.AddonDefinition{define("a")}},
		"order does not depend on the list": {
			catalog:  []v1alpha1.AddonDefinition{define("c"), define("a", requires("c")), define("b")},
			want:     []string{"b", "a", "c"},
			resolved: []string{"c@1.0.0", "a@1.0.0", "b@1.0.0"},
			after:    map[string][]string{"a": {"c"}, "b": nil, "c": nil},
		},
		"misspelt name": {
			catalog:  []v1alpha1.AddonDefinition{define("longhorn"), define("rook"), define("minio")},
			want:     []string{"longhron", "minio"},
			resolved: []string{"minio@1.0.0"},
			problems: map[string]string{"longhron": `spec.addons[longhron].name: add-on "longhron" is not in the catalogue; did you mean longhorn?`},
		},
		"part of a name": {
			catalog:  []v1alpha1.AddonDefinition{define("cert-manager"), define("cert-manager-csi"), define("rook")},
			want:     []string{"cert"},
			problems: map[string]string{"cert": `spec.addons[cert].name: add-on "cert" is not in the catalogue; did you mean cert-manager or cert-manager-csi?`},
		},
		"unlike any name": {
			catalog:  []v1alpha1.AddonDefinition{define("a1"), define("a2"), define("a3"), define("a4"), define("a5"), define("a6"), define("a7"), define("a8"), define("a9")},
			want:     []string{"prometheus"},
			problems: map[string]string{"prometheus": `spec.addons[prometheus].name: add-on "prometheus" is not in the catalogue; it has a1, a2, a3, a4, a5, a6, a7, a8 and 1 more; add an AddonDefinition for anything else`},
		},
		"empty catalogue": {
			want:     []string{"rook"},
			problems: map[string]string{"rook": `spec.addons[rook].name: add-on "rook" is not in the catalogue; the catalogue is empty: add an AddonDefinition`},
		},
		"broken definition, used by one": {
			catalog:  []v1alpha1.AddonDefinition{broken, define("a", requires("broken")), define("b")},
			want:     []string{"a", "b", "broken"},
			resolved: []string{"a@1.0.0", "b@1.0.0"},
			after:    map[string][]string{"a": {"broken"}},
			problems: map[string]string{"broken": `spec.addons[broken].name: the AddonDefinition "broken" is broken: spec.releases[0].chart.repository: Invalid value: "charts.example.com": must be a URL that starts with https://, http:// or oci://; correct the definition`},
		},
		"listed twice": {
			catalog:  []v1alpha1.AddonDefinition{define("a", versions("1.0.0", "2.0.0")), define("b")},
			want:     []string{"a@1.0.0", "b", "a@2.0.0"},
			resolved: []string{"b@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a].name: add-on "a" is listed more than once; keep one entry`},
		},
		"an Installer that is being deleted wants nothing": {
			catalog: []v1alpha1.AddonDefinition{define("a")},
			want:    []string{"a"},
			edit:    func(i *v1alpha1.Installer) { i.DeletionTimestamp = &i.CreationTimestamp },
		},
	} {
		t.Run(name, test.run)
	}
}

func TestResolveOrdersAddons(t *testing.T) {
	t.Parallel()
	storage := needs(v1alpha1.Requirement{Capability: "storage"})
	for name, test := range map[string]resolveCase{
		"every provider of a capability comes first": {
			catalog:  []v1alpha1.AddonDefinition{define("z-store", provides("storage")), define("m-store", provides("storage", "snapshots")), define("a", storage)},
			want:     []string{"a", "m-store", "z-store"},
			resolved: []string{"m-store@1.0.0", "z-store@1.0.0", "a@1.0.0"},
			after:    map[string][]string{"a": {"m-store", "z-store"}},
		},
		"a capability that nobody provides": {
			catalog:  []v1alpha1.AddonDefinition{define("a", storage)},
			want:     []string{"a"},
			resolved: []string{"a@1.0.0"},
			after:    map[string][]string{"a": nil},
		},
		"a provider may require its own capability": {
			catalog:  []v1alpha1.AddonDefinition{define("a", storage, provides("storage"))},
			want:     []string{"a"},
			resolved: []string{"a@1.0.0"},
		},
		"a capability beside an unknown add-on": {
			catalog:  []v1alpha1.AddonDefinition{define("a", storage), define("store", provides("storage"))},
			want:     []string{"a", "store", "elsewhere"},
			resolved: []string{"store@1.0.0", "a@1.0.0"},
			problems: map[string]string{"elsewhere": `spec.addons[elsewhere].name: add-on "elsewhere" is not in the catalogue; it has a, store; add an AddonDefinition for anything else`},
		},
		"a cycle of two": {
			catalog:  []v1alpha1.AddonDefinition{define("a", requires("b")), define("b", requires("a")), define("c")},
			want:     []string{"a", "b", "c"},
			resolved: []string{"c@1.0.0"},
			problems: map[string]string{
				"a": `spec.addons[a]: add-on "a" requires itself in the end: a → b → a; remove one of these requirements from its AddonDefinition`,
				"b": `spec.addons[b]: add-on "b" requires itself in the end: b → a → b; remove one of these requirements from its AddonDefinition`,
			},
		},
		"a cycle of three, and what hangs on it": {
			catalog: []v1alpha1.AddonDefinition{
				define("a", requires("b")), define("b", requires("c")), define("c", requires("a", "base")),
				define("base"), define("user", requires("b")),
			},
			want:     []string{"a", "b", "c", "base", "user"},
			resolved: []string{"base@1.0.0", "user@1.0.0"},
			after:    map[string][]string{"user": {"b"}},
			problems: map[string]string{
				"a": `spec.addons[a]: add-on "a" requires itself in the end: a → b → c → a; remove one of these requirements from its AddonDefinition`,
				"b": `spec.addons[b]: add-on "b" requires itself in the end: b → c → a → b; remove one of these requirements from its AddonDefinition`,
				"c": `spec.addons[c]: add-on "c" requires itself in the end: c → a → b → c; remove one of these requirements from its AddonDefinition`,
			},
		},
		"a cycle through capabilities and options": {
			catalog: []v1alpha1.AddonDefinition{
				define("store", provides("storage"), needs(v1alpha1.Requirement{Addon: "metrics", Optional: true})), define("metrics", storage),
			},
			want: []string{"store", "metrics"},
			problems: map[string]string{
				"metrics": `spec.addons[metrics]: add-on "metrics" requires itself in the end: metrics → store → metrics; remove one of these requirements from its AddonDefinition`,
				"store":   `spec.addons[store]: add-on "store" requires itself in the end: store → metrics → store; remove one of these requirements from its AddonDefinition`,
			},
		},
		"a member of two cycles that share an edge": {
			catalog: []v1alpha1.AddonDefinition{define("a", requires("b", "c")), define("b", requires("a")), define("c", requires("b"))},
			want:    []string{"a", "b", "c"},
			problems: map[string]string{
				"a": `spec.addons[a]: add-on "a" requires itself in the end: a → b → a; remove one of these requirements from its AddonDefinition`,
				"b": `spec.addons[b]: add-on "b" requires itself in the end: b → a → b; remove one of these requirements from its AddonDefinition`,
				"c": `spec.addons[c]: add-on "c" requires itself in the end: c → b → a → c; remove one of these requirements from its AddonDefinition`,
			},
		},
	} {
		t.Run(name, test.run)
	}
}

func TestResolveRequirements(t *testing.T) {
	t.Parallel()
	since2 := needs(v1alpha1.Requirement{Addon: "b", Version: ">=2"})
	below2 := needs(v1alpha1.Requirement{Addon: "b", Version: "<2"})
	optional := needs(v1alpha1.Requirement{Addon: "b", Version: ">=2", Optional: true})
	b := define("b", versions("1.0.0", "2.0.0"))
	for name, test := range map[string]resolveCase{
		"missing": {
			catalog:  []v1alpha1.AddonDefinition{define("a", requires("b")), b, define("c")},
			want:     []string{"a", "c"},
			resolved: []string{"c@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires add-on "b", which no Installer lists; add it to spec.addons`},
		},
		"run by another Installer": {
			catalog:  []v1alpha1.AddonDefinition{define("a", since2), b},
			want:     []string{"a"},
			others:   []*v1alpha1.Installer{installer("other", 2, "b")},
			addons:   []*v1alpha1.Addon{present("other", "b@2.0.0")},
			resolved: []string{"a@1.0.0"},
			after:    map[string][]string{"a": nil},
		},
		"listed by another Installer that has not made it": {
			catalog:  []v1alpha1.AddonDefinition{define("a", since2), b},
			want:     []string{"a"},
			others:   []*v1alpha1.Installer{installer("other", 2, "b")},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires add-on "b", which Installer "other" lists and has yet to make; it follows then`},
		},
		"on its way out at another Installer": {
			catalog:  []v1alpha1.AddonDefinition{define("a", since2), b},
			want:     []string{"a"},
			addons:   []*v1alpha1.Addon{absent("other", "b@2.0.0")},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires add-on "b", which no Installer lists; add it to spec.addons`},
		},
		"left the list while it is still required": {
			catalog:  []v1alpha1.AddonDefinition{define("a", requires("b")), b},
			want:     []string{"a"},
			addons:   []*v1alpha1.Addon{present("default", "a@1.0.0"), present("default", "b@2.0.0")},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires add-on "b", which no Installer lists; add it to spec.addons`},
		},
		"at a version that is too old": {
			catalog:  []v1alpha1.AddonDefinition{define("a", since2), b},
			want:     []string{"a", "b@1.0.0"},
			resolved: []string{"b@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires "b" at >=2, but that is to be 1.0.0; change the version of one of the two`},
		},
		"moved away from under what is there": {
			catalog: []v1alpha1.AddonDefinition{define("a", below2), b},
			want:    []string{"a", "b@2.0.0"},
			addons:  []*v1alpha1.Addon{present("default", "a@1.0.0"), present("default", "b@1.0.0")},
			problems: map[string]string{
				"a": `spec.addons[a]: add-on "a" requires "b" at <2, but that is to be 2.0.0; change the version of one of the two`,
				"b": `spec.addons[b].version: add-on "b" stays at 1.0.0: add-on "a" is there and requires it at <2, which 2.0.0 is not; change the version of one of the two`,
			},
		},
		"moved away from under what another Installer runs": {
			catalog: []v1alpha1.AddonDefinition{define("a", below2), b},
			want:    []string{"b@2.0.0"},
			others:  []*v1alpha1.Installer{installer("other", 2, "a")},
			addons:  []*v1alpha1.Addon{present("other", "a@1.0.0"), present("default", "b@1.0.0")},
			problems: map[string]string{
				"b": `spec.addons[b].version: add-on "b" stays at 1.0.0: add-on "a" is there and requires it at <2, which 2.0.0 is not; change the version of one of the two`,
			},
		},
		"optional and not wanted": {
			catalog:  []v1alpha1.AddonDefinition{define("a", optional), b},
			want:     []string{"a"},
			resolved: []string{"a@1.0.0"},
			after:    map[string][]string{"a": nil},
		},
		"optional and wanted": {
			catalog:  []v1alpha1.AddonDefinition{define("a", optional), b},
			want:     []string{"a", "b"},
			resolved: []string{"b@2.0.0", "a@1.0.0"},
			after:    map[string][]string{"a": {"b"}},
		},
		"optional and wanted too old": {
			catalog:  []v1alpha1.AddonDefinition{define("a", optional), b},
			want:     []string{"a", "b@1.0.0"},
			resolved: []string{"b@1.0.0"},
			problems: map[string]string{"a": `spec.addons[a]: add-on "a" requires "b" at >=2, but that is to be 1.0.0; change the version of one of the two`},
		},
		"with a problem of its own": {
			catalog:  []v1alpha1.AddonDefinition{define("a", since2), b},
			want:     []string{"a", "b@3.0.0"},
			resolved: []string{"a@1.0.0"},
			after:    map[string][]string{"a": {"b"}},
			problems: map[string]string{"b": `spec.addons[b].version: version "3.0.0" of "b" is not in the catalogue; the nearest: 1.0.0, 2.0.0`},
		},
	} {
		t.Run(name, test.run)
	}
}
