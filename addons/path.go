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
	p := newPlatform(kubernetes)
	if path := walk(def, from, to, p); path != nil {
		return path, nil
	}
	return nil, fmt.Errorf("no upgrade path of %q leads from %s to %s: %s", def.Name, from, to, obstacle(def, from, to, p))
}

// walk finds the shortest walk breadth first, and of several the one whose hops go furthest. It is nil where there is none.
func walk(def *v1alpha1.AddonDefinition, from, to string, p platform) []string {
	h := newHops(def)
	walks := [][]string{{from}}
	seen := map[string]bool{from: true}
	for i := range def.Spec.Versions {
		seen[def.Spec.Versions[i].Version] = p.check(&def.Spec.Versions[i]) != nil
	}
	for len(walks) > 0 {
		trail := walks[0]
		walks = walks[1:]
		running := ParseVersion(trail[len(trail)-1])
		for i, next := range slices.Backward(h.versions) {
			if seen[next.String()] || !h.allow(running, i) {
				continue
			}
			longer := append(slices.Clone(trail), next.String())
			if next.String() == to {
				return longer[1:]
			}
			seen[next.String()] = true
			walks = append(walks, longer)
		}
	}
	return nil
}

// hops are the versions of a definition, parsed, and what may move to each of them.
type hops struct {
	versions    []Version
	upgradeFrom []*Range          // nil where the definition leaves it to the default
	lastMinor   map[uint64]uint64 // major version: its highest listed minor
}

func newHops(def *v1alpha1.AddonDefinition) hops {
	h := hops{lastMinor: map[uint64]uint64{}}
	for i := range def.Spec.Versions {
		version := ParseVersion(def.Spec.Versions[i].Version)
		h.versions = append(h.versions, version)
		if version.semantic != nil {
			major := version.semantic.Major()
			h.lastMinor[major] = max(h.lastMinor[major], version.semantic.Minor())
		}
		var within *Range
		if raw := def.Spec.Versions[i].UpgradeFrom; raw != "" {
			parsed, _ := ParseRange(raw) // ValidateDefinition refuses what is no range; the empty one contains nothing
			within = &parsed
		}
		h.upgradeFrom = append(h.upgradeFrom, within)
	}
	return h
}

// allow says whether a running version may move to a listed one in a single step.
func (h hops) allow(running Version, to int) bool {
	next := h.versions[to]
	switch {
	case next.Compare(running) <= 0:
		return false
	case h.upgradeFrom[to] != nil:
		return h.upgradeFrom[to].Contains(running)
	case running.semantic == nil || next.semantic == nil:
		return to > 0 && h.versions[to-1].String() == running.String()
	case running.semantic.Major() == next.semantic.Major():
		return next.semantic.Minor()-running.semantic.Minor() <= 1
	default:
		return next.semantic.Major() == running.semantic.Major()+1 && next.semantic.Minor() == 0 &&
			h.lastMinor[running.semantic.Major()] <= running.semantic.Minor()
	}
}

// obstacle says what is in the way to a version: its absence, this Kubernetes on the way that there would be, or missing hops.
func obstacle(def *v1alpha1.AddonDefinition, from, to string, p platform) string {
	target := slices.IndexFunc(def.Spec.Versions, func(v v1alpha1.VersionDefinition) bool { return v.Version == to })
	if target < 0 {
		return fmt.Sprintf("%s is not in the catalogue; the nearest: %s", to, nearestVersions(def, to))
	}
	for _, hop := range walk(def, from, to, platform{}) {
		if err := p.check(findVersion(def, hop)); err != nil {
			return err.Error()
		}
	}
	h := newHops(def)
	var sources []string
	for _, version := range slices.Backward(h.versions) {
		if h.allow(version, target) {
			sources = append(sources, version.String())
		}
	}
	if len(sources) == 0 {
		return fmt.Sprintf("the catalogue lists no version from which %s can be reached; add one to the AddonDefinition", to)
	}
	return fmt.Sprintf("%s can be reached from %s only", to, abridged(sources))
}
