package addons

import (
	"fmt"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Limits are what the versions of an add-on have to fit, beside there being a hop to them.
type Limits struct {
	// Kubernetes is the cluster's version; empty means unknown, and then no version is refused for it.
	Kubernetes string
	// Needs are what other add-ons that run demand of the version.
	Needs []Need
}

// Need is a range of versions that an add-on needs another one to run, as long as it runs itself.
type Need struct {
	// Addon that needs it, and the version that it runs.
	Addon, Running string
	// Range of versions that it allows.
	Range string
}

// limits check versions of one add-on.
type limits struct {
	platform platform
	needs    []Need
}

func newLimits(l Limits) limits { return limits{platform: newPlatform(l.Kubernetes), needs: l.Needs} }

// check says why a version must not be run here.
func (l limits) check(version *v1alpha1.VersionDefinition) error {
	if version.Withdrawn != "" {
		return withdrawn(version)
	}
	if err := l.platform.check(version); err != nil {
		return err
	}
	return l.checkNeeds(version.Version)
}

func (l limits) checkNeeds(version string) error {
	if need := l.unmet(version); need != nil {
		return fmt.Errorf("add-on %q runs %s and needs this one at %s, which %s is not", need.Addon, need.Running, need.Range, version)
	}
	return nil
}

// unmet is the first need that a version does not meet; nil when it meets all.
func (l limits) unmet(version string) *Need {
	for i := range l.needs {
		if !l.platform.allows(l.needs[i].Range, version) {
			return &l.needs[i]
		}
	}
	return nil
}

// demands are the ranges in which a version of an add-on needs another add-on.
func demands(def *v1alpha1.AddonDefinition, version *v1alpha1.VersionDefinition, addon string) []string {
	var ranges []string
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon == addon && requirement.Version != "" {
			ranges = append(ranges, requirement.Version)
		}
	}
	if version == nil {
		return ranges
	}
	for _, requirement := range version.Requires {
		if requirement.Addon == addon {
			ranges = append(ranges, requirement.Version)
		}
	}
	return ranges
}

// NeedsAt lists what an add-on that runs a version demands of another one's.
func NeedsAt(def *v1alpha1.AddonDefinition, running, addon string) []Need {
	version := findVersion(def, running)
	if version == nil {
		return nil
	}
	var needs []Need
	for _, within := range demands(def, version, addon) {
		needs = append(needs, Need{Addon: def.Name, Running: running, Range: within})
	}
	return needs
}

// NeedsBy lists what an add-on demands of another one's version, by what of it runs and what is being rolled out.
func NeedsBy(def *v1alpha1.AddonDefinition, observed map[string]Observed, addon string) []Need {
	return needsOf(def, RunningVersion(def, observed), AskedVersion(def, observed), addon)
}

func needsOf(def *v1alpha1.AddonDefinition, running, asked, addon string) []Need {
	needs := NeedsAt(def, running, addon)
	if asked != running {
		needs = append(needs, NeedsAt(def, asked, addon)...)
	}
	return needs
}

// NeededVersions names, sorted, the add-ons that a definition needs in certain versions.
func NeededVersions(def *v1alpha1.AddonDefinition) []string {
	names := map[string]bool{}
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon != "" && requirement.Version != "" {
			names[requirement.Addon] = true
		}
	}
	for i := range def.Spec.Versions {
		for _, requirement := range def.Spec.Versions[i].Requires {
			names[requirement.Addon] = true
		}
	}
	return sortedKeys(names)
}
