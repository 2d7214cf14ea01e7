package addons

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Plan is what has to change for an Installer, and why.
type Plan struct {
	// Changes that can be made, in order: first what ends a removal; then installs and changes, each after what it depends on; then
	// removals, each before what it depends on.
	Changes []PlannedChange
	// Held names the add-ons that wait for another one's problem to be solved, with the reason.
	Held map[string]string
	// Guarded says what of the changes needs a person's approval first; empty when nothing does.
	Guarded string
	// Digest identifies the changes together with everything that is written for them, and the Installer's spec as it was when they
	// were planned.
	Digest string
}

// PlannedChange is a change and the Addon spec that brings it about.
type PlannedChange struct {
	v1alpha1.Change

	Spec v1alpha1.AddonSpec
	// Of identifies the Addon as it is before the change, so that what is approved for it is not approved for good; empty when there is
	// none.
	Of string
}

// MakePlan compares a resolution with the Addons that there are. Running gives the version that each add-on runs at, as
// observed; an add-on that is missing in it runs none. An entry with a problem changes nothing: its Addon, if any, stays as it is, and
// is not removed any more.
func MakePlan(world World, installer *v1alpha1.Installer, resolution Resolution, running map[string]string) Plan {
	existing := map[string]*v1alpha1.Addon{}
	for _, addon := range world.Addons {
		existing[addon.Name] = addon
	}
	plan := Plan{Changes: putBack(installer, resolution.Problems, existing, running), Held: map[string]string{}}
	owners := Owners(world.Installers, world.Addons)
	holds := holds{world: world, existing: existing, leaving: leaving(world, owners), causes: map[string]string{}}
	for _, problem := range resolution.Problems {
		if existing[problem.Addon] == nil {
			holds.causes[problem.Addon] = fmt.Sprintf("the entry of %q has a problem; correct that first", problem.Addon)
		}
	}
	for i := range resolution.Addons {
		addon := &resolution.Addons[i]
		change, needed := planAddon(world, addon, existing[addon.Name], running[addon.Name])
		if reason := holds.change(resolution, change, addon, running); reason != "" {
			plan.Held[addon.Name] = reason
		} else if needed {
			plan.Changes = append(plan.Changes, change)
		}
	}
	plan.Changes = append(plan.Changes, removals(world, installer, owners, running)...)
	for i := range plan.Changes {
		plan.Changes[i].Gates = gatesOf(world, &plan.Changes[i])
		if addon := existing[plan.Changes[i].Addon]; addon != nil {
			plan.Changes[i].Of = fmt.Sprintf("%s/%d", addon.UID, addon.Generation)
		}
	}
	plan.Guarded, plan.Digest = guard(world, installer, owners, plan.Changes), digest(installer, plan.Changes)
	return plan
}

// leaving names, sorted, the add-ons that are there and that nobody wants any more.
func leaving(world World, owners map[string]string) []string {
	var names []string
	for _, addon := range world.Addons {
		if owners[addon.Name] == "" {
			names = append(names, addon.Name)
		}
	}
	slices.Sort(names)
	return names
}

func planAddon(world World, addon *Resolved, existing *v1alpha1.Addon, running string) (PlannedChange, bool) {
	change := PlannedChange{Change: v1alpha1.Change{Addon: addon.Name, From: running, To: addon.Spec.Version}, Spec: addon.Spec}
	switch {
	case existing == nil:
		change.Action, change.Reason = v1alpha1.ActionInstall, "it is wanted and not there"
	case SpecEqual(existing.Spec, addon.Spec):
		return change, false
	case existing.Spec.State != v1alpha1.Present:
		change.Action, change.Reason = v1alpha1.ActionInstall, "it is wanted again"
	case running == "" && existing.Spec.Version != addon.Spec.Version:
		change.Action, change.Reason = v1alpha1.ActionUpgrade, fmt.Sprintf("another version is wanted before %s runs", existing.Spec.Version)
	case running != "" && running != addon.Spec.Version:
		change.Action = v1alpha1.ActionUpgrade
		change.Path, change.Reason = pathAndReason(world, addon, running)
	case existing.Spec.Installer != addon.Spec.Installer:
		change.Action, change.Reason = v1alpha1.ActionReconfigure, fmt.Sprintf("Installer %q hands it over", existing.Spec.Installer)
	default:
		change.Action, change.Reason = v1alpha1.ActionReconfigure, "its values or charts change"
	}
	return change, true
}

// putBack ends the removal of add-ons that are listed again, in entries that cannot be acted on. They stay as they were.
func putBack(installer *v1alpha1.Installer, problems []Problem, existing map[string]*v1alpha1.Addon, running map[string]string) []PlannedChange {
	var changes []PlannedChange
	for _, problem := range problems {
		addon := existing[problem.Addon]
		if addon == nil || addon.Spec.State != v1alpha1.Absent || addon.Spec.Installer != installer.Name {
			continue
		}
		spec := *addon.Spec.DeepCopy()
		spec.State = v1alpha1.Present
		changes = append(changes, PlannedChange{
			Change: v1alpha1.Change{
				Addon: addon.Name, Action: v1alpha1.ActionInstall, From: running[addon.Name], To: spec.Version,
				Reason: "it is wanted again, and stays as it was until its entry makes sense",
			},
			Spec: spec,
		})
	}
	return changes
}

// gatesOf names the gates that a change has to pass.
func gatesOf(world World, change *PlannedChange) []string {
	moment := map[v1alpha1.Action]v1alpha1.Moment{
		v1alpha1.ActionInstall: v1alpha1.MomentInstall, v1alpha1.ActionUpgrade: v1alpha1.MomentUpgrade, v1alpha1.ActionRemove: v1alpha1.MomentRemove,
	}[change.Action]
	def, err := world.Catalog.Get(change.Addon)
	if err != nil || moment == "" {
		return nil
	}
	var names []string
	for _, gate := range gatesAt(def, moment) {
		names = append(names, gate.Name)
	}
	return names
}

// pathAndReason says also why there is no path, if so: the change is made nevertheless, and held by the add-on itself.
func pathAndReason(world World, addon *Resolved, running string) ([]string, string) {
	const reason = "another version is wanted"
	def, err := world.Catalog.Get(addon.Name)
	if err != nil {
		return nil, reason
	}
	path, err := Path(def, running, addon.Spec.Version, Limits{Kubernetes: world.Kubernetes})
	if err != nil {
		return nil, reason + ", but " + err.Error()
	}
	return path, reason
}

// removals marks as Absent, or as Orphaned, the Installer's Addons that no Installer lists any more. The order is for people to read:
// each Addon waits for its own dependents. An Installer that was deleted and not confirmed to be removes nothing.
func removals(world World, installer *v1alpha1.Installer, owners, running map[string]string) []PlannedChange {
	if installer.DeletionTimestamp != nil && !Confirmed(installer) {
		return nil
	}
	action, state, reason := v1alpha1.ActionRemove, v1alpha1.Absent, "it left spec.addons"
	if installer.DeletionTimestamp != nil {
		reason = fmt.Sprintf("Installer %q is being deleted", installer.Name)
		if installer.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
			action, state = v1alpha1.ActionOrphan, v1alpha1.Orphaned
		}
	}
	var changes []PlannedChange
	for _, addon := range world.Addons {
		if addon.Spec.Installer != installer.Name || owners[addon.Name] != "" || addon.Spec.State == state {
			continue
		}
		spec := *addon.Spec.DeepCopy()
		spec.State = state
		changes = append(changes, PlannedChange{
			Change: v1alpha1.Change{Addon: addon.Name, Action: action, From: running[addon.Name], Reason: reason},
			Spec:   spec,
		})
	}
	position := removalPositions(world, changes)
	slices.SortFunc(changes, func(a, b PlannedChange) int {
		return cmp.Or(cmp.Compare(position[b.Addon], position[a.Addon]), strings.Compare(a.Addon, b.Addon))
	})
	return changes
}

// removalPositions are places in the order of installs. An add-on without a definition has one, too: others may require it by name.
func removalPositions(world World, changes []PlannedChange) map[string]int {
	leaving := map[string]*v1alpha1.AddonDefinition{}
	for _, change := range changes {
		leaving[change.Addon], _ = world.Catalog.Get(change.Addon)
	}
	ordered, _ := order(dependenciesAmong(leaving))
	position := map[string]int{}
	for i, name := range ordered {
		position[name] = i
	}
	return position
}

// SpecEqual compares Addon specs by meaning: the text of values may differ where their content does not.
func SpecEqual(a, b v1alpha1.AddonSpec) bool {
	return apiequality.Semantic.DeepEqual(a, b) || apiequality.Semantic.DeepEqual(canonical(a), canonical(b))
}

// canonical has equal content for specs that mean the same.
func canonical(spec v1alpha1.AddonSpec) v1alpha1.AddonSpec {
	spec.Values = canonicalJSON(spec.Values)
	spec.Releases = slices.Clone(spec.Releases)
	for i := range spec.Releases {
		spec.Releases[i].Values = canonicalJSON(spec.Releases[i].Values)
	}
	return spec
}

// canonicalJSON sorts keys and drops white space. What is no JSON stays as it is.
func canonicalJSON(values *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	if values == nil {
		return nil
	}
	var parsed any
	decoder := json.NewDecoder(bytes.NewReader(values.Raw))
	decoder.UseNumber() // as floats, large numbers would lose digits
	if err := decoder.Decode(&parsed); err != nil {
		return values
	}
	text, err := json.Marshal(parsed)
	if err != nil {
		return values
	}
	return &apiextensionsv1.JSON{Raw: text}
}

func digest(installer *v1alpha1.Installer, changes []PlannedChange) string {
	parts := []any{edition(installer)}
	for i := range changes {
		parts = append(parts, PlannedChange{Change: changes[i].Change, Spec: canonical(changes[i].Spec), Of: changes[i].Of})
	}
	return digestOf(parts...)
}
