package addons

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// drawn is a version with what is true of it by construction: nothing here parses what the code under test parses.
type drawn struct {
	text                string
	semantic            bool
	prerelease          bool
	major, minor, patch int // of a date, patch is the day
	packaging           int
}

// compare is the order of versions: those that are not semver first, pre-releases before and packagings after their version.
func (d drawn) compare(other drawn) int {
	place := func(d drawn) []int {
		return []int{bit(d.semantic), d.major, d.minor, d.patch, bit(!d.prerelease), d.packaging}
	}
	return slices.Compare(place(d), place(other))
}

// atLeast is what a range says, which follows semver: for it, a packaging comes before its version.
func (d drawn) atLeast(bound drawn) bool {
	return slices.Compare([]int{d.major, d.minor, d.patch, bit(d.packaging == 0)}, []int{bound.major, bound.minor, bound.patch, 1}) >= 0
}

func (d drawn) inRanges() bool { return d.semantic && !d.prerelease }

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// schemes are the ways in which upstreams number their versions.
var schemes = map[string]func(*rapid.T) drawn{
	"semver":     func(t *rapid.T) drawn { return semverOf(t, 0, 1) },
	"odd majors": func(t *rapid.T) drawn { return semverOf(t, 1, 2) },
	"date": func(t *rapid.T) drawn {
		day := rapid.IntRange(1, 28).Draw(t, "day")
		return drawn{text: fmt.Sprintf("RELEASE.2025-10-%02dT00-00-00Z", day), patch: day}
	},
	"packaged": func(t *rapid.T) drawn {
		d := semverOf(t, 0, 1)
		if d.packaging = rapid.IntRange(0, 11).Draw(t, "packaging"); d.packaging > 0 {
			d.text += fmt.Sprintf("-%d", d.packaging)
		}
		return d
	},
	"pre-releases": func(t *rapid.T) drawn {
		d := semverOf(t, 0, 1)
		if d.prerelease = rapid.IntRange(0, 3).Draw(t, "pre-release") == 0; d.prerelease {
			d.text += "-rc.1"
		}
		return d
	},
}

func semverOf(t *rapid.T, firstMajor, step int) drawn {
	d := drawn{
		semantic: true, major: firstMajor + step*rapid.IntRange(0, 1).Draw(t, "major"),
		minor: rapid.IntRange(0, 3).Draw(t, "minor"), patch: rapid.IntRange(0, 1).Draw(t, "patch"),
	}
	d.text = fmt.Sprintf("%d.%d.%d", d.major, d.minor, d.patch)
	return d
}

// catalogue models a definition: what is allowed in it is written down a second time here, from what its fields promise.
type catalogue struct {
	def         v1alpha1.AddonDefinition
	draw        func(*rapid.T) drawn
	listed      []drawn
	upgradeFrom []func(drawn) bool // nil for the default
	runs        []bool             // on the drawn Kubernetes
	kubernetes  string
}

func someCatalogue(t *rapid.T) *catalogue {
	first, second := rapid.SampledFrom(sortedKeys(schemes)).Draw(t, "scheme"), "date"
	if rapid.IntRange(0, 3).Draw(t, "one scheme") > 0 {
		second = first
	}
	c := &catalogue{draw: func(t *rapid.T) drawn { return schemes[rapid.SampledFrom([]string{first, second}).Draw(t, "of")](t) }}
	c.listed = rapid.SliceOfN(rapid.Custom(c.draw), 1, 16).Draw(t, "versions")
	slices.SortFunc(c.listed, drawn.compare)
	c.listed = slices.Compact(c.listed)
	for _, version := range c.listed {
		versions(version.text)(&c.def)
	}
	c.def = define("a", func(def *v1alpha1.AddonDefinition) { def.Spec.Versions = c.def.Spec.Versions })
	minor := rapid.IntRange(28, 36).Draw(t, "Kubernetes")
	c.kubernetes = fmt.Sprintf(rapid.SampledFrom([]string{"", "1.%d.3", "v1.%d.0", "v1.%d.7-gke.100", "1.%d.2+k3s1"}).Draw(t, "as"), minor)
	known := !strings.HasPrefix(c.kubernetes, "%!")
	if !known {
		c.kubernetes = ""
	}
	for i := range c.listed {
		c.drawBounds(t, &c.def.Spec.Versions[i], minor, known)
	}
	return c
}

// drawBounds draws what a version says of Kubernetes and of what may move to it.
func (c *catalogue) drawBounds(t *rapid.T, version *v1alpha1.VersionDefinition, minor int, known bool) {
	bound, runs := rapid.IntRange(28, 36).Draw(t, "bound"), true
	switch rapid.IntRange(0, 9).Draw(t, "bounds") {
	case 0:
		version.Kubernetes, runs = fmt.Sprintf("<1.%d", bound), minor < bound
	case 1:
		version.Kubernetes, runs = fmt.Sprintf(">=1.%d.0", bound), minor >= bound
	}
	runs = runs || !known
	if rapid.IntRange(0, 9).Draw(t, "withdrawn") == 0 {
		version.Withdrawn, runs = "it loses data", false
	}
	c.runs = append(c.runs, runs)
	plain := slices.DeleteFunc(slices.Clone(c.listed), func(d drawn) bool { return !d.inRanges() || d.packaging > 0 })
	if len(plain) == 0 || rapid.IntRange(0, 2).Draw(t, "default edges") < 2 {
		c.upgradeFrom = append(c.upgradeFrom, nil)
		return
	}
	low, high := rapid.SampledFrom(plain).Draw(t, "low"), rapid.SampledFrom(plain).Draw(t, "high")
	var within func(drawn) bool
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		version.UpgradeFrom, within = ">="+low.text, func(d drawn) bool { return d.inRanges() && d.atLeast(low) }
	case 1:
		version.UpgradeFrom = fmt.Sprintf(">=%s <%s", low.text, high.text)
		within = func(d drawn) bool { return d.inRanges() && d.atLeast(low) && !d.atLeast(high) }
	default:
		version.UpgradeFrom, within = low.text+" || "+high.text, func(d drawn) bool { return d == low || d == high }
	}
	c.upgradeFrom = append(c.upgradeFrom, within)
}

// allows says whether one version may move to a listed one in one hop.
func (c *catalogue) allows(from drawn, to int) bool {
	next := c.listed[to]
	if next.compare(from) <= 0 {
		return false
	}
	if within := c.upgradeFrom[to]; within != nil {
		return within(from)
	}
	if !from.semantic || !next.semantic {
		return to > 0 && c.listed[to-1] == from
	}
	newer := slices.ContainsFunc(c.listed, func(d drawn) bool { return d.semantic && d.major == from.major && d.minor > from.minor })
	return next.major == from.major && next.minor <= from.minor+1 || next.major == from.major+1 && next.minor == 0 && !newer
}

// path tries every walk, from the target back: all hops go up, so that what is later in the list is known already. It prefers fewer
// hops, then newer versions.
func (c *catalogue) path(from drawn, to int) (path []string, found bool) {
	path, _ = c.paths(from, to, c.runs)
	return path, path != nil
}

// missing names the versions before and after the gap in front of a target to which no hops lead, whatever else is in the way; empty where
// they do.
func (c *catalogue) missing(from drawn, to int) (before, after string) {
	everywhere := slices.Repeat([]bool{true}, len(c.listed))
	path, leading := c.paths(from, to, everywhere)
	if path != nil {
		return "", ""
	}
	furthest := from
	for i, version := range c.listed[:to] {
		if reached, _ := c.paths(from, i, everywhere); reached != nil {
			furthest = version
		}
	}
	next := slices.IndexFunc(leading, func(version drawn) bool { return version.compare(furthest) > 0 })
	return furthest.text, leading[next].text
}

// paths finds also all versions that lead to the target, which does so itself.
func (c *catalogue) paths(from drawn, to int, runs []bool) (path []string, leading []drawn) {
	ways := make([][]string, len(c.listed)) // from each listed version to the target
	best := func(from drawn) (shortest []string) {
		for next, way := range slices.Backward(ways) {
			if way != nil && runs[next] && c.allows(from, next) && (shortest == nil || len(way) < len(shortest)) {
				shortest = way
			}
		}
		return shortest
	}
	ways[to] = []string{c.listed[to].text}
	for i := to - 1; i >= 0; i-- {
		if rest := best(c.listed[i]); rest != nil {
			ways[i] = append([]string{c.listed[i].text}, rest...)
		}
	}
	for i, way := range ways {
		if way != nil {
			leading = append(leading, c.listed[i])
		}
	}
	return best(from), leading
}
