package addons

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func anyCheck(name string) v1alpha1.Check {
	return v1alpha1.Check{
		Name: name, Resources: map[string]v1alpha1.ResourceQuery{"pods": {APIVersion: "v1", Kind: "Pod"}}, Expression: "pods.size() == 0",
	}
}

func gate(when v1alpha1.Moment, name string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Gates = append(def.Spec.Gates, v1alpha1.Gate{Check: anyCheck(name), When: when})
	}
}

func healthy(name string) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Health = append(def.Spec.Health, anyCheck(name)) }
}

// guarded is an add-on with two gates before every moment, and a health check.
func guarded(edits ...edit) v1alpha1.AddonDefinition {
	return minors(append([]edit{
		gate(v1alpha1.MomentInstall, "install-1"), gate(v1alpha1.MomentInstall, "install-2"),
		gate(v1alpha1.MomentUpgrade, "upgrade-1"), gate(v1alpha1.MomentUpgrade, "upgrade-2"),
		gate(v1alpha1.MomentRemove, "remove-1"), gate(v1alpha1.MomentRemove, "remove-2"),
		healthy("works"),
	}, edits...)...)
}

// outcome is what came of a decision once all that it asked for was answered.
type outcome struct {
	asked   []string // questions: one string a round
	writes  string   // version
	deletes string   // HelmReleases
	pokes   string   // HelmReleases
	message string   // why it is held
	blocked string   // the chain, by kind/name
	gates   string   // statuses: names, those that are closed after a dash
}

// find decides, and answers what is asked for: all checks pass but the closed ones. One that is closed only lately passes on older facts.
func find(o Observation, closed ...string) (Observation, Decision, []string) {
	var asked []string
	for {
		d := Decide(o)
		if d.Ask.Empty() {
			return o, d, asked
		}
		var round []string
		for _, q := range d.Ask.Checks {
			text := q.Addon + "/" + q.Check
			finding := Finding{Passed: true, Fresh: q.Fresh}
			for _, name := range closed {
				lately, isLately := strings.CutPrefix(name, "lately ")
				if lately == text && (q.Fresh || !isLately) {
					finding.Passed, finding.Message = false, "pods are left"
				}
			}
			if q.Fresh {
				text += " now"
			}
			round = append(round, text)
			o.Answer(q, finding)
		}
		for _, release := range append(d.Ask.Owners, d.Ask.Charts...) {
			o.Owners, o.Charts = with(o.Owners, release.Name), with(o.Charts, release.Name)
		}
		if len(round) > 0 {
			asked = append(asked, strings.Join(round, ", "))
		}
	}
}

// with adds a finding of nothing in the way.
func with[F any](findings map[string]F, release string) map[string]F {
	var nothing F
	if findings == nil {
		findings = map[string]F{}
	}
	findings[release] = nothing
	return findings
}

func outcomeOf(o Observation, closed ...string) outcome {
	o, d, asked := find(o, closed...)
	s := Summarize(o, d)
	result := outcome{asked: asked, deletes: strings.Join(d.Delete, ", "), pokes: strings.Join(sortedKeys(d.Poke), ", ")}
	if len(d.Write) > 0 {
		result.writes = d.Version
	}
	if d.Hold != nil {
		result.message = d.Hold.Message
	}
	var chain, statuses []string
	for _, blocker := range s.BlockedBy {
		chain = append(chain, blocker.Kind+"/"+blocker.Name)
	}
	for _, status := range s.Gates {
		statuses = append(statuses, map[bool]string{false: "-"}[status.Passed]+status.Name)
	}
	result.blocked, result.gates = strings.Join(chain, " "), strings.Join(statuses, " ")
	return result
}

// gateCase is the add-on "a" that is to run at 1.1.0.
type gateCase struct {
	state        v1alpha1.Presence
	undefined    string
	releases     []Observed
	dependencies []Dependency
	dependents   []string
	closed       []string
	want         outcome
}

func (c gateCase) run(def v1alpha1.AddonDefinition) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		addon := present("default", "a@1.1.0")
		addon.Spec.State = cmp.Or(c.state, v1alpha1.Present)
		o := Observation{Addon: addon, Definition: &def, Releases: byName(c.releases...), Dependencies: c.dependencies, Dependents: c.dependents}
		if c.undefined != "" {
			o.Definition, o.Problem = nil, c.undefined
		}
		assert.Equal(t, c.want, outcomeOf(o, c.closed...))
	}
}

func TestGatesOfInstalls(t *testing.T) {
	t.Parallel()
	going := release("a", PhaseDeleting, "1.1.0", "")
	going.Uninstall = UninstallDone
	both := []string{"a/install-1, a/install-2"}
	twice := append(slices.Clone(both), "a/install-1 now, a/install-2 now")
	for name, test := range map[string]gateCase{
		"open": {want: outcome{asked: twice, writes: "1.1.0", gates: "install-1 install-2"}},
		"closed lately": {closed: []string{"lately a/install-1"}, want: outcome{
			asked: twice, message: "it is not installed while its gate install-1 is closed: pods are left", blocked: "Gate/install-1", gates: "-install-1 install-2",
		}},
		"the first is closed": {closed: []string{"a/install-1"}, want: outcome{
			asked: both, message: "it is not installed while its gate install-1 is closed: pods are left", blocked: "Gate/install-1", gates: "-install-1 install-2",
		}},
		"the second is closed": {closed: []string{"a/install-2"}, want: outcome{
			asked: both, message: "it is not installed while its gate install-2 is closed: pods are left", blocked: "Gate/install-2", gates: "install-1 -install-2",
		}},
		"both are closed": {closed: []string{"a/install-2", "a/install-1"}, want: outcome{
			asked: both, message: "it is not installed while its gate install-1 is closed: pods are left", blocked: "Gate/install-1", gates: "-install-1 -install-2",
		}},
		"begun": {releases: []Observed{release("a", PhaseFailing, "1.1.0", "")}, closed: []string{"a/install-1"}, want: outcome{writes: "1.1.0"}},
		"all that is left is being deleted": {releases: []Observed{going}, closed: []string{"a/install-1"}, want: outcome{
			asked: both, message: "it is not installed while its gate install-1 is closed: pods are left", blocked: "Gate/install-1", gates: "-install-1 install-2",
		}},
		"something is missing that it requires": {dependencies: []Dependency{{Name: "b"}}, want: outcome{
			message: `waits for add-on "b", which is required and not there`, blocked: "Addon/b",
		}},
	} {
		t.Run(name, test.run(guarded()))
	}
}

func TestGatesOfUpgrades(t *testing.T) {
	t.Parallel()
	settled := []Observed{settledAt("a", "1.0.0")}
	all := []string{"a/works", "a/works now", "a/upgrade-1, a/upgrade-2", "a/upgrade-1 now, a/upgrade-2 now"}
	for name, test := range map[string]gateCase{
		"open": {releases: settled, want: outcome{asked: all, writes: "1.1.0", gates: "upgrade-1 upgrade-2"}},
		"closed": {releases: settled, closed: []string{"a/upgrade-2"}, want: outcome{
			asked: all[:3], message: "it is not upgraded while its gate upgrade-2 is closed: pods are left", blocked: "Gate/upgrade-2", gates: "upgrade-1 -upgrade-2",
		}},
		"closed since the last hop": {releases: settled, closed: []string{"lately a/upgrade-2"}, want: outcome{
			asked: all, message: "it is not upgraded while its gate upgrade-2 is closed: pods are left", blocked: "Gate/upgrade-2", gates: "upgrade-1 -upgrade-2",
		}},
		"not healthy since the last hop": {releases: settled, closed: []string{"lately a/works"}, want: outcome{
			asked: all[:2], message: "the upgrade to 1.1.0 waits until it is healthy: works: pods are left", blocked: "Health/works",
		}},
		"not healthy": {releases: settled, closed: []string{"a/works", "a/upgrade-2"}, want: outcome{
			asked: all[:1], message: "the upgrade to 1.1.0 waits until it is healthy: works: pods are left", blocked: "Health/works",
		}},
		"under way": {releases: []Observed{release("a", PhaseProgressing, "1.1.0", "1.0.0")}, closed: []string{"a/upgrade-1"}, want: outcome{writes: "1.1.0"}},
		"not settled": {releases: []Observed{release("a", PhaseProgressing, "1.0.0", "1.0.0")}, want: outcome{
			message: "the upgrade to 1.1.0 waits until 1.0.0 has settled: release a: Flux says so", blocked: "Addon/a",
		}},
		"there already, and other values": {releases: []Observed{release("a", PhaseProgressing, "1.1.0", "1.1.0")}, want: outcome{writes: "1.1.0"}},
		"suspended": {releases: []Observed{{Name: "a", Phase: PhaseProgressing, AskedVersion: "1.0.0", ChartVersion: "1.0.0", SuspendedBy: "flux"}}, want: outcome{
			message: `HelmRelease a was suspended by "flux" and is left alone; resume it with: flux resume helmrelease a -n kurl-addons`, blocked: "HelmRelease/a",
		}},
	} {
		t.Run(name, test.run(guarded()))
	}
}

// A hop that fails may be overtaken by a newer one, through the same gates.
func TestGatesOfHopsThatOvertake(t *testing.T) {
	t.Parallel()
	def := guarded()
	o := Observation{Addon: present("default", "a@1.1.1"), Definition: &def, Releases: byName(release("a", PhaseFailing, "1.1.0", "1.0.0"))}
	assert.Equal(t, outcome{asked: []string{"a/upgrade-1, a/upgrade-2", "a/upgrade-1 now, a/upgrade-2 now"}, writes: "1.1.1", gates: "upgrade-1 upgrade-2"}, outcomeOf(o))
	o.findings = nil
	assert.Equal(t, outcome{asked: []string{"a/upgrade-1, a/upgrade-2"}, writes: "1.1.0", gates: "upgrade-1 -upgrade-2"}, outcomeOf(o, "a/upgrade-2"))
}
