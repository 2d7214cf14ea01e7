package addons

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Version is a version of an add-on. Upstreams do not all use semver: MinIO has dates, and kURL appends chart versions
// (0.92.1-87.15.1). A Version is therefore any string with a total, deterministic order.
type Version struct {
	raw      string
	semantic *semver.Version // nil when the string has no semver core
}

// packagingSuffix matches what follows the dash in versions such as 2.8.1-20230417 and 2025-10-15: numbers only. It marks a
// later packaging of the same version, where semver would read a pre-release.
var packagingSuffix = regexp.MustCompile(`^[0-9]+([.-][0-9]+)*$`)

// ParseVersion never fails: a string without a semver core is ordered by its numbers and letters.
func ParseVersion(raw string) Version {
	semantic, err := semver.StrictNewVersion(raw) // most are, and the other way takes ten times as long
	if err != nil {
		semantic, err = semver.NewVersion(raw)
	}
	if err != nil {
		return Version{raw: raw}
	}
	return Version{raw: raw, semantic: semantic}
}

// String is the version as it was written.
func (v Version) String() string { return v.raw }

// Prerelease says whether the version is an alpha, beta, release candidate or the like.
func (v Version) Prerelease() bool {
	return v.semantic != nil && v.semantic.Prerelease() != "" && !packagingSuffix.MatchString(v.semantic.Prerelease())
}

// Compare orders versions: -1 when v is older than w, 1 when it is newer, 0 only when they are the same string. Versions
// without a semver core come before all others.
func (v Version) Compare(w Version) int {
	if v.semantic == nil || w.semantic == nil {
		return cmp.Or(cmp.Compare(rank(v), rank(w)), compareNatural(v.raw, w.raw))
	}
	core := cmp.Or(
		cmp.Compare(v.semantic.Major(), w.semantic.Major()),
		cmp.Compare(v.semantic.Minor(), w.semantic.Minor()),
		cmp.Compare(v.semantic.Patch(), w.semantic.Patch()),
		cmp.Compare(suffixRank(v), suffixRank(w)),
	)
	if core != 0 {
		return core // most versions differ here, and the rest is slow
	}
	return cmp.Or(comparePrerelease(v, w), compareNatural(v.raw, w.raw))
}

func rank(v Version) int {
	if v.semantic == nil {
		return 0
	}
	return 1
}

func suffixRank(v Version) int {
	switch {
	case v.Prerelease():
		return 0
	case v.semantic.Prerelease() == "":
		return 1
	default:
		return 2
	}
}

// comparePrerelease follows semver for real pre-releases (rc.2 before rc.10) and reads packaging suffixes as numbers.
func comparePrerelease(v, w Version) int {
	if v.Prerelease() {
		return v.semantic.Compare(w.semantic)
	}
	return compareNatural(v.semantic.Prerelease(), w.semantic.Prerelease())
}

var chunk = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// compareNatural compares runs of digits as numbers and everything else as text.
func compareNatural(a, b string) int {
	as, bs := chunk.FindAllString(a, -1), chunk.FindAllString(b, -1)
	for i := range min(len(as), len(bs)) {
		if c := compareChunk(as[i], bs[i]); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(a, b))
}

func compareChunk(a, b string) int {
	if !isDigit(a[0]) || !isDigit(b[0]) {
		return cmp.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Range is a set of versions, written as Helm and npm write it: `>=1.2 <2`, `^1.2`, `1.27.x`, `1.2 || 1.4`. The zero Range is
// empty.
type Range struct {
	raw         string
	constraints *semver.Constraints
	bounds      []bound // the same, for plain ranges, where comparing takes a hundredth of the time; nil for others
	prereleases bool
}

// bound is a comparison with a version.
type bound struct {
	operator string
	version  *semver.Version
}

// ParseRange returns an error that lists the accepted forms when the string is not a range.
func ParseRange(raw string) (Range, error) {
	constraints, err := semver.NewConstraint(raw)
	if err != nil {
		return Range{}, fmt.Errorf("%q is not a version range: write for example 1.27.x, ^1.2, \">=1.2 <2\" or \"1.2.x || 1.4.x\"", raw)
	}
	constraints.IncludePrerelease = true
	return Range{raw: raw, constraints: constraints, bounds: plainBounds(raw), prereleases: strings.Contains(raw, "-")}, nil
}

var plainBound = regexp.MustCompile(`^(>=|<|=|)([0-9]+\.[0-9]+\.[0-9]+)$`)

// plainBounds reads ranges such as ">=1.2.0 <2.0.0" and "1.2.3".
func plainBounds(raw string) []bound {
	var bounds []bound
	for part := range strings.FieldsSeq(raw) {
		match := plainBound.FindStringSubmatch(part)
		if match == nil {
			return nil
		}
		version, err := semver.StrictNewVersion(match[2])
		if err != nil {
			return nil
		}
		bounds = append(bounds, bound{operator: match[1], version: version})
	}
	return bounds
}

func (b bound) admits(v *semver.Version) bool {
	order := v.Compare(b.version)
	switch b.operator {
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	default:
		return order == 0
	}
}

// Contains says whether a version is in the range. A pre-release is only where the range itself names one; a version
// without a semver core never is.
func (r Range) Contains(v Version) bool {
	if r.constraints == nil || v.semantic == nil || v.Prerelease() && !r.prereleases {
		return false
	}
	if r.bounds != nil {
		return !slices.ContainsFunc(r.bounds, func(b bound) bool { return !b.admits(v.semantic) })
	}
	return r.constraints.Check(v.semantic)
}

// String is the range as it was written.
func (r Range) String() string { return r.raw }

// SameChartVersion compares a chart version as Flux reports it with the one that was asked for. A leading v does not count, nor
// does build metadata that was not asked for: OCI sources add some, and write its plus as an underscore.
func SameChartVersion(reported, asked string) bool {
	reported, asked = plainChartVersion(reported), plainChartVersion(asked)
	core, _, _ := strings.Cut(reported, "+")
	return reported != "" && (reported == asked || core == asked)
}

func plainChartVersion(version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(version, "v"), "_", "+")
}
