package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// deleting is a release of which Flux says how far its uninstall is.
func deleting(name string, stage Uninstall) Observed {
	o := release(name, PhaseDeleting, "1.1.0", "")
	o.Uninstall = stage
	if stage == UninstallSkipped || stage == UninstallUnderway {
		o.ChartVersion = "1.1.0"
	}
	return o
}

func TestGatesOfRemovals(t *testing.T) {
	t.Parallel()
	settled := []Observed{settledAt("a", "1.1.0")}
	first, fresh := "a/remove-1, a/remove-2", "a/remove-1 now, a/remove-2 now"
	closed := "it is not removed while its gate remove-2 is closed: pods are left"
	for name, test := range map[string]gateCase{
		"open":   {releases: settled, want: outcome{asked: []string{first, fresh}, deletes: "a", gates: "remove-1 remove-2"}},
		"closed": {releases: settled, closed: []string{"a/remove-2"}, want: outcome{asked: []string{first}, message: closed, blocked: "Gate/remove-2", gates: "remove-1 -remove-2"}},
		"closed lately": {releases: settled, closed: []string{"lately a/remove-2"}, want: outcome{
			asked: []string{first, fresh}, message: closed, blocked: "Gate/remove-2", gates: "remove-1 -remove-2",
		}},
		"something depends on it": {releases: settled, dependents: []string{"b", "c"}, want: outcome{
			message: "it stays until what depends on it is gone: b, c; remove those too, or put it back into spec.addons", blocked: "Addon/b",
		}},
		"suspended": {releases: []Observed{{Name: "a", Phase: PhaseProgressing, SuspendedBy: "flux"}}, want: outcome{
			message: `HelmRelease a was suspended by "flux" and is not uninstalled while it is; resume it with: flux resume helmrelease a -n kurl-addons`, blocked: "HelmRelease/a",
		}},
		"no definition": {releases: settled, undefined: `add-on "a" is not in the catalogue`, want: outcome{
			message: `it is not uninstalled: its AddonDefinition says what has to be checked first, and add-on "a" is not in the catalogue; ` +
				"apply that AddonDefinition again (one without gates lets the add-on go)",
			blocked: "AddonDefinition/a",
		}},
		"no definition, and nothing left to uninstall": {releases: []Observed{deleting("a", UninstallDone)}, undefined: "there is none"},
		"under way":     {releases: []Observed{deleting("a", UninstallUnderway)}, closed: []string{"a/remove-1"}},
		"nothing there": {closed: []string{"a/remove-1"}},
		"the next one, while the gate has closed": {
			releases: []Observed{settledAt("a", "1.1.0"), after(deleting("b", UninstallDone), "a")}, closed: []string{"lately a/remove-2"},
			want: outcome{asked: []string{first, fresh}, message: closed, blocked: "Gate/remove-2", gates: "remove-1 -remove-2"},
		},
		"to try again": {releases: []Observed{deleting("a", UninstallSkipped)}, want: outcome{
			asked: []string{first, fresh}, pokes: "a", gates: "remove-1 remove-2",
		}},
		"to try again is held like a deletion": {releases: []Observed{deleting("a", UninstallSkipped)}, closed: []string{"lately a/remove-2"}, want: outcome{
			asked: []string{first, fresh}, message: closed, blocked: "Gate/remove-2", gates: "remove-1 -remove-2",
		}},
		"to try again waits for what depends on it": {releases: []Observed{deleting("a", UninstallSkipped)}, dependents: []string{"b"}, want: outcome{
			message: "it stays until what depends on it is gone: b; remove those too, or put it back into spec.addons", blocked: "Addon/b",
		}},
		"to try again is in order": {
			releases: []Observed{deleting("a", UninstallSkipped), after(settledAt("b", "1.1.0"), "a")},
			want:     outcome{asked: []string{first, fresh}, deletes: "b", gates: "remove-1 remove-2"},
		},
		"tried again, and not seen yet": {releases: []Observed{retried(deleting("a", UninstallSkipped), "")}, closed: []string{"a/remove-1"}},
		"tried again in vain": {
			releases: []Observed{retried(deleting("b", UninstallSkipped), retryToken(deleting("b", UninstallSkipped))), settledAt("a", "1.1.0")},
			want:     outcome{asked: []string{first, fresh}, deletes: "a", gates: "remove-1 remove-2"},
		},
	} {
		test.state = v1alpha1.Absent
		t.Run(name, test.run(guarded()))
	}
}

func TestHandingOverPassesNoGate(t *testing.T) {
	t.Parallel()
	def := guarded()
	o := Observation{Addon: present("default", "a@1.1.0"), Definition: &def, Dependents: []string{"b"}}
	o.Addon.Spec.State = v1alpha1.Orphaned
	for name, test := range map[string]struct {
		releases []Observed
		want     bool
	}{
		"running":                   {[]Observed{settledAt("a", "1.1.0")}, true},
		"nothing there":             {nil, true},
		"uninstalled":               {[]Observed{deleting("a", UninstallDone)}, true},
		"an uninstall is under way": {[]Observed{settledAt("a", "1.1.0"), deleting("b", UninstallUnderway)}, false},
	} {
		o.Releases = byName(test.releases...)
		assert.Equal(t, Decision{HandOver: test.want}, Decide(o), name)
	}
}

func TestHealthOfDependencies(t *testing.T) {
	t.Parallel()
	b := define("b", versions("1.0.0", "2.0.0"), healthy("green"), healthy("quick"))
	dependency := func(desired string, list ...Observed) []Dependency {
		one := on(desired, list...)
		one.Definition = &b
		return []Dependency{one}
	}
	green, running := "b/green, b/quick", dependency("2.0.0", settledAt("b", "2.0.0"))
	unhealthy := outcome{
		asked: []string{green}, message: `waits for add-on "b", which runs but is not healthy: green: pods are left`, blocked: "Addon/b Health/green",
	}
	unhealthyNow := unhealthy
	unhealthyNow.asked = []string{green, "b/green now, b/quick now"}
	unsettled := outcome{message: `waits for add-on "b", which has not settled at 2.0.0`, blocked: "Addon/b"}
	moving := dependency("2.0.0", settledAt("b", "1.0.0"))
	for name, test := range map[string]gateCase{
		"an install waits until it has settled":    {dependencies: moving, want: unsettled},
		"an install waits until it is healthy":     {dependencies: running, closed: []string{"b/green"}, want: unhealthy},
		"an install":                               {dependencies: running, want: outcome{asked: []string{green}, writes: "1.1.0"}},
		"what Flux can see of it holds no install": {dependencies: []Dependency{on("2.0.0", settledAt("b", "1.0.0"))}, want: outcome{writes: "1.1.0", blocked: "Addon/b"}},
		"an install that has begun":                {dependencies: moving, releases: []Observed{release("a", PhaseFailing, "1.1.0", "")}, want: outcome{writes: "1.1.0"}},
		"a hop waits until it has settled":         {dependencies: moving, releases: []Observed{settledAt("a", "1.0.0")}, want: unsettled},
		"a hop waits until it is healthy":          {dependencies: running, releases: []Observed{settledAt("a", "1.0.0")}, closed: []string{"b/green"}, want: unhealthy},
		"a hop":                                    {dependencies: running, releases: []Observed{settledAt("a", "1.0.0")}, want: outcome{asked: []string{green, "b/green now, b/quick now"}, writes: "1.1.0"}},
		"a hop, lately unhealthy":                  {dependencies: running, releases: []Observed{settledAt("a", "1.0.0")}, closed: []string{"lately b/green"}, want: unhealthyNow},
		"a hop that has begun":                     {dependencies: moving, releases: []Observed{release("a", PhaseProgressing, "1.1.0", "1.0.0")}, want: outcome{writes: "1.1.0"}},
		"what runs as wanted":                      {dependencies: moving, releases: []Observed{settledAt("a", "1.1.0")}, want: outcome{writes: "1.1.0"}},
		"one without a definition":                 {dependencies: []Dependency{{Name: "b", Desired: "1.0.0"}}, want: outcome{message: `waits for add-on "b", which has no AddonDefinition that can be used`, blocked: "Addon/b"}},
	} {
		t.Run(name, test.run(minors()))
	}
}

func TestHealthOfWhatRuns(t *testing.T) {
	t.Parallel()
	first := settledAt("a", "1.1.0")
	first.Revision = 1
	for name, test := range map[string]struct {
		running Observed
		told    v1alpha1.AddonState // what people were told before
		old     bool                // of an earlier spec
		closed  []string
		state   v1alpha1.AddonState
		message string
		healthy *Finding
		blocked []v1alpha1.Blocker
	}{
		"holds": {running: first, told: v1alpha1.StateReady, state: v1alpha1.StateReady, message: "running 1.1.0", healthy: &Finding{Passed: true}},
		"fails": {
			running: first, told: v1alpha1.StateReady, closed: []string{"a/works"}, state: v1alpha1.StateDegraded,
			message: "running 1.1.0, but not healthy: works: pods are left", healthy: &Finding{Message: "works: pods are left"},
			blocked: []v1alpha1.Blocker{{Kind: v1alpha1.BlockerHealth, Name: "works", Message: "pods are left"}},
		},
		"goes on failing": {
			running: first, told: v1alpha1.StateDegraded, closed: []string{"a/works"}, state: v1alpha1.StateDegraded,
			message: "running 1.1.0, but not healthy: works: pods are left", healthy: &Finding{Message: "works: pods are left"},
			blocked: []v1alpha1.Blocker{{Kind: v1alpha1.BlockerHealth, Name: "works", Message: "pods are left"}},
		},
		"is not there yet after an install": {
			running: first, told: v1alpha1.StateInstalling, closed: []string{"a/works"}, state: v1alpha1.StateInstalling,
			message: "running 1.1.0, but not healthy: works: pods are left", healthy: &Finding{Message: "works: pods are left"},
			blocked: []v1alpha1.Blocker{{Kind: v1alpha1.BlockerHealth, Name: "works", Message: "pods are left"}},
		},
		"is not there yet after an upgrade": {
			running: settledAt("a", "1.1.0"), told: v1alpha1.StateReady, old: true, closed: []string{"a/works"}, state: v1alpha1.StateUpgrading,
			message: "running 1.1.0, but not healthy: works: pods are left", healthy: &Finding{Message: "works: pods are left"},
			blocked: []v1alpha1.Blocker{{Kind: v1alpha1.BlockerHealth, Name: "works", Message: "pods are left"}},
		},
		"is not asked for while it settles": {
			running: release("a", PhaseProgressing, "1.1.0", "1.1.0"), closed: []string{"a/works"}, state: v1alpha1.StateUpgrading,
			message: "settling at 1.1.0: release a: Flux says so",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := guarded()
			o := Observation{Addon: present("default", "a@1.1.0"), Definition: &def, Releases: byName(test.running)}
			o.Addon.Status.State = test.told
			if test.old {
				o.Addon.Generation = 1
			}
			o, d, _ := find(o, test.closed...)
			assert.Equal(t, "1.1.0", d.Version, "what runs gets its values and dependencies, healthy or not")
			s := Summarize(o, d)
			assert.Equal(t, test.state, s.State)
			assert.Equal(t, test.message, s.Message)
			assert.Equal(t, test.healthy, s.Health)
			assert.Equal(t, test.blocked, s.BlockedBy)
			assert.Empty(t, s.Path)
			assert.False(t, s.Stalled)
		})
	}
}
