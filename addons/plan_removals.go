package addons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// removals marks as Absent, or as Orphaned, the Installer's Addons that no Installer lists any more. The order is for people to read:
// each Addon waits for its own dependents. An Installer that was deleted and not confirmed to be removes nothing.
func (p *planner) removals() []PlannedChange {
	installer := p.installer
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
	for _, addon := range p.world.Addons {
		if addon.Spec.Installer != installer.Name || p.owners[addon.Name] != "" || addon.Spec.State == state {
			continue
		}
		spec := *addon.Spec.DeepCopy()
		spec.State = state
		changes = append(changes, PlannedChange{
			Change: v1alpha1.Change{Addon: addon.Name, Action: action, From: p.running[addon.Name], Reason: reason},
			Spec:   spec,
		})
	}
	position := removalPositions(p.world, changes)
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
