package addons

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// estate is an Installer with its Addons, and maybe another one.
type estate struct {
	installer *v1alpha1.Installer
	others    []*v1alpha1.Installer
	addons    []*v1alpha1.Addon
}

// estateOf makes Addons a, b, c… of the Installer "default", which lists some of them. Those after a dash are on their way out.
func estateOf(there, listed string) *estate {
	e := &estate{installer: installer("default", 1, strings.Fields(listed)...)}
	for i, name := range strings.Fields(there) {
		name, leaving := strings.CutPrefix(name, "-")
		addon := present("default", name+"@1.0.0")
		addon.UID, addon.Generation = types.UID(fmt.Sprint("uid-", i)), 1
		if leaving {
			addon.Spec.State = v1alpha1.Absent
		}
		e.addons = append(e.addons, addon)
	}
	return e
}

func (e *estate) plan() Plan {
	var definitions []v1alpha1.AddonDefinition
	for name := range strings.SplitSeq("a b c d e f g h", " ") {
		definitions = append(definitions, define(name))
	}
	world := World{Catalog: unchecked(definitions), Installers: append(slices.Clone(e.others), e.installer), Addons: e.addons}
	running := map[string]string{}
	for _, addon := range e.addons {
		running[addon.Name] = addon.Spec.Version
	}
	return MakePlan(world, e.installer, Resolve(world, e.installer), running)
}

// apply carries out so many changes of a plan, and records what was approved before.
func (e *estate) apply(plan Plan, approval Approval, writes int) {
	e.installer.Status.Approved = approval.Record
	for _, change := range plan.Changes[:writes] {
		at := slices.IndexFunc(e.addons, func(addon *v1alpha1.Addon) bool { return addon.Name == change.Addon })
		if at < 0 {
			at = len(e.addons)
			e.addons = append(e.addons, present("default", change.Addon))
		}
		e.addons[at] = e.addons[at].DeepCopy()
		e.addons[at].Spec = change.Spec
		e.addons[at].Generation++
	}
}

func (e *estate) approve() {
	annotate(e.installer, v1alpha1.AnnotationApprovedPlan, e.plan().Digest)
}

func (e *estate) required() string {
	return Approve(e.installer, e.plan()).Required
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there, listed string
		edit          func(*estate)
		want          string
	}{
		"nothing goes":                      {there: "a b c", listed: "a b c"},
		"nothing is there":                  {},
		"the only one":                      {there: "a", want: "every add-on of Installer default would be removed: a"},
		"the only one for another":          {there: "a", listed: "b", want: "every add-on of Installer default would be removed: a"},
		"one of two":                        {there: "a b", listed: "a"},
		"both of two":                       {there: "a b", want: "every add-on of Installer default would be removed: a, b"},
		"one of three":                      {there: "a b c", listed: "a b"},
		"two of three":                      {there: "a b c", listed: "a", want: "2 of 3 add-ons of Installer default would be removed: b, c"},
		"all of three":                      {there: "a b c", want: "every add-on of Installer default would be removed: a, b, c"},
		"two of four":                       {there: "a b c d", listed: "a b"},
		"three of six":                      {there: "a b c d e f", listed: "a b c"},
		"four of six":                       {there: "a b c d e f", listed: "a b", want: "4 of 6 add-ons of Installer default would be removed: c, d, e, f"},
		"three of six and new ones":         {there: "a b c d e f", listed: "a b c g"},
		"new ones make up for nothing":      {there: "a b c", listed: "a d e f g", want: "2 of 3 add-ons of Installer default would be removed: b, c"},
		"two of three, one after the other": {there: "a b -c", listed: "a", want: "2 of 3 add-ons of Installer default would be removed: b, c"},
		"on their way out already":          {there: "a -b -c", listed: "a"},
		"the last one, while another one is on its way out": {there: "a -b", want: "every add-on of Installer default would be removed: a, b"},
		"put back":                         {there: "-a -b -c", listed: "a b c"},
		"misspelt":                         {there: "a b c", listed: "aa bb cc", want: "every add-on of Installer default would be removed: a, b, c"},
		"entries with problems":            {there: "a b c", listed: "a@9.9.9 b@9.9.9 c@9.9.9"},
		"deleted":                          {there: "a b c", edit: func(e *estate) { deletedAndConfirmed(e.installer) }},
		"deleted, and nobody confirmed it": {there: "a b c", edit: func(e *estate) { e.installer.DeletionTimestamp = &metav1.Time{} }},
		"handed over":                      {there: "a b c", edit: func(e *estate) { e.others = append(e.others, installer("other", 2, "a", "b", "c")) }},
		"one is handed over and the other goes": {
			there: "a b", edit: func(e *estate) { e.others = append(e.others, installer("other", 2, "a")) },
			want: "every add-on of Installer default would be removed: b",
		},
		"most are handed over and one of two goes": {there: "a b c d", listed: "a", edit: func(e *estate) { e.others = append(e.others, installer("other", 2, "b", "c")) }},
		"another Installer's do not count": {there: "a b", listed: "a", edit: func(e *estate) {
			e.others = append(e.others, installer("other", 2, "c"))
			e.addons = append(e.addons, present("other", "c@1.0.0"))
		}},
		"those of an Installer that has gone by force": {there: "a", listed: "a", edit: func(e *estate) {
			e.addons = append(e.addons, present("gone", "c@1.0.0"), present("gone", "d@1.0.0"))
		}},
		"handed over by an Installer that is being deleted": {there: "a b", edit: func(e *estate) {
			e.installer.DeletionTimestamp = &metav1.Time{}
			e.others = append(e.others, installer("other", 2, "a"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := estateOf(test.there, test.listed)
			if test.edit != nil {
				test.edit(e)
			}
			plan := e.plan()
			assert.Equal(t, test.want, plan.Guarded)
			if test.want == "" {
				assert.Equal(t, Approval{}, Approve(e.installer, plan))
				return
			}
			assert.Equal(t, Approval{Required: test.want + "; nothing is changed until that is approved with: kubectl annotate --overwrite installer default " +
				"addons.kurl.sh/approved-plan=" + plan.Digest + "; or put them back into spec.addons"}, Approve(e.installer, plan))
		})
	}
}

// What was approved can be cut short after any write, and goes on without a second approval.
func TestApprovedPlansAreFinished(t *testing.T) {
	t.Parallel()
	for writes := range 4 {
		e := estateOf("a b c d e", "a g")
		e.approve()
		plan := e.plan()
		approval := Approve(e.installer, plan)
		require.Empty(t, approval.Required)
		require.Len(t, approval.Record.Changes, 5)
		require.Equal(t, plan.Digest, approval.Record.Digest)
		e.apply(plan, approval, writes)

		rest := e.plan()
		require.Len(t, rest.Changes, 5-writes)
		again := Approve(e.installer, rest)
		require.Equal(t, approval, again, "what is left is approved, and the record stays as it is")
		e.apply(rest, again, len(rest.Changes))
		require.Equal(t, Approval{}, Approve(e.installer, e.plan()), "and is struck out at the end")
	}
}

func TestApprovalsAreVoidOnceThePlanChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*estate){
		"one more goes":                      func(e *estate) { e.installer.Spec.Addons = want("g") },
		"one less goes":                      func(e *estate) { e.installer.Spec.Addons = want("a", "b", "g") },
		"another one is installed":           func(e *estate) { e.installer.Spec.Addons = want("a", "h") },
		"it is installed in another version": func(e *estate) { e.addons[0].Spec.Version = "0.9.0" },
		"with other values":                  func(e *estate) { e.installer.Spec.Addons[1].Values = rawJSON(`{"replicas":3}`) },
		"one was put back and has left":      func(e *estate) { e.addons[3].Generation += 2 },
		"one was made anew":                  func(e *estate) { e.addons[3].UID = "new" },
		"a word that is not the digest":      func(e *estate) { annotate(e.installer, v1alpha1.AnnotationApprovedPlan, "true") },
		"the word is taken back":             func(e *estate) { e.installer.Annotations = nil },
		"the spec is edited":                 func(e *estate) { e.installer.Generation++ },
		"the Installer is made anew":         func(e *estate) { e.installer.UID = "new" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := estateOf("a b c d e f", "a g")
			e.approve()
			require.Empty(t, e.required())
			change(e)
			assert.NotEmpty(t, e.required())
		})
	}
}

// A record speaks of what was approved, and of nothing that looks like it.
func TestRecordsCoverNothingElse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*estate){
		"one more goes":          func(e *estate) { e.installer.Spec.Addons = want("b") },
		"something else changes": func(e *estate) { e.installer.Spec.Addons = want("a", "b", "g") },
		"the spec is edited":     func(e *estate) { e.installer.Generation++ },
		"one that has left was put back and leaves again": func(e *estate) {
			e.addons[5].Spec.State = v1alpha1.Present
			e.installer.Generation += 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := estateOf("a b c d e f", "a b")
			e.approve()
			plan := e.plan()
			require.Equal(t, "f", plan.Changes[0].Addon)
			e.apply(plan, Approve(e.installer, plan), 1)
			require.Empty(t, e.required())
			change(e)
			assert.NotEmpty(t, e.required())
		})
	}
}

// An approval that lies about is not one for the same removal months later.
func TestApprovalsHoldOnce(t *testing.T) {
	t.Parallel()
	e := estateOf("a b c", "")
	e.approve()
	plan := e.plan()
	e.apply(plan, Approve(e.installer, plan), 3)
	require.Empty(t, e.required())
	for _, addon := range e.addons {
		addon.Spec.State, addon.Generation = v1alpha1.Present, addon.Generation+1
	}
	e.installer.Status.Approved = nil
	assert.NotEmpty(t, e.required(), "put back, and gone from the list again")
	e.addons = estateOf("a b c", "").addons
	for _, addon := range e.addons {
		addon.UID += "-new"
	}
	assert.NotEmpty(t, e.required(), "uninstalled, installed and gone from the list again")

	e = estateOf("a b c", "")
	e.approve()
	e.installer.Generation += 2
	assert.NotEmpty(t, e.required(), "put back before any of it was done, and gone from the list again")
}

func TestConfirmed(t *testing.T) {
	t.Parallel()
	subject := installer("default", 1)
	assert.False(t, Confirmed(subject))
	for word, want := range map[string]bool{"default": true, "true": false, "": false, "Default": false, "other": false} {
		annotate(subject, v1alpha1.AnnotationConfirmDelete, word)
		assert.Equal(t, want, Confirmed(subject), "%q", word)
	}
}
