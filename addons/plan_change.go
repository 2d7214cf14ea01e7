package addons

import (
	"fmt"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// change compares an add-on as it is wanted with its Addon.
func (p *planner) change(addon *Resolved) (PlannedChange, bool) {
	existing, running := p.existing[addon.Name], p.running[addon.Name]
	change := PlannedChange{Change: v1alpha1.Change{Addon: addon.Name, From: running, To: addon.Spec.Version}, Spec: addon.Spec}
	if p.installer.Spec.Approval == v1alpha1.ApprovalManual {
		change.Spec.Definition = p.world.Catalog.Digest(addon.Name)
	}
	switch {
	case existing == nil:
		change.Action, change.Reason = v1alpha1.ActionInstall, "it is wanted and not there"
		change.Waits = p.awaitedByInstall(addon)
	case p.unchanged(&change, addon):
		return change, false
	case existing.Spec.State != v1alpha1.Present:
		change.Action, change.Reason = v1alpha1.ActionInstall, "it is wanted again"
	case running == "" && existing.Spec.Version != addon.Spec.Version:
		change.Action, change.Reason = v1alpha1.ActionUpgrade, fmt.Sprintf("another version is wanted before %s runs", existing.Spec.Version)
		if err := newLimits(Limits{Needs: p.needs[addon.Name]}).checkNeeds(addon.Spec.Version); err != nil {
			change.Waits = err.Error()
		}
	case running != "" && running != addon.Spec.Version:
		p.upgrade(&change, existing)
	default:
		change.Action, change.Reason = v1alpha1.ActionReconfigure, reconfigured(existing, &change.Spec)
		change.Waits = p.awaitedByChange(addon)
	}
	return change, true
}

// unchanged says whether an Addon is as it is wanted, and has not been found meanwhile to come too early.
func (p *planner) unchanged(change *PlannedChange, addon *Resolved) bool {
	existing := p.existing[addon.Name]
	same := SpecEqual(existing.Spec, change.Spec) || pinned(existing) && SpecEqual(existing.Spec, addon.Spec)
	if !same {
		return false
	}
	ahead := *change
	if change.From != "" && change.From != change.To {
		p.upgrade(&ahead, existing)
	}
	return ahead.Stage == ""
}

// pinned says whether an Addon is to be tied to its definition, which needs no change of its own.
func pinned(existing *v1alpha1.Addon) bool { return existing.Spec.Definition == "" }

// keeps are the specs that leave the Installer's Addons as they are, once its plans are to be approved.
func (p *planner) keeps() []PlannedChange {
	if p.installer.Spec.Approval != v1alpha1.ApprovalManual || p.installer.DeletionTimestamp != nil {
		return nil
	}
	var keeps []PlannedChange
	for _, addon := range p.world.Addons {
		if addon.Spec.Installer != p.installer.Name || p.owners[addon.Name] != p.installer.Name {
			continue
		}
		keep := PlannedChange{Change: v1alpha1.Change{Addon: addon.Name}, Spec: *addon.Spec.DeepCopy()}
		keep.Spec.State = v1alpha1.Present
		if pinned(addon) {
			keep.Spec.Definition = p.world.Catalog.Digest(addon.Name)
		}
		if !SpecEqual(addon.Spec, keep.Spec) {
			keeps = append(keeps, keep)
		}
	}
	return keeps
}

func reconfigured(existing *v1alpha1.Addon, spec *v1alpha1.AddonSpec) string {
	if existing.Spec.Installer != spec.Installer {
		return fmt.Sprintf("Installer %q hands it over", existing.Spec.Installer)
	}
	before := existing.Spec
	before.Definition = spec.Definition
	switch {
	case !SpecEqual(before, *spec):
		return "its values or charts change"
	case spec.Definition == "":
		return "changes of its AddonDefinition count at once from now on"
	default:
		return "its AddonDefinition has changed"
	}
}

// upgrade finds the way to another version. Where what runs needs the present one and has yet to move, the add-on goes as far as it may
// for now. Where there is no way, the reason says why: the change is made nevertheless, and held by the add-on itself.
func (p *planner) upgrade(change *PlannedChange, existing *v1alpha1.Addon) {
	change.Action, change.Reason = v1alpha1.ActionUpgrade, "another version is wanted"
	def, err := p.world.Catalog.Get(change.Addon)
	if err != nil {
		return
	}
	within := Limits{Kubernetes: p.world.Kubernetes, Needs: p.needs[change.Addon]}
	path, err := Path(def, change.From, change.To, within)
	if err == nil {
		change.Path, change.Migrations = path, migrationsOnPath(def, change.From, path)
		p.stageBehind(change, existing, def)
		return
	}
	path, anyway := Path(def, change.From, change.To, Limits{Kubernetes: p.world.Kubernetes})
	if anyway != nil {
		change.Reason += ", but " + anyway.Error()
		return
	}
	change.Path, change.Migrations = path, migrationsOnPath(def, change.From, path)
	change.definition = def
	p.stage(change, existing)
}

// stage lets an add-on go as far on its path as what the others run allows. Where that is nowhere, it is to settle at what it runs: those
// that have to move first may come after it.
func (p *planner) stage(change *PlannedChange, existing *v1alpha1.Addon) {
	limits := newLimits(Limits{Needs: p.needs[change.Addon]})
	change.Stage = change.From
	for _, hop := range change.Path {
		if err := limits.checkNeeds(hop); err != nil {
			change.Waits = err.Error()
			break
		}
		change.Stage = hop
	}
	if change.Stage != existing.Spec.Version {
		change.Waits = ""
	}
}

// stageBehind has an add-on settle at what it runs while its next hop needs one that waits for others: these may come after it.
func (p *planner) stageBehind(change *PlannedChange, existing *v1alpha1.Addon, def *v1alpha1.AddonDefinition) {
	for _, requirement := range def.Spec.Requires {
		if !p.held[requirement.Addon] {
			continue
		}
		for _, within := range demands(def, findVersion(def, change.Path[0]), requirement.Addon) {
			if running := p.running[requirement.Addon]; !allows(within, running) {
				change.Stage, change.definition = change.From, def
				if existing.Spec.Version == change.From {
					change.Waits = fmt.Sprintf("%s needs add-on %q at %s, which runs %s and waits for others", change.Path[0], requirement.Addon, within, running)
				}
				return
			}
		}
	}
}

// putBack ends the removal of add-ons that are listed again, in entries that cannot be acted on. They stay as they were.
func (p *planner) putBack() []PlannedChange {
	var changes []PlannedChange
	for _, problem := range p.resolution.Problems {
		addon := p.existing[problem.Addon]
		if addon == nil || addon.Spec.State != v1alpha1.Absent || addon.Spec.Installer != p.installer.Name {
			continue
		}
		spec := *addon.Spec.DeepCopy()
		spec.State = v1alpha1.Present
		changes = append(changes, PlannedChange{
			Change: v1alpha1.Change{
				Addon: addon.Name, Action: v1alpha1.ActionInstall, From: p.running[addon.Name], To: spec.Version,
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
