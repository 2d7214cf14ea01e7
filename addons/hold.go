package addons

import (
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
				By: v1alpha1.Blocker{Kind: "HelmRelease", Name: name, Message: fmt.Sprintf("suspended by %q", by)},
			}
		}
	}
	return nil
}

func holdDefinition(o Observation, message string) *Hold {
	return &Hold{
		State: v1alpha1.StateBlocked, Message: message,
		By: v1alpha1.Blocker{Kind: "AddonDefinition", Name: o.Addon.Name, Message: message},
	}
}

// holdInstall holds what Flux's dependsOn cannot see: a required add-on that is not there yet, or not at the required version.
func holdInstall(o Observation) *Hold {
	for i := range o.Dependencies {
		dependency := &o.Dependencies[i]
		if dependency.Definition == nil {
			return holdDependency(dependency, "is required, and not there")
		}
		if required := unmet(o.Definition, dependency); required != "" {
			return holdDependency(dependency, fmt.Sprintf("is required at %s, and runs %s", required,
				orElse(RunningVersion(dependency.Definition, dependency.Releases), "no version yet")))
		}
	}
	return nil
}

// unmet returns the version range that a dependency does not meet; empty when it meets them all.
func unmet(def *v1alpha1.AddonDefinition, dependency *Dependency) string {
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon != dependency.Name || requirement.Version == "" {
			continue
		}
		within, err := ParseRange(requirement.Version)
		if err != nil || !within.Contains(ParseVersion(RunningVersion(dependency.Definition, dependency.Releases))) {
			return requirement.Version
		}
	}
	return ""
}

// holdHop lets a version move only from a settled one, and only after everything that it depends on has settled at its own.
func holdHop(o Observation, running, hop string) *Hold {
	underWay := askedVersion(o.Definition, o.Releases) == hop
	if !underWay && !Settled(o.Definition, running, o.Releases) && askedVersion(o.Definition, o.Releases) == running {
		return &Hold{
			State:   v1alpha1.StateUpgrading,
			Message: fmt.Sprintf("the upgrade to %s waits until %s has settled: %s", hop, running, firstUnsettled(o.Releases)),
			By:      v1alpha1.Blocker{Kind: "Addon", Name: o.Addon.Name, Message: fmt.Sprintf("%s has not settled", running)},
		}
	}
	for i := range o.Dependencies {
		if dependency := &o.Dependencies[i]; !underWay && !dependency.settled() {
			return holdDependency(dependency, fmt.Sprintf("has not settled at %s", orElse(dependency.Desired, "any version")))
		}
	}
	return nil
}

func holdDependency(dependency *Dependency, how string) *Hold {
	message := fmt.Sprintf("waits for add-on %q, which %s", dependency.Name, how)
	if dependency.Message != "" {
		message += ": " + dependency.Message
	}
	return &Hold{
		State:   v1alpha1.StateBlocked,
		Message: message,
		By:      v1alpha1.Blocker{Kind: "Addon", Name: dependency.Name, Message: blockerMessage(dependency)},
		Chain:   slices.Clone(dependency.BlockedBy),
	}
}

func blockerMessage(dependency *Dependency) string {
	if dependency.State == "" {
		return "not there"
	}
	return string(dependency.State)
}

func firstUnsettled(observed map[string]Observed) string {
	for _, name := range sortedKeys(observed) {
		if release := observed[name]; release.Phase != PhaseSettled {
			return fmt.Sprintf("release %s: %s", name, release.Message)
		}
	}
	return "its releases change"
}
