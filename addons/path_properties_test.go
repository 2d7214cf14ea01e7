package addons

import (
	"slices"
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
