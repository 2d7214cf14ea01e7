package addons

import (
	"fmt"
	"slices"
	"strings"

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
		return nil, fmt.Errorf("%s runs at %s and never goes down to %s: data may not survive it; ask for %s or newer", def.Name, from, to, from)
	}
	walks := [][]string{{from}}
	seen := map[string]bool{from: true}
	for len(walks) > 0 {
		walk := walks[0]
		walks = walks[1:]
		for _, hop := range slices.Backward(def.Spec.Versions) {
			if seen[hop.Version] || !allowsHop(def, walk[len(walk)-1], &hop) || checkKubernetes(&hop, kubernetes) != nil {
				continue
			}
			next := append(slices.Clone(walk), hop.Version)
			if hop.Version == to {
				return next[1:], nil
			}
			seen[hop.Version] = true
			walks = append(walks, next)
		}
	}
	return nil, fmt.Errorf("no upgrade path of %s leads from %s to %s; %s", def.Name, from, to, edgesInto(def, to, kubernetes))
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
		return slices.Index(names, from)+1 == slices.Index(names, to.Version)
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

func edgesInto(def *v1alpha1.AddonDefinition, to, kubernetes string) string {
	target := findVersion(def, to)
	if target == nil {
		return fmt.Sprintf("%s is not in the catalogue", to)
	}
	if err := checkKubernetes(target, kubernetes); err != nil {
		return err.Error()
	}
	from := slices.DeleteFunc(versionNames(def.Spec.Versions), func(v string) bool { return !allowsHop(def, v, target) })
	if len(from) == 0 {
		return fmt.Sprintf("the catalogue lists no version that may move to %s", to)
	}
	return fmt.Sprintf("%s can be reached from %s", to, strings.Join(from, ", "))
}
