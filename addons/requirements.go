package addons

import (
	"maps"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (r *resolver) checkRequirements(name string) {
	def := r.wanted[name]
	if def == nil {
		return
	}
	for _, requirement := range def.Spec.Requires {
		_, listed := r.wanted[requirement.Addon]
		if requirement.Addon == "" || !listed && r.around[requirement.Addon] == nil {
			if requirement.Addon != "" && !requirement.Optional {
				r.fail(name, "", "add-on %q requires add-on %q, which no Installer lists: add it to spec.addons", name, requirement.Addon)
			}
			continue
		}
		r.checkRequiredVersion(name, requirement)
	}
}

func (r *resolver) checkRequiredVersion(name string, requirement v1alpha1.Requirement) {
	version := r.versions[requirement.Addon]
	if requirement.Version == "" || version == "" {
		return
	}
	within, err := ParseRange(requirement.Version)
	if err != nil || !within.Contains(ParseVersion(version)) {
		r.fail(name, "", "add-on %q requires %q at %s, and this would be %s: change the version of one of the two",
			name, requirement.Addon, requirement.Version, version)
	}
}

// checkConflicts blames whichever of two conflicting add-ons does not run yet, so that what runs is left alone; both when
// that does not tell them apart.
func (r *resolver) checkConflicts(name string) {
	def := r.wanted[name]
	if def == nil {
		return
	}
	for _, conflict := range def.Spec.Conflicts {
		if r.around[conflict.Addon] == nil {
			continue
		}
		reason := conflict.Message
		if reason == "" {
			reason = "remove one of the two from spec.addons"
		}
		ours, theirs := r.running[name], r.running[conflict.Addon]
		if !ours || theirs {
			r.fail(name, "", "add-on %q conflicts with %q: %s", name, conflict.Addon, reason)
		}
		if _, wanted := r.wanted[conflict.Addon]; wanted && (!theirs || ours) {
			r.fail(conflict.Addon, "", "add-on %q conflicts with %q: %s", conflict.Addon, name, reason)
		}
	}
}

// checkReleaseNames finds add-ons that would share a HelmRelease. The one that runs, or else the first by name, keeps it.
func (r *resolver) checkReleaseNames() {
	names := sortedKeys(r.around)
	running := func(name string) bool { return r.running[name] }
	fresh := slices.DeleteFunc(slices.Clone(names), running)
	names = append(slices.DeleteFunc(names, func(name string) bool { return !running(name) }), fresh...)
	takenBy := map[string]string{}
	for _, name := range names {
		for _, release := range releaseNames(r.around[name]) {
			if other := takenBy[release]; other != "" {
				if _, ours := r.wanted[name]; ours {
					r.fail(name, "", "its release %q is also one of add-on %q: rename it in one of the definitions", release, other)
				}
				continue
			}
			takenBy[release] = name
		}
	}
}
