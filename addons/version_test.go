package addons

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestVersionsOrder(t *testing.T) {
	t.Parallel()
	for name, ascending := range map[string][]string{
		"semver":              {"1.2.3", "1.2.10", "1.10.0", "2.0.0"},
		"pre-releases first":  {"1.0.0-alpha", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0"},
		"packaging suffix":    {"0.92.1-9.1.0", "0.92.1-87.15.1", "0.93.0-1.0.0"},
		"suffix after plain":  {"1.0.4", "1.0.4-14.2.21", "1.0.5"},
		"date suffix":         {"2.8.1-20230130", "2.8.1-20230417"},
		"dates":               {"2023-09-30", "2024-01-02", "2024-10-15", "2025-10-15"},
		"minio tags":          {"RELEASE.2023-09-30T07-02-29Z", "RELEASE.2024-01-02T00-00-00Z", "RELEASE.2025-10-15T17-29-55Z"},
		"leading v":           {"v1.2.3", "v1.10.0"},
		"missing parts":       {"1", "1.1", "1.1.1"},
		"named before semver": {"RELEASE.9", "0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sorted := slices.Clone(ascending)
			slices.Reverse(sorted)
			slices.SortFunc(sorted, func(a, b string) int { return ParseVersion(a).Compare(ParseVersion(b)) })
			assert.Equal(t, ascending, sorted)
		})
	}
}

// The order must be total, or sorting would depend on the order of the input.
func TestVersionOrderIsTotal(t *testing.T) {
	t.Parallel()
	version := rapid.StringMatching(`v?[0-9]{1,2}(\.[0-9]{1,2}){0,2}(-[0-9a-z.]{1,6})?|RELEASE\.[0-9-]{1,8}|[a-z0-9]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := ParseVersion(version.Draw(t, "a")), ParseVersion(version.Draw(t, "b")), ParseVersion(version.Draw(t, "c"))
		require.Equal(t, -a.Compare(b), b.Compare(a), "antisymmetric")
		require.Equal(t, a.String() == b.String(), a.Compare(b) == 0, "equal only to itself")
		if a.Compare(b) < 0 && b.Compare(c) < 0 {
			require.Negative(t, a.Compare(c), "transitive")
		}
	})
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		within    string
		contained []string
		outside   []string
	}{
		"wildcard":                   {"1.27.x", []string{"1.27.0", "1.27.9", "1.27.1-20230417"}, []string{"1.28.0", "1.27.2-rc.1"}},
		"two parts":                  {"1.27", []string{"1.27.3"}, []string{"1.28.0"}},
		"bounds":                     {">=1.2 <2", []string{"1.2.0", "1.99.0"}, []string{"1.1.9", "2.0.0", "2.0.0-beta.1"}},
		"caret":                      {"^1.2", []string{"1.2.0", "1.9.0"}, []string{"2.0.0"}},
		"alternatives":               {"1.2.x || 1.4.x", []string{"1.2.1", "1.4.0"}, []string{"1.3.0"}},
		"pre-releases when named":    {">=1.0.0-0 <2.0.0", []string{"1.0.0-rc.1", "1.5.0"}, []string{"2.0.0"}},
		"kURL's double version":      {"0.92.x", []string{"0.92.1-87.15.1"}, []string{"0.93.0-1.0.0"}},
		"never what is not semver":   {">=0", []string{"0.0.1"}, []string{"RELEASE.2025-10-15T17-29-55Z"}},
		"numeric order, not textual": {"0.x", []string{"0.9.0", "0.11.0"}, []string{"1.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := ParseRange(test.within)
			require.NoError(t, err)
			for _, v := range test.contained {
				assert.True(t, parsed.Contains(ParseVersion(v)), v)
			}
			for _, v := range test.outside {
				assert.False(t, parsed.Contains(ParseVersion(v)), v)
			}
		})
	}
	_, err := ParseRange("not a range")
	require.ErrorContains(t, err, `"not a range" is not a version range: write for example 1.27.x`)
}
