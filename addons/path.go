package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Path returns the versions that an upgrade passes through, the last being `to`: the shortest walk of allowed hops within the limits.
// It is empty when `from` already is `to`. The error says why there is no way: a lower version is never reached, and otherwise what is in
// the way, or which hop is missing.
func Path(def *v1alpha1.AddonDefinition, from, to string, within Limits) ([]string, error) {
	if from == to {
		return nil, nil
	}
	if ParseVersion(to).Compare(ParseVersion(from)) < 0 {
		return nil, fmt.Errorf("%q runs at %s and never goes down to %s, since its data may not survive that; ask for %s or newer", def.Name, from, to, from)
	}
	w := walker{def: def, hops: newHops(def), limits: newLimits(within)}
	if path := w.walk(from, to, w.fits); path != nil {
		return path, nil
	}
	return nil, fmt.Errorf("no upgrade path of %q leads from %s to %s: %s", def.Name, from, to, w.obstacle(from, to))
}

// walker looks for walks through the versions of a definition.
type walker struct {
	def    *v1alpha1.AddonDefinition
	hops   hops
	limits limits
}

func (w walker) fits(version *v1alpha1.VersionDefinition) bool { return w.limits.check(version) == nil }

func everywhere(*v1alpha1.VersionDefinition) bool { return true }

// unreached is in place of the version before one that cannot be reached, and origin where that is the one where the walk begins.
const (
	unreached = -2
	origin    = -1
)

// walk finds the shortest walk breadth first, and of several the one whose hops go furthest. It is nil where there is none.
func (w walker) walk(from, to string, fits func(*v1alpha1.VersionDefinition) bool) []string {
	before := w.reach(from, to, fits)
	target := w.place(to)
	if target < 0 || before[target] == unreached {
		return nil
	}
	var path []string
	for at := target; at != origin; at = before[at] {
		path = append(path, w.hops.versions[at].String())
	}
	slices.Reverse(path)
	return path
}

// place of a version in the list; -1 where it is not listed.
func (w walker) place(version string) int {
	return slices.IndexFunc(w.hops.versions, func(listed Version) bool { return listed.String() == version })
}

// reach finds what can be reached from a version, breadth first and until that is found which is looked for, and the place of the version
// before each.
func (w walker) reach(from, to string, fits func(*v1alpha1.VersionDefinition) bool) []int {
	before, open := w.unreached(fits)
	running, queue := ParseVersion(from), []int(nil)
	for at := origin; ; at, queue = queue[0], queue[1:] {
		if at != origin {
			running = w.hops.versions[at]
		}
		open = slices.DeleteFunc(open, func(next int) bool {
			allowed := w.hops.allow(running, next)
			if allowed {
				before[next] = at
				queue = append(queue, next)
			}
			return allowed
		})
		if target := w.place(to); len(queue) == 0 || target >= 0 && before[target] != unreached {
			return before
		}
	}
}

// unreached begins a search: nothing is reached, and the places of all versions that fit are open, the newest first.
func (w walker) unreached(fits func(*v1alpha1.VersionDefinition) bool) (before, open []int) {
	before = slices.Repeat([]int{unreached}, len(w.hops.versions))
	for i := range slices.Backward(w.hops.versions) {
		if fits(&w.def.Spec.Versions[i]) {
			open = append(open, i)
		}
	}
	return before, open
}

// furthest is the newest version that can be reached; `from` itself where none can.
func (w walker) furthest(from string, fits func(*v1alpha1.VersionDefinition) bool) string {
	for i, before := range slices.Backward(w.reach(from, "", fits)) {
		if before != unreached {
			return w.hops.versions[i].String()
		}
	}
	return from
}

// obstacle says what is in the way to a version: its absence, a limit on the way that there would be, or a missing hop.
func (w walker) obstacle(from, to string) string {
	target := slices.IndexFunc(w.def.Spec.Versions, func(v v1alpha1.VersionDefinition) bool { return v.Version == to })
	if target < 0 {
		return fmt.Sprintf("%s is not in the catalogue; the nearest: %s", to, nearestVersions(w.def, to))
	}
	for _, hop := range w.walk(from, to, everywhere) {
		if err := w.limits.check(findVersion(w.def, hop)); err != nil {
			return err.Error() + w.wayOut(from, findVersion(w.def, hop))
		}
	}
	var sources []string
	for _, version := range slices.Backward(w.hops.versions) {
		if w.hops.allow(version, target) {
			sources = append(sources, version.String())
		}
	}
	if within := w.def.Spec.Versions[target].UpgradeFrom; len(sources) == 0 && within != "" {
		return fmt.Sprintf("%s can be reached from %s only (its upgradeFrom), and the catalogue lists no such version; add one to the AddonDefinition, or widen that range", to, within)
	}
	if len(sources) == 0 {
		return fmt.Sprintf("the catalogue lists no version from which %s can be reached; add one to the AddonDefinition", to)
	}
	return fmt.Sprintf("%s can be reached from %s only, and %s; add the hop to the AddonDefinition", to, abridged(sources), w.missingHop(from, to))
}

// missingHop names the gap between what can be reached from one version and that from which another one can.
func (w walker) missingHop(from, to string) string {
	furthest := w.furthest(from, func(version *v1alpha1.VersionDefinition) bool {
		return ParseVersion(version.Version).Compare(ParseVersion(to)) < 0 // what lies beyond leads nowhere
	})
	next := to
	var leading []int // to the target, the newest first
	for i, version := range slices.Backward(w.hops.versions) {
		leads := version.String() == to || slices.ContainsFunc(leading, func(later int) bool { return w.hops.allow(version, later) })
		if leads && version.Compare(ParseVersion(furthest)) > 0 {
			leading, next = append(leading, i), version.String()
		}
	}
	return fmt.Sprintf("no hop leads from %s to %s", furthest, next)
}

// wayOut says how far an upgrade could go for now, where this cluster's Kubernetes is in the way of one of its hops.
func (w walker) wayOut(from string, hop *v1alpha1.VersionDefinition) string {
	if w.limits.platform.check(hop) == nil {
		return ""
	}
	if !w.limits.platform.tooOld(hop) {
		return "; Kubernetes has gone ahead of it: add a hop around it to the AddonDefinition"
	}
	furthest := findVersion(w.def, w.furthest(from, w.fits))
	switch {
	case furthest == nil || furthest.Version == from:
		return "; upgrade Kubernetes first"
	case furthest.Kubernetes == "":
		return fmt.Sprintf("; ask for %s, which this cluster allows, then upgrade Kubernetes, then ask for more", furthest.Version)
	default:
		return fmt.Sprintf("; ask for %s, which runs on Kubernetes %s, then upgrade Kubernetes, then ask for more", furthest.Version, furthest.Kubernetes)
	}
}

// hops are the versions of a definition, parsed, and what may move to each of them.
type hops struct {
	versions    []Version
	upgradeFrom []*Range          // nil where the definition leaves it to the default
	lastMinor   map[uint64]uint64 // major version: its highest listed minor
}

func newHops(def *v1alpha1.AddonDefinition) hops {
	h := hops{lastMinor: map[uint64]uint64{}}
	ranges := map[string]*Range{} // a catalogue repeats few
	for i := range def.Spec.Versions {
		version := ParseVersion(def.Spec.Versions[i].Version)
		h.versions = append(h.versions, version)
		if version.semantic != nil {
			major := version.semantic.Major()
			h.lastMinor[major] = max(h.lastMinor[major], version.semantic.Minor())
		}
		raw := def.Spec.Versions[i].UpgradeFrom
		within := ranges[raw]
		if raw != "" && within == nil {
			parsed, _ := ParseRange(raw) // ValidateDefinition refuses what is no range; the empty one contains nothing
			within = &parsed
			ranges[raw] = within
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
