package addons

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// decideRemoval uninstalls an add-on's releases from the last to the first, once no other add-on depends on them and its gates let
// them go. A HelmRelease that Flux is done with is kept until all are, as evidence of what became of it.
func decideRemoval(o Observation) Decision {
	d := Decision{}
	if o.Definition != nil {
		d.Running = RunningVersion(o.Definition, o.Releases)
	}
	switch {
	case !slices.ContainsFunc(sortedKeys(o.Releases), func(name string) bool { return !over(o.Releases[name]) }):
		d.Gone = true
	case len(o.Dependents) > 0:
		d.Hold = holdDependents(o)
	default:
		d.Hold = holdSuspendedRemoval(o.Releases)
		d.Delete, d.Poke = removable(o.Releases), retries(o.Releases)
		if d.Hold == nil && len(d.Delete)+len(d.Poke) > 0 {
			d.Hold = d.holdRemoval(o)
		}
	}
	if d.Hold != nil {
		d.Delete, d.Poke = nil, nil
	}
	return d
}

// holdDependents waits for what depends on the add-on. Those that nobody removes are named first, and otherwise what holds them.
func holdDependents(o Observation) *Hold {
	hold := &Hold{State: v1alpha1.StateBlocked, Message: "it stays until what depends on it is gone: " + strings.Join(o.Dependents, ", ")}
	name, advice := o.Dependents[0], ""
	for _, dependent := range o.Dependents {
		chain, leaving := o.Leaving[dependent]
		if !leaving {
			name, advice = dependent, "; remove those too, or put it back into spec.addons"
			break
		}
		if len(chain) > 0 && advice == "" {
			name, advice = dependent, fmt.Sprintf("; %s is held: %s", dependent, chain[len(chain)-1].Message)
		}
	}
	hold.Message += advice
	hold.By, hold.Chain = v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: name, Message: "depends on it"}, slices.Clone(o.Leaving[name])
	return hold
}

// decideHandOver leaves the releases to themselves. An uninstall that has begun is waited for: it cannot be stopped any more.
func decideHandOver(o Observation) Decision {
	underway := func(name string) bool {
		return o.Releases[name].Phase == PhaseDeleting && o.Releases[name].Uninstall == UninstallUnderway
	}
	return Decision{HandOver: !slices.ContainsFunc(sortedKeys(o.Releases), underway)}
}

// holdRemoval needs the definition: without one, nobody knows what has to be checked.
func (d *Decision) holdRemoval(o Observation) *Hold {
	if o.Definition == nil {
		return holdDefinition(o, fmt.Sprintf(
			"it is not uninstalled: its AddonDefinition says what has to be checked first, and %s; apply that AddonDefinition again (one without gates lets the add-on go)", o.Problem))
	}
	return d.holdGates(o, v1alpha1.MomentRemove)
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
	return slices.DeleteFunc(last(observed), func(name string) bool { return observed[name].Phase == PhaseDeleting })
}

// last names the releases that no other one of the add-on depends on any more.
func last(observed map[string]Observed) []string {
	needed := map[string]bool{}
	for _, release := range observed {
		for _, name := range release.DependsOn {
			needed[name] = needed[name] || !over(release)
		}
	}
	return slices.DeleteFunc(sortedKeys(observed), func(name string) bool { return needed[name] })
}

// over says whether Flux is done with a release for good: it has uninstalled it, or has let go of it without, and did not do better when
// it was asked to try again.
func over(release Observed) bool {
	if release.Phase != PhaseDeleting || release.Uninstall == UninstallUnderway {
		return false
	}
	retry := retryToken(release)
	return release.Uninstall != UninstallSkipped || release.Requested == retry && release.Handled == retry
}

// retries asks Flux to try once more where it let go of a release without an uninstall: what kept it from that may be there again. That
// may uninstall the release, and needs all that a deletion needs.
func retries(observed map[string]Observed) map[string]string {
	tokens := map[string]string{}
	for _, name := range last(observed) {
		release := observed[name]
		if release.Phase == PhaseDeleting && release.Uninstall == UninstallSkipped && release.Requested != retryToken(release) {
			tokens[name] = retryToken(release)
		}
	}
	return tokens
}

func retryToken(release Observed) string { return "uninstall-" + release.Token }
