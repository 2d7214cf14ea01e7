package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Path returns the versions that an upgrade passes through, the last being `to`: the shortest walk of allowed hops, each of
// which runs on this Kubernetes. It is empty when `from` already is `to`. The error says why there is no way: a lower version is
// never reached, and otherwise the hops that do lead to `to` are named.
func Path(def *v1alpha1.AddonDefinition, from, to, kubernetes string) ([]string, error) {
	if from == to {
		return nil, nil
	}
	if ParseVersion(to).Compare(ParseVersion(from)) < 0 {
		return nil, fmt.Errorf("%q runs at %s and never goes down to %s, since its data may not survive that; ask for %s or newer", def.Name, from, to, from)
	}
	if path := walk(def, from, to, kubernetes); path != nil {
		return path, nil
	}
	return nil, fmt.Errorf("no upgrade path of %q leads from %s to %s: %s", def.Name, from, to, obstacle(def, from, to, kubernetes))
}

// walk finds the shortest walk breadth first, and of several the one whose hops go furthest. It is nil where there is none.
func walk(def *v1alpha1.AddonDefinition, from, to, kubernetes string) []string {
	walks := [][]string{{from}}
	seen := map[string]bool{from: true}
	for len(walks) > 0 {
		trail := walks[0]
		walks = walks[1:]
		for _, hop := range slices.Backward(def.Spec.Versions) {
			if seen[hop.Version] || !allowsHop(def, trail[len(trail)-1], &hop) || checkKubernetes(&hop, kubernetes) != nil {
				continue
			}
			next := append(slices.Clone(trail), hop.Version)
			if hop.Version == to {
				return next[1:]
			}
			seen[hop.Version] = true
			walks = append(walks, next)
		}
	}
	return nil
}

// allowsHop says whether a running version may move to a listed one in a single step.
func allowsHop(def *v1alpha1.AddonDefinition, from string, to *v1alpha1.VersionDefinition) bool {
	running, next := ParseVersion(from), ParseVersion(to.Version)
	if next.Compare(running) <= 0 {
		return false
	}
	if to.UpgradeFrom != "" {
		within, err := ParseRange(to.UpgradeFrom)
		return err == nil && within.Contains(running)
	}
	if running.semantic == nil || next.semantic == nil {
		names := versionNames(def.Spec.Versions)
		before := slices.Index(names, from)
		return before >= 0 && names[before+1] == to.Version // a newer one is listed, so there is a next one
	}
	if running.semantic.Major() == next.semantic.Major() {
		return next.semantic.Minor()-running.semantic.Minor() <= 1
	}
	return next.semantic.Major() == running.semantic.Major()+1 && next.semantic.Minor() == 0 && lastMinor(def, running)
}

// lastMinor says whether no listed version of the same major has a higher minor.
func lastMinor(def *v1alpha1.AddonDefinition, running Version) bool {
	return !slices.ContainsFunc(def.Spec.Versions, func(listed v1alpha1.VersionDefinition) bool {
		v := ParseVersion(listed.Version)
		return v.semantic != nil && v.semantic.Major() == running.semantic.Major() && v.semantic.Minor() > running.semantic.Minor()
	})
}

// obstacle says what is in the way to a version: its absence, this Kubernetes on the way that there would be, or missing hops.
func obstacle(def *v1alpha1.AddonDefinition, from, to, kubernetes string) string {
	target := findVersion(def, to)
	if target == nil {
		return fmt.Sprintf("%s is not in the catalogue; the nearest: %s", to, nearestVersions(def, to))
	}
	for _, hop := range walk(def, from, to, "") {
		if err := checkKubernetes(findVersion(def, hop), kubernetes); err != nil {
			return err.Error()
		}
	}
	var sources []string
	for _, name := range versionNames(def.Spec.Versions) {
		if allowsHop(def, name, target) {
			sources = append(sources, name)
		}
	}
	if len(sources) == 0 {
		return fmt.Sprintf("the catalogue lists no version from which %s can be reached; add one to the AddonDefinition", to)
	}
	slices.Reverse(sources)
	return fmt.Sprintf("%s can be reached from %s only", to, abridged(sources))
}
