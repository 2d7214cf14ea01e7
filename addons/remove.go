package addons

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// decideRemoval uninstalls an add-on's releases from the last to the first, once no other add-on depends on them. It rests on
// HelmReleases alone, so that an add-on can go even if its definition has gone before it.
func decideRemoval(o Observation) Decision {
	d := Decision{}
	if o.Definition != nil {
		d.Running = RunningVersion(o.Definition, o.Releases)
	}
	switch {
	case len(o.Releases) == 0:
		d.Gone = true
	case len(o.Dependents) > 0:
		message := fmt.Sprintf("it stays until what depends on it is gone: %s; remove those too, or put it back into spec.addons", strings.Join(o.Dependents, ", "))
		d.Hold = &Hold{
			State: v1alpha1.StateBlocked, Message: message,
			By: v1alpha1.Blocker{Kind: "Addon", Name: o.Dependents[0], Message: "depends on it"},
		}
	default:
		d.Hold = holdSuspendedRemoval(o.Releases)
		if d.Hold == nil {
			d.Delete = removable(o.Releases)
		}
	}
	return d
}

// holdSuspendedRemoval: deleting a suspended HelmRelease would drop it without an uninstall, and leave everything behind.
func holdSuspendedRemoval(observed map[string]Observed) *Hold {
	hold := holdSuspended(observed)
	if hold != nil {
		hold.Message = strings.Replace(hold.Message, "is left alone", "is not uninstalled while it is", 1)
	}
	return hold
}

// removable names the releases that no other one of the add-on depends on and that are not being deleted already.
func removable(observed map[string]Observed) []string {
	needed := map[string]bool{}
	for _, release := range observed {
		for _, name := range release.DependsOn {
			needed[name] = true
		}
	}
	return slices.DeleteFunc(sortedKeys(observed), func(name string) bool {
		return needed[name] || observed[name].Phase == PhaseDeleting
	})
}
