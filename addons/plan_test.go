package addons

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// changeLine is a change in one line: what, from where to where, and why.
func changeLine(change PlannedChange) string {
	line := fmt.Sprintf("%s %s", change.Action, change.Addon)
	if change.From != "" {
		line += " from " + change.From
	}
	if change.To != "" {
		line += " to " + change.To
	}
	if len(change.Path) > 1 {
		line += " via " + strings.Join(change.Path, ", ")
	}
	return line + ": " + change.Reason
}

func TestMakePlan(t *testing.T) {
	t.Parallel()
	tower := []v1alpha1.AddonDefinition{define("a"), define("b", requires("a")), define("c", requires("b")), define("d", requires("a"))}
	steps := define("a", versions("1.0.0", "1.1.0", "1.2.0"), onKubernetes("1.0.0", "<1.34"))
	rivals := []v1alpha1.AddonDefinition{define("contour", conflicts("traefik", "")), define("traefik"), define("app", requires("traefik"))}
	ours := func(entries ...string) (list []*v1alpha1.Addon) {
		for _, entry := range entries {
			list = append(list, present("default", entry))
		}
		return list
	}
	for name, test := range map[string]struct {
		catalog []v1alpha1.AddonDefinition
		want    []string
		edit    func(*v1alpha1.Installer)
		others  []*v1alpha1.Installer
		addons  []*v1alpha1.Addon
		running map[string]string
		changes []string
		held    map[string]string
	}{
		"nothing to do": {catalog: tower, want: []string{"a", "b"}, addons: ours("a@1.0.0", "b@1.0.0"), running: map[string]string{"a": "1.0.0"}},
		"install in order": {
			catalog: tower, want: []string{"d", "c", "b", "a"},
			changes: []string{
				"Install a to 1.0.0: it is wanted and not there", "Install b to 1.0.0: it is wanted and not there",
				"Install c to 1.0.0: it is wanted and not there", "Install d to 1.0.0: it is wanted and not there",
			},
		},
		"upgrade with its path": {
			catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a"}, addons: ours("a@1.0.0"), running: map[string]string{"a": "1.0.0"},
			changes: []string{"Upgrade a from 1.0.0 to 1.2.0 via 1.1.0, 1.2.0: another version is wanted"},
		},
		"upgrade that has no path": {
			catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a@1.0.0"}, addons: ours("a@1.2.0"), running: map[string]string{"a": "1.2.0"},
			changes: []string{`Upgrade a from 1.2.0 to 1.0.0: another version is wanted, but "a" runs at 1.2.0 and never goes down to 1.0.0, since its data may not survive that; ask for 1.2.0 or newer`},
		},
		"another version while none runs": {
			catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a"}, addons: ours("a@1.0.0"),
			changes: []string{"Upgrade a to 1.2.0: another version is wanted before 1.0.0 runs"},
		},
		"reconfigure": {
			catalog: tower, want: []string{"a"}, addons: ours("a@1.0.0"), running: map[string]string{"a": "1.0.0"},
			edit:    func(i *v1alpha1.Installer) { i.Spec.Addons[0].Values = rawJSON(`{"replicas":2}`) },
			changes: []string{"Reconfigure a from 1.0.0 to 1.0.0: its values or charts change"},
		},
		"another mirror": {
			catalog: tower, want: []string{"a", "b"}, addons: ours("a@1.0.0"),
			edit:    func(i *v1alpha1.Installer) { i.Spec.Charts = &v1alpha1.Charts{Mirror: "oci://registry.local/charts"} },
			changes: []string{"Reconfigure a to 1.0.0: its values or charts change", "Install b to 1.0.0: it is wanted and not there"},
		},
		"handed over": {
			catalog: tower, want: []string{"a"}, others: []*v1alpha1.Installer{installer("other", 2)},
			addons: []*v1alpha1.Addon{present("other", "a@1.0.0")}, running: map[string]string{"a": "1.0.0"},
			changes: []string{`Reconfigure a from 1.0.0 to 1.0.0: Installer "other" hands it over`},
		},
		"remove in reverse order": {
			catalog: tower, addons: ours("a@1.0.0", "b@1.0.0", "c@1.0.0", "d@1.0.0"), running: map[string]string{"a": "1.0.0"},
			changes: []string{
				"Remove d: it left spec.addons", "Remove c: it left spec.addons", "Remove b: it left spec.addons", "Remove a from 1.0.0: it left spec.addons",
			},
		},
		"remove without a definition": {
			catalog: tower, addons: ours("a@1.0.0", "b@1.0.0", "forgotten@1.0.0"),
			changes: []string{"Remove forgotten: it left spec.addons", "Remove b: it left spec.addons", "Remove a: it left spec.addons"},
		},
		"remove once": {catalog: tower, addons: []*v1alpha1.Addon{absent("default", "a@1.0.0")}},
		"installs come before removals": {
			catalog: tower, want: []string{"d", "a"}, addons: ours("a@1.0.0", "b@1.0.0"),
			changes: []string{"Install d to 1.0.0: it is wanted and not there", "Remove b: it left spec.addons"},
		},
		"wanted again": {
			catalog: tower, want: []string{"a"}, addons: []*v1alpha1.Addon{absent("default", "a@1.0.0")}, running: map[string]string{"a": "1.0.0"},
			changes: []string{"Install a from 1.0.0 to 1.0.0: it is wanted again"},
		},
		"a problem changes nothing": {catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a@7.0.0", "gone"}, addons: ours("a@1.0.0", "gone@1.0.0")},
		"listed again in an entry with a problem": {
			catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a@7.0.0", "gone"}, running: map[string]string{"a": "1.0.0"},
			addons: []*v1alpha1.Addon{absent("default", "a@1.0.0"), absent("default", "gone@1.0.0")},
			changes: []string{
				"Install a from 1.0.0 to 1.0.0: it is wanted again, and stays as it was until its entry makes sense",
				"Install gone to 1.0.0: it is wanted again, and stays as it was until its entry makes sense",
			},
		},
		"another Installer's, in an entry with a problem": {
			catalog: []v1alpha1.AddonDefinition{steps}, want: []string{"a@7.0.0"}, addons: []*v1alpha1.Addon{absent("other", "a@1.0.0")},
		},
		"a list full of problems removes nothing": {
			want: []string{"a", "b"}, addons: ours("a@1.0.0", "b@1.0.0", "c@1.0.0"),
			changes: []string{"Remove c: it left spec.addons"},
		},
		"held by the problem of what it needs": {
			catalog: tower, want: []string{"a@9.9.9", "b", "c", "d"},
			held: map[string]string{
				"b": `waits for add-on "a": the entry of "a" has a problem; correct that first`,
				"c": `waits for add-on "b": the entry of "a" has a problem; correct that first`,
				"d": `waits for add-on "a": the entry of "a" has a problem; correct that first`,
			},
		},
		"a problem of what runs holds nobody": {
			catalog: tower, want: []string{"a@9.9.9", "b"}, addons: ours("a@1.0.0"),
			changes: []string{"Install b to 1.0.0: it is wanted and not there"},
		},
		"changing one for another that conflicts": {
			catalog: rivals, want: []string{"traefik", "app"}, addons: ours("contour@1.0.0"),
			changes: []string{"Remove contour: it left spec.addons"},
			held: map[string]string{
				"traefik": `waits until add-on "contour" has gone: add-on "traefik" conflicts with "contour", which is being removed`,
				"app":     `waits for add-on "traefik": add-on "traefik" conflicts with "contour", which is being removed`,
			},
		},
		"a conflict with what another Installer removes": {
			catalog: rivals, want: []string{"contour"}, addons: []*v1alpha1.Addon{absent("other", "traefik@1.0.0")},
			held: map[string]string{"contour": `waits until add-on "traefik" has gone: add-on "contour" conflicts with "traefik", which is being removed`},
		},
		"a deletion that nobody confirmed removes nothing": {
			catalog: tower, addons: ours("a@1.0.0", "b@1.0.0"),
			edit: func(i *v1alpha1.Installer) { i.DeletionTimestamp = &metav1.Time{} },
		},
		"a deleted Installer that leaves its add-ons running": {
			catalog: tower, addons: append(ours("a@1.0.0"), absent("default", "b@1.0.0")),
			edit: func(i *v1alpha1.Installer) { deletedAndConfirmed(i); i.Spec.DeletionPolicy = v1alpha1.DeletionOrphan },
			changes: []string{
				`Orphan b: Installer "default" is being deleted`, `Orphan a: Installer "default" is being deleted`,
			},
		},
		"a deleted Installer removes what it owns": {
			catalog: tower, want: []string{"a", "b", "c"},
			edit:   deletedAndConfirmed,
			others: []*v1alpha1.Installer{installer("other", 2, "c")},
			addons: append(ours("a@1.0.0", "b@1.0.0", "c@1.0.0"), present("other", "d@1.0.0")),
			changes: []string{
				`Remove b: Installer "default" is being deleted`, `Remove a: Installer "default" is being deleted`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := installer("default", 1, test.want...)
			if test.edit != nil {
				test.edit(subject)
			}
			world := World{Catalog: catalogOf(test.catalog...), Kubernetes: "1.33.1", Installers: append(test.others, subject), Addons: test.addons}
			plan := MakePlan(world, subject, Resolve(world, subject), test.running)
			var changes []string
			held := map[string]string{}
			for _, change := range plan.Changes {
				if change.Waits == "" {
					changes = append(changes, changeLine(change))
				} else {
					held[change.Addon] = change.Waits
				}
			}
			assert.Equal(t, test.changes, changes)
			if test.held == nil {
				test.held = map[string]string{}
			}
			assert.Equal(t, test.held, held)
		})
	}
}

func TestPlanSpecs(t *testing.T) {
	t.Parallel()
	subject := installer("default", 1, "a", "b")
	subject.Spec.Charts = &v1alpha1.Charts{Mirror: "oci://registry.local/charts", Insecure: true}
	subject.Spec.Addons[0].ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "a-values"}}
	subject.Spec.Addons[0].Values = rawJSON(`{"a":1}`)
	subject.Spec.Addons[1].Releases = []v1alpha1.ReleaseOverride{{Name: "second", Values: rawJSON(`{"b":null}`)}}
	world := World{
		Catalog:    catalogOf(define("a"), define("b", releases("first", "second")), define("old")),
		Installers: []*v1alpha1.Installer{subject}, Addons: []*v1alpha1.Addon{present("default", "old@1.0.0")},
	}
	plan := MakePlan(world, subject, Resolve(world, subject), nil)
	require.Len(t, plan.Changes, 3)
	assert.Equal(t, v1alpha1.AddonSpec{
		Installer: "default", Version: "1.0.0", State: v1alpha1.Present, Charts: subject.Spec.Charts,
		ValuesFrom: subject.Spec.Addons[0].ValuesFrom, Values: subject.Spec.Addons[0].Values,
	}, plan.Changes[0].Spec)
	assert.Equal(t, subject.Spec.Addons[1].Releases, plan.Changes[1].Spec.Releases)
	assert.Equal(t, absent("default", "old@1.0.0").Spec, plan.Changes[2].Spec)
	assert.Equal(t, v1alpha1.Present, world.Addons[0].Spec.State, "the Addon that was read is not changed")
}

// The digest stands for the changes: equal ones have equal digests, however values are written down.
func TestPlanDigest(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(define("a", versions("1.0.0", "1.1.0")), define("b"))
	digestOf := func(addons []*v1alpha1.Addon, edit func(*v1alpha1.Installer)) string {
		subject := installer("default", 1, "a@1.1.0", "b")
		if edit != nil {
			edit(subject)
		}
		world := World{Catalog: catalog, Installers: []*v1alpha1.Installer{subject}, Addons: addons}
		return MakePlan(world, subject, Resolve(world, subject), map[string]string{"a": "1.0.0"}).Digest
	}
	values := func(text string) func(*v1alpha1.Installer) {
		return func(i *v1alpha1.Installer) { i.Spec.Addons[0].Values = rawJSON(text) }
	}
	distinct := map[string]string{}
	for name, digest := range map[string]string{
		"plain":           digestOf(nil, nil),
		"nothing to do":   digestOf([]*v1alpha1.Addon{present("default", "a@1.1.0"), present("default", "b@1.0.0")}, nil),
		"values":          digestOf(nil, values(`{"a":1,"b":[1,2]}`)),
		"values in order": digestOf(nil, values(`{"a":1,"b":[2,1]}`)),
		"null":            digestOf(nil, values(`{"a":null}`)),
		"another version": digestOf(nil, func(i *v1alpha1.Installer) { i.Spec.Addons[0].Version = "1.0.0" }),
		"one less":        digestOf(nil, func(i *v1alpha1.Installer) { i.Spec.Addons = i.Spec.Addons[:1] }),
		"upgrade":         digestOf([]*v1alpha1.Addon{present("default", "a@1.0.0")}, nil),
		"removal":         digestOf([]*v1alpha1.Addon{present("default", "c@1.0.0")}, nil),
	} {
		assert.Regexp(t, "^sha256:[0-9a-f]{64}$", digest)
		assert.Empty(t, distinct[digest], "%s has the digest of another plan", name)
		distinct[digest] = name
	}
	assert.Equal(t, digestOf(nil, nil), digestOf(nil, func(i *v1alpha1.Installer) { i.Spec.Addons[0], i.Spec.Addons[1] = i.Spec.Addons[1], i.Spec.Addons[0] }))
	assert.Equal(t, digestOf(nil, values(`{"a":1,"b":2}`)), digestOf(nil, values(`{ "b": 2, "a": 1 }`)))
}

func TestSpecEqual(t *testing.T) {
	t.Parallel()
	withValues := func(text string) v1alpha1.AddonSpec {
		spec := present("default", "a@1.0.0").Spec
		spec.Values = rawJSON(text)
		return spec
	}
	assert.True(t, SpecEqual(withValues(`{"a":1,"b":null}`), withValues(`{ "b":null, "a":1 }`)))
	assert.False(t, SpecEqual(withValues(`{"a":1,"b":null}`), withValues(`{"a":1}`)), "a null is not nothing")
	assert.False(t, SpecEqual(withValues(`{"a":1}`), withValues(`{"a":"1"}`)))
	assert.False(t, SpecEqual(withValues(`{"a":9007199254740993}`), withValues(`{"a":9007199254740992}`)), "large numbers keep their last digit")
}

func deletedAndConfirmed(i *v1alpha1.Installer) {
	i.DeletionTimestamp = &metav1.Time{}
	i.Annotations = map[string]string{v1alpha1.AnnotationConfirmDelete: i.Name}
}
