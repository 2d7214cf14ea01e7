package addons

import (
	"fmt"
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
		require.NoError(t, ValidateDefinition(&c.def).ToAggregate(), "what is drawn is valid, versions ascend")
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
		require.Error(t, err, "from %s to %s on %q", from.text, c.listed[to].text, c.kubernetes)
		require.Empty(t, path)
		c.checkMissing(t, err.Error(), from, to)
	}
}

// checkMissing checks that an error names the hop that is missing, if none is there for the target alone or on the way to it.
func (c *catalogue) checkMissing(t *rapid.T, message string, from drawn, to int) {
	t.Helper()
	if c.listed[to].compare(from) < 0 {
		require.Contains(t, message, "never goes down")
		return
	}
	before, after := c.missing(from, to)
	switch {
	case before == "":
		require.Regexp(t, "needs Kubernetes|is withdrawn", message)
	case !slices.ContainsFunc(c.listed, func(d drawn) bool { return c.allows(d, to) }):
		require.Regexp(t, "lists no (such )?version", message)
	default:
		require.Contains(t, message, fmt.Sprintf("no hop leads from %s to %s", before, after))
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
