package addons

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// wonder decides with the given findings about releases, and says what was asked for, one string a round. What has no finding is free.
func wonder(o Observation, owners map[string]OwnerFinding, charts map[string]ChartFinding) (Observation, Decision, []string) {
	var asked []string
	o.Owners, o.Charts = map[string]OwnerFinding{}, map[string]ChartFinding{}
	for {
		d := Decide(o)
		if d.Ask.Empty() {
			return o, d, asked
		}
		var round []string
		for _, release := range d.Ask.Owners {
			round = append(round, "owner of "+release.Name)
			o.Owners[release.Name] = owners[release.Name]
		}
		for _, release := range d.Ask.Charts {
			round = append(round, "chart "+release.Chart+" "+release.ChartVersion)
			o.Charts[release.Name] = charts[release.Name]
		}
		asked = append(asked, strings.Join(round, ", "))
	}
}

func TestWhatIsTakenIsNotTakenOver(t *testing.T) {
	t.Parallel()
	taken, fought := OwnerFinding{Taken: "Helm release a/cluster is there"}, OwnerFinding{Taken: "Helm release a/cluster is there", Fought: "Argo CD would fight"}
	all := []string{"owner of operator, owner of cluster, owner of dashboard"}
	const message = "Helm release a/cluster is there; to take it over, set adopt: true for a in Installer default; to keep it, remove a from there"
	for name, test := range map[string]struct {
		releases []Observed
		adopt    bool
		cluster  OwnerFinding
		asked    []string
		held     string // nothing is held when empty
	}{
		"nobody has it":                                      {asked: all},
		"somebody has it":                                    {cluster: taken, asked: all, held: message},
		"somebody has it, and it is wanted":                  {cluster: taken, adopt: true, asked: all},
		"somebody would fight over it":                       {cluster: fought, asked: all, held: message},
		"somebody would fight over it, and it is wanted":     {cluster: fought, adopt: true, asked: all, held: "Argo CD would fight"},
		"somebody would fight, and there is nothing to take": {cluster: OwnerFinding{Fought: "Argo CD would fight"}, asked: all, held: "Argo CD would fight"},
		"it is ours":                                         {releases: []Observed{settledAt("operator", "12"), release("cluster", PhaseProgressing, "2", "")}, cluster: taken, asked: []string{"owner of dashboard"}},
		"the rest of an install": {
			releases: []Observed{release("operator", PhaseProgressing, "12", "")}, cluster: taken, asked: []string{"owner of cluster, owner of dashboard"}, held: message,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := suite()
			o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(test.releases...)}
			o.Addon.Spec.Adopt = test.adopt
			o, d, asked := wonder(o, map[string]OwnerFinding{"cluster": test.cluster}, nil)
			assert.Equal(t, test.asked, asked)
			if test.held == "" {
				assert.Nil(t, d.Hold)
				assert.Len(t, d.Write, 3)
				return
			}
			require.NotNil(t, d.Hold)
			assert.Empty(t, d.Write)
			assert.Empty(t, d.Version)
			assert.Equal(t, []string{"1.2.0"}, d.Path, "people see where it would go")
			assert.Equal(t, &Hold{
				State: v1alpha1.StateBlocked, Message: test.held,
				By: v1alpha1.Blocker{Kind: v1alpha1.BlockerHelmRelease, Name: "cluster", Message: "somebody else installed it"},
			}, d.Hold)
			assert.Equal(t, v1alpha1.StateBlocked, Summarize(o, d).State)
		})
	}
}

// An upgrade that brings a release along asks for its owner too, and writes none of it before.
func TestReleasesThatCameLaterMayBeTaken(t *testing.T) {
	t.Parallel()
	def := suite()
	o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(settledAt("operator", "11"), settledAt("cluster", "1"))}
	_, d, asked := wonder(o, map[string]OwnerFinding{"dashboard": {Taken: "it is there"}}, nil)
	assert.Equal(t, []string{"owner of dashboard, chart operator 12, chart cluster 2"}, asked, "everything at once")
	assert.Empty(t, d.Write)
	assert.Contains(t, d.Hold.Message, "it is there; to take it over")
}

func TestChartsAreLookedIntoBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	hop := []Observed{settledAt("operator", "10"), settledAt("cluster", "1")}
	waiting, problem := ChartFinding{Waiting: "it is being fetched"}, ChartFinding{Problem: "it drops a version of a CRD"}
	for name, test := range map[string]struct {
		wanted   string
		releases []Observed
		operator ChartFinding
		asked    []string
		state    v1alpha1.AddonState
		held     string // nothing is held when empty
	}{
		"a first install needs no look": {wanted: "1.2.0", asked: []string{"owner of operator, owner of cluster, owner of dashboard"}, state: v1alpha1.StateInstalling},
		"an install in another version": {
			wanted: "1.1.0", releases: []Observed{release("operator", PhaseFailing, "10", ""), release("cluster", PhaseWaiting, "1", "")}, state: v1alpha1.StateFailed,
		},
		"what does not change": {wanted: "1.0.0", releases: hop, state: v1alpha1.StateReady},
		"what changes":         {wanted: "1.1.0", releases: hop, asked: []string{"chart operator 11"}, state: v1alpha1.StateUpgrading},
		"it has to be waited":  {wanted: "1.1.0", releases: hop, operator: waiting, asked: []string{"chart operator 11"}, state: v1alpha1.StateUpgrading, held: "looking into chart operator 11 before the upgrade: it is being fetched"},
		"it would do harm":     {wanted: "1.1.0", releases: hop, operator: problem, asked: []string{"chart operator 11"}, state: v1alpha1.StateBlocked, held: "it drops a version of a CRD"},
		"all that change": {
			wanted: "1.2.0", releases: []Observed{settledAt("operator", "11"), settledAt("cluster", "1"), settledAt("dashboard", "1")},
			asked: []string{"chart operator 12, chart cluster 2"}, state: v1alpha1.StateUpgrading,
		},
		"the rest of a hop": {
			wanted: "1.2.0", releases: []Observed{release("operator", PhaseProgressing, "12", "11"), settledAt("cluster", "1"), release("dashboard", PhaseWaiting, "1", "")},
			asked: []string{"chart cluster 2"}, state: v1alpha1.StateUpgrading,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := suite()
			o := Observation{Addon: present("default", "a@"+test.wanted), Definition: &def, Releases: byName(test.releases...)}
			o, d, asked := wonder(o, nil, map[string]ChartFinding{"operator": test.operator})
			assert.Equal(t, test.asked, asked)
			s := Summarize(o, d)
			assert.Equal(t, test.state, s.State)
			if test.held == "" {
				assert.Nil(t, d.Hold)
				assert.NotEmpty(t, d.Write)
				return
			}
			require.NotNil(t, d.Hold)
			assert.Empty(t, d.Write)
			assert.Empty(t, d.Version)
			assert.Equal(t, test.held, d.Hold.Message)
			assert.Equal(t, "Chart/operator", s.BlockedBy[0].Kind+"/"+s.BlockedBy[0].Name)
		})
	}
}
