package addons

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// holdSuspended leaves an add-on alone while a person has suspended one of its releases.
func holdSuspended(observed map[string]Observed) *Hold {
	for _, name := range sortedKeys(observed) {
		if by := observed[name].SuspendedBy; by != "" {
			message := fmt.Sprintf("HelmRelease %s was suspended by %q and is left alone; resume it with: flux resume helmrelease %s -n %s",
				name, by, name, v1alpha1.Namespace)
			return &Hold{
				State: v1alpha1.StateSuspended, Message: message,
				By: v1alpha1.Blocker{Kind: v1alpha1.BlockerHelmRelease, Name: name, Message: fmt.Sprintf("suspended by %q", by)},
			}
		}
	}
	return nil
}

func holdDefinition(o Observation, message string) *Hold {
	return &Hold{
		State: v1alpha1.StateBlocked, Message: message,
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerAddonDefinition, Name: o.Addon.Name, Message: message},
	}
}

// holdUnapproved leaves everything as it is while the definition is not the one that was approved.
func holdUnapproved(o Observation) *Hold {
	return &Hold{
		State: v1alpha1.StateBlocked, Message: fmt.Sprintf("its AddonDefinition has changed since it was approved: approve the plan of Installer %s, whose condition Approved has the command", o.Addon.Spec.Installer),
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerInstaller, Name: o.Addon.Spec.Installer, Message: "its plan waits for approval"},
	}
}

// holdInstall holds what Flux's dependsOn cannot see: a required add-on that is not there yet, not at the required version, or not
// healthy; and, before anything of the add-on is written, its gates. What is being deleted is about to be written anew.
func (d *Decision) holdInstall(o Observation) *Hold {
	begun := len(staying(o.Releases)) > 0
	for i := range o.Dependencies {
		dependency := &o.Dependencies[i]
		if lack := lacks(o.Definition, o.Addon.Spec.Version, dependency); lack != "" {
			return holdDependency(dependency, lack)
		}
		if begun || dependency.Definition == nil || len(dependency.Definition.Spec.Health) == 0 {
			continue
		}
		if !dependency.settled() {
			return holdDependency(dependency, "has not settled at "+dependency.Desired)
		}
		if hold := d.holdUnhealthyDependency(o, dependency); hold != nil {
			return hold
		}
	}
	if begun {
		return nil
	}
	return d.holdGates(o, v1alpha1.MomentInstall)
}

// holdHop lets a version move only after everything that it depends on has settled at its own, in a version that the next one can do with.
func (d *Decision) holdHop(o Observation, next string) *Hold {
	for i := range o.Dependencies {
		dependency := &o.Dependencies[i]
		if dependency.Definition != nil && !dependency.settled() {
			return holdDependency(dependency, "has not settled at "+dependency.Desired)
		}
		if lack := lacks(o.Definition, next, dependency); lack != "" {
			return holdDependency(dependency, lack)
		}
		if dependency.Definition == nil {
			continue
		}
		if hold := d.holdUnhealthyDependency(o, dependency); hold != nil {
			return hold
		}
	}
	return nil
}

// lacks says what a dependency is short of for a version, other than being settled; empty when nothing.
func lacks(def *v1alpha1.AddonDefinition, version string, dependency *Dependency) string {
	switch {
	case dependency.Definition != nil:
		return lacksVersion(def, version, dependency)
	case dependency.Desired == "":
		return "is required and not there"
	default:
		return "has no AddonDefinition that can be used"
	}
}

func lacksVersion(def *v1alpha1.AddonDefinition, version string, dependency *Dependency) string {
	running, none := RunningVersion(dependency.Definition, dependency.Releases), "no version yet"
	if anyDeployed(dependency.Releases) {
		none = "parts of several versions"
	}
	for _, within := range demands(def, findVersion(def, version), dependency.Name) {
		if !allows(within, running) {
			return fmt.Sprintf("is required at %s and runs %s", within, cmp.Or(running, none))
		}
	}
	return ""
}

// holdUnsettled waits until a version has settled.
func holdUnsettled(o Observation, version, message string) *Hold {
	return &Hold{
		State:   v1alpha1.StateUpgrading,
		Message: message,
		By:      v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: o.Addon.Name, Message: version + " has not settled"},
	}
}

func holdDependency(dependency *Dependency, how string) *Hold {
	return &Hold{
		State:   v1alpha1.StateBlocked,
		Message: fmt.Sprintf("waits for add-on %q, which %s%s", dependency.Name, how, rootCause(dependency)),
		By:      v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: dependency.Name, Message: blockerMessage(dependency)},
		Chain:   slices.Clone(dependency.BlockedBy),
	}
}

// rootCause quotes what keeps a dependency from moving by itself or, where that is yet another one, the last link of its chain. Of one
// that is on its way nothing is quoted: its words change all the time.
func rootCause(dependency *Dependency) string {
	if len(dependency.BlockedBy) > 0 && dependency.BlockedBy[len(dependency.BlockedBy)-1].Kind == v1alpha1.BlockerAddon {
		root := dependency.BlockedBy[len(dependency.BlockedBy)-1]
		return fmt.Sprintf("; the root cause is add-on %q: %s", root.Name, root.Message)
	}
	if dependency.Message == "" || moves(dependency) {
		return ""
	}
	return ": " + dependency.Message
}

// moves says whether a dependency needs nothing but time.
func moves(dependency *Dependency) bool {
	switch dependency.State {
	case v1alpha1.StatePending, v1alpha1.StateInstalling, v1alpha1.StateUpgrading, v1alpha1.StateReady, v1alpha1.StateRemoving:
		return true
	default:
		return false
	}
}

// blockerMessage has the cause only where nothing else will tell it: an add-on that is on its way says enough by its state.
func blockerMessage(dependency *Dependency) string {
	switch {
	case dependency.State == "":
		return "not there"
	case moves(dependency) || dependency.State == v1alpha1.StateBlocked:
		return string(dependency.State)
	default:
		return fmt.Sprintf("%s: %s", dependency.State, dependency.Message)
	}
}

// firstUnsettled prefers the release that fails over those that wait for it.
func firstUnsettled(o Observation) string {
	for _, phase := range []Phase{PhaseFailing, PhaseDegraded, PhaseDeleting, PhaseProgressing, PhaseWaiting} {
		if release, ok := firstIn(o, phase); ok {
			return fmt.Sprintf("release %s: %s", release.Name, release.Message)
		}
	}
	return "its releases change"
}
