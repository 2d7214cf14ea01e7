package addons

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (r *resolver) checkRequirements(name string) {
	requirements := slices.Clone(r.around[name].Spec.Requires)
	slices.SortStableFunc(requirements, func(a, b v1alpha1.Requirement) int { return cmp.Compare(a.Addon, b.Addon) }) // the first problem is told
	for _, requirement := range requirements {
		if requirement.Addon == "" {
			continue
		}
		_, listed := r.wanted[requirement.Addon]
		switch {
		case listed || r.around[requirement.Addon] != nil:
			r.checkRequiredVersion(name, requirement.Addon)
		case !requirement.Optional && r.owners[requirement.Addon] != "":
			r.fail(name, "", "add-on %q requires add-on %q, which Installer %q lists and has yet to make; it follows then", name, requirement.Addon, r.owners[requirement.Addon])
		case !requirement.Optional:
			r.fail(name, "", "add-on %q requires add-on %q, which no Installer lists; add it to spec.addons", name, requirement.Addon)
		}
	}
}

// checkRequiredVersion blames the add-on that requires, and where that one is there already also the one that would move away
// from under it.
func (r *resolver) checkRequiredVersion(name, required string) {
	version := r.versions[required]
	for _, within := range demands(r.around[name], findVersion(r.around[name], r.versions[name]), required) {
		if version == "" || r.platform.allows(within, version) {
			continue
		}
		advice := "change the version of one of the two"
		if !slices.ContainsFunc(versionNames(r.around[required].Spec.Versions), func(listed string) bool { return r.platform.allows(within, listed) }) {
			advice = fmt.Sprintf("the catalogue lists no such version of %q: add one to its AddonDefinition", required)
		}
		r.fail(name, "", "add-on %q requires %q at %s, but that is to be %s; %s", name, required, within, version, advice)
		if there := r.existing[required]; r.existing[name] != nil && there != nil && r.platform.allows(within, there.Spec.Version) {
			r.fail(required, "version", "add-on %q stays at %s: add-on %q is there and requires it at %s, which %s is not; change the version of one of the two",
				required, there.Spec.Version, name, within, version)
		}
	}
}

// allows says whether a version is in a range. Whoever asks more often has a platform, which parses each range once.
func allows(within, version string) bool {
	parsed, err := ParseRange(within)
	return err == nil && parsed.Contains(ParseVersion(version))
}

// checkConflicts blames whichever of two conflicting add-ons does not run yet, so that what runs is left alone; both when
// that does not tell them apart.
func (r *resolver) checkConflicts(name string) {
	conflicts := slices.Clone(r.around[name].Spec.Conflicts)
	slices.SortStableFunc(conflicts, func(a, b v1alpha1.Conflict) int { return cmp.Compare(a.Addon, b.Addon) })
	for _, conflict := range conflicts {
		if r.around[conflict.Addon] == nil {
			continue
		}
		reason := conflict.Message
		if reason == "" {
			reason = "remove one of the two from spec.addons"
		}
		ours, theirs := r.existing[name] != nil, r.existing[conflict.Addon] != nil
		if !ours || theirs {
			r.fail(name, "", "add-on %q conflicts with %q: %s", name, conflict.Addon, reason)
		}
		if !theirs || ours {
			r.fail(conflict.Addon, "", "add-on %q conflicts with %q: %s", conflict.Addon, name, reason)
		}
	}
}

// checkReleaseNames finds add-ons that would share a HelmRelease. The one that is there, or else the first by name, keeps it.
func (r *resolver) checkReleaseNames() {
	names := sortedKeys(r.around)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(newcomer(r.existing[a]), newcomer(r.existing[b])) })
	takenBy := map[string]string{}
	for _, name := range names {
		for _, release := range releaseNames(r.around[name]) {
			if other := takenBy[release]; other != "" {
				r.fail(name, "", "its release %q is also one of add-on %q; rename it in one of the two AddonDefinitions", release, other)
				continue
			}
			takenBy[release] = name
		}
	}
}

func newcomer(existing *v1alpha1.Addon) int {
	if existing == nil {
		return 1
	}
	return 0
}
