package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestARemovalIsHeldByWhatHoldsItsDependents(t *testing.T) {
	gate := v1alpha1.Blocker{Kind: v1alpha1.BlockerGate, Name: "no-volumes", Message: "2 volumes are left"}
	above := v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: "top", Message: "depends on it"}
	for name, test := range map[string]struct {
		leaving map[string][]v1alpha1.Blocker
		by      string
		chain   []v1alpha1.Blocker
		says    string
	}{
		"nobody removes them": {
			by: "mid", says: "it stays until what depends on it is gone: mid, other; remove those too, or put it back into spec.addons",
		},
		"one of them stays": {
			leaving: map[string][]v1alpha1.Blocker{"mid": {gate}}, by: "other",
			says: "it stays until what depends on it is gone: mid, other; remove those too, or put it back into spec.addons",
		},
		"all of them are on their way out": {
			leaving: map[string][]v1alpha1.Blocker{"mid": nil, "other": nil}, by: "mid", says: "it stays until what depends on it is gone: mid, other",
		},
		"one of them is held": {
			leaving: map[string][]v1alpha1.Blocker{"mid": nil, "other": {above, gate}}, by: "other", chain: []v1alpha1.Blocker{above, gate},
			says: "it stays until what depends on it is gone: mid, other; other is held: 2 volumes are left",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observation{
				Addon:      &v1alpha1.Addon{Spec: v1alpha1.AddonSpec{State: v1alpha1.Absent}},
				Releases:   map[string]Observed{"base": {Phase: PhaseSettled}},
				Dependents: []string{"mid", "other"},
				Leaving:    test.leaving,
			}
			d := Decide(o)
			require.NotNil(t, d.Hold)
			assert.Empty(t, d.Delete)
			assert.Equal(t, test.says, d.Hold.Message)
			assert.Equal(t, test.by, d.Hold.By.Name)
			assert.Equal(t, test.chain, d.Hold.Chain)
		})
	}
}
