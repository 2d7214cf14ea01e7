package addons

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPathsAreTheShortestWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCatalogue(t)
		require.Empty(t, ValidateDefinition(&c.def).ToAggregate(), "what is drawn is valid, versions ascend")
		froms := append(rapid.SliceOfN(rapid.Custom(c.draw), 1, 4).Draw(t, "not all of them listed"), c.listed...)
		for _, from := range froms {
			for to := range c.listed {
				c.checkPath(t, from, to)
			}
		}
	})
}

func (c *catalogue) checkPath(t *rapid.T, from drawn, to int) {
	t.Helper()
	path, err := Path(&c.def, from.text, c.listed[to].text, Limits{Kubernetes: c.kubernetes})
	expected, found := c.path(from, to)
	switch {
	case from == c.listed[to]:
		require.NoError(t, err)
		require.Empty(t, path)
	case found:
		require.NoError(t, err)
		require.Equal(t, expected, path)
	default:
		require.Error(t, err, "from %s to %s on %q", from.text, c.listed[to].text, Limits{Kubernetes: c.kubernetes})
		require.Empty(t, path)
	}
}

func TestPlainRangesMeanWhatOthersMean(t *testing.T) {
	t.Parallel()
	version := rapid.StringMatching(`(0|[1-3])\.(0|[1-3])\.(0|[1-3])`)
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfN(rapid.SampledFrom([]string{">=", "<", "=", "", ">", "<="}), 1, 3).Draw(t, "bounds")
		for i := range bounds {
			bounds[i] += version.Draw(t, "bound")
		}
		within, err := ParseRange(strings.Join(bounds, " "))
		require.NoError(t, err)
		slow := within
		slow.bounds = nil
		suffix := rapid.SampledFrom([]string{"", "-3", "-rc.1", "+build"}).Draw(t, "suffix")
		at := ParseVersion(version.Draw(t, "version") + suffix)
		require.Equal(t, slow.Contains(at), within.Contains(at), "%s in %s", at, within)
	})
}

func TestPathsNeverGoToWhatIsNotListed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCatalogue(t)
		from, to := rapid.SampledFrom(c.listed).Draw(t, "from"), c.draw(t)
		if slices.Contains(c.listed, to) {
			t.Skip("it is listed")
		}
		path, err := Path(&c.def, from.text, to.text, Limits{Kubernetes: c.kubernetes})
		require.Error(t, err)
		require.Empty(t, path)
	})
}
