package addons

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// release is what Flux says of one: its phase, and the chart versions that are asked for and deployed.
func release(name string, phase Phase, asked, deployed string) Observed {
	return Observed{Name: name, Phase: phase, AskedVersion: asked, ChartVersion: deployed, Token: asked + "/" + deployed, Message: "Flux says so"}
}

func settledAt(name, version string) Observed { return release(name, PhaseSettled, version, version) }

func byName(list ...Observed) map[string]Observed {
	observed := map[string]Observed{}
	for _, one := range list {
		observed[one.Name] = one
	}
	return observed
}

// decision is what a test expects of Decide and Summarize.
type decision struct {
	writes  string   // version; empty when nothing is written
	deletes []string // HelmReleases
	pokes   []string // HelmReleases
	path    []string
	gone    bool
	blocker string // kind/name

	state   v1alpha1.AddonState
	message string
	version string // that runs
	stalled bool
}

func (want decision) check(t *testing.T, o Observation) {
	t.Helper()
	d := Decide(o)
	assert.Equal(t, want.writes, d.Version, "version to write")
	var charts []string
	for _, release := range d.Write {
		charts = append(charts, release.Name+" "+release.ChartVersion)
	}
	assert.Equal(t, chartsOf(o.Definition, want.writes), charts)
	assert.ElementsMatch(t, want.deletes, d.Delete)
	assert.Equal(t, want.gone, d.Gone)
	assert.Equal(t, want.path, d.Path)
	var pokes []string
	if len(d.Poke) > 0 {
		pokes = sortedKeys(d.Poke)
	}
	assert.Equal(t, want.pokes, pokes)
	s := Summarize(o, d)
	assert.Equal(t, want.state, s.State)
	assert.Equal(t, want.message, s.Message)
	assert.Equal(t, want.version, s.Version)
	assert.Equal(t, want.stalled, s.Stalled)
	blocker := ""
	if len(s.BlockedBy) > 0 {
		blocker = s.BlockedBy[0].Kind + "/" + s.BlockedBy[0].Name
	}
	assert.Equal(t, want.blocker, blocker)
}

// chartsOf lists what a version consists of, in install order.
func chartsOf(def *v1alpha1.AddonDefinition, version string) (list []string) {
	if version == "" {
		return nil
	}
	for _, name := range releaseNames(def) {
		if at, listed := findVersion(def, version).Releases[name]; listed {
			list = append(list, name+" "+at.ChartVersion)
		}
	}
	return list
}

// decideCase is an add-on called "a" that is to run at version 1.2.0 unless the case says otherwise.
type decideCase struct {
	wanted       string
	absent       bool
	undefined    string // why there is no definition
	releases     []Observed
	dependencies []Dependency
	dependents   []string
	kubernetes   string
	want         decision
}

func (c decideCase) run(def v1alpha1.AddonDefinition) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		addon := present("default", "a@"+cmp.Or(c.wanted, "1.2.0"))
		if c.absent {
			addon.Spec.State = v1alpha1.Absent
		}
		o := Observation{
			Addon: addon, Definition: &def, Problem: c.undefined, Releases: byName(c.releases...),
			Dependencies: c.dependencies, Dependents: c.dependents, Kubernetes: c.kubernetes,
		}
		if c.undefined != "" {
			o.Definition = nil
		}
		c.want.check(t, o)
	}
}

func minors(edits ...edit) v1alpha1.AddonDefinition {
	return define("a", append([]edit{versions("1.0.0", "1.1.0", "1.1.1", "1.2.0")}, edits...)...)
}

// on is a dependency called "b" that is to run at a version.
func on(desired string, list ...Observed) Dependency {
	def := define("b", versions("1.0.0", "2.0.0"))
	return Dependency{Name: "b", Definition: &def, Desired: desired, Releases: byName(list...), State: v1alpha1.StateInstalling, Message: "installing " + desired}
}

func TestDecideInstall(t *testing.T) {
	t.Parallel()
	installing := decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling}
	saying := func(message string) decision { d := installing; d.message = message; return d }
	since2 := needs(v1alpha1.Requirement{Addon: "b", Version: ">=2"})
	failed := func(stalled bool) Observed {
		o := release("a", PhaseFailing, "1.2.0", "")
		o.Stalled = stalled
		return o
	}
	for name, test := range map[string]struct {
		edits []edit
		decideCase
	}{
		"nothing is there": {decideCase: decideCase{want: saying("installing 1.2.0")}},
		"under way":        {decideCase: decideCase{releases: []Observed{release("a", PhaseProgressing, "1.2.0", "")}, want: saying("installing 1.2.0: release a: Flux says so")}},
		"another version while nothing is deployed": {decideCase: decideCase{releases: []Observed{failed(false)}, wanted: "1.1.0", want: decision{
			writes: "1.1.0", path: []string{"1.1.0"}, state: v1alpha1.StateFailed, message: "release a fails: Flux says so",
		}}},
		"fails and is retried": {decideCase: decideCase{releases: []Observed{failed(false)}, want: decision{
			writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateFailed, message: "release a fails: Flux says so",
		}}},
		"fails and Flux has given up": {decideCase: decideCase{releases: []Observed{failed(true)}, want: decision{
			writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateFailed, stalled: true,
			message: "release a fails: Flux says so; Flux does not try again by itself: correct the values, ask for a newer version, or have it tried once more with: " +
				`kubectl annotate --overwrite addon a reconcile.fluxcd.io/requestedAt="$(date +%s)"`,
		}}},
		"runs": {decideCase: decideCase{releases: []Observed{settledAt("a", "1.2.0")}, want: decision{
			writes: "1.2.0", state: v1alpha1.StateReady, message: "running 1.2.0", version: "1.2.0",
		}}},
		"runs, but cannot be checked": {decideCase: decideCase{releases: []Observed{release("a", PhaseDegraded, "1.2.0", "1.2.0")}, want: decision{
			writes: "1.2.0", state: v1alpha1.StateDegraded, message: "release a runs, but cannot be checked: Flux says so", version: "1.2.0",
		}}},
		"new values fail": {decideCase: decideCase{releases: []Observed{release("a", PhaseFailing, "1.2.0", "1.2.0")}, want: decision{
			writes: "1.2.0", state: v1alpha1.StateFailed, message: "release a fails: Flux says so", version: "1.2.0",
		}}},
		"chart versions as Flux writes them": {decideCase: decideCase{releases: []Observed{release("a", PhaseSettled, "1.2.0", "v1.2.0+build")}, want: decision{
			writes: "1.2.0", state: v1alpha1.StateReady, message: "running 1.2.0", version: "1.2.0",
		}}},
		"written beside a dependency that Flux waits for": {edits: []edit{requires("b")}, decideCase: decideCase{
			dependencies: []Dependency{on("1.0.0", release("b", PhaseProgressing, "1.0.0", ""))},
			want: decision{
				writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, blocker: "Addon/b",
				message: `waits for add-on "b", which has not settled`,
			},
		}},
		"held by a missing dependency": {edits: []edit{requires("b")}, decideCase: decideCase{
			dependencies: []Dependency{{Name: "b"}},
			want:         decision{path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, message: `waits for add-on "b", which is required and not there`, blocker: "Addon/b"},
		}},
		"held by a dependency without a definition": {edits: []edit{requires("b")}, decideCase: decideCase{
			dependencies: []Dependency{{Name: "b", Desired: "1.0.0", State: v1alpha1.StateBlocked, Message: `add-on "b" is not in the catalogue`}},
			want: decision{
				path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, blocker: "Addon/b",
				message: `waits for add-on "b", which has no AddonDefinition that can be used: add-on "b" is not in the catalogue`,
			},
		}},
		"held by a dependency that is too old": {edits: []edit{since2}, decideCase: decideCase{
			dependencies: []Dependency{on("2.0.0", release("b", PhaseProgressing, "2.0.0", "1.0.0"))},
			want: decision{
				path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, blocker: "Addon/b",
				message: `waits for add-on "b", which is required at >=2 and runs 1.0.0`,
			},
		}},
		"held by a dependency that does not run yet": {edits: []edit{since2}, decideCase: decideCase{
			dependencies: []Dependency{on("2.0.0")},
			want: decision{
				path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, blocker: "Addon/b",
				message: `waits for add-on "b", which is required at >=2 and runs no version yet`,
			},
		}},
		"not held by an old one of no required version": {edits: []edit{requires("b")}, decideCase: decideCase{
			dependencies: []Dependency{on("2.0.0", settledAt("b", "1.0.0"))},
			releases:     []Observed{settledAt("a", "1.2.0")},
			want:         decision{writes: "1.2.0", state: v1alpha1.StateReady, message: "running 1.2.0", version: "1.2.0"},
		}},
	} {
		t.Run(name, test.run(minors(test.edits...)))
	}
}

func TestDecideUpgrade(t *testing.T) {
	t.Parallel()
	path := []string{"1.1.1", "1.2.0"}
	since2 := needs(v1alpha1.Requirement{Addon: "b", Version: ">=2"})
	for name, test := range map[string]struct {
		edits []edit
		decideCase
	}{
		"one hop at a time": {decideCase: decideCase{releases: []Observed{settledAt("a", "1.0.0")}, want: decision{
			writes: "1.1.1", path: path, state: v1alpha1.StateUpgrading, message: "changing to 1.1.1", version: "1.0.0",
		}}},
		"not before the running version has settled": {decideCase: decideCase{releases: []Observed{release("a", PhaseProgressing, "1.0.0", "1.0.0")}, want: decision{
			path: path, state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a",
			message: "the upgrade to 1.1.1 waits until 1.0.0 has settled: release a: Flux says so",
		}}},
		"what fails gets its values first": {decideCase: decideCase{releases: []Observed{release("a", PhaseFailing, "1.0.0", "1.0.0")}, want: decision{
			writes: "1.0.0", path: path, state: v1alpha1.StateFailed, version: "1.0.0", blocker: "Addon/a",
			message: "the upgrade to 1.1.1 waits until 1.0.0 has settled: release a: Flux says so",
		}}},
		"what cannot be checked gets its source first": {decideCase: decideCase{releases: []Observed{release("a", PhaseDegraded, "1.0.0", "1.0.0")}, want: decision{
			writes: "1.0.0", path: path, state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a",
			message: "the upgrade to 1.1.1 waits until 1.0.0 has settled: release a: Flux says so",
		}}},
		"what waits gets its dependencies first": {decideCase: decideCase{releases: []Observed{after(release("a", PhaseWaiting, "1.0.0", "1.0.0"), "gone")}, want: decision{
			writes: "1.0.0", path: path, state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a",
			message: "the upgrade to 1.1.1 waits until 1.0.0 has settled: release a: Flux says so",
		}}},
		"what somebody asked for is put back first": {decideCase: decideCase{releases: []Observed{release("a", PhaseProgressing, "7.0.0", "1.0.0")}, want: decision{
			writes: "1.0.0", path: path, state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a",
			message: "the upgrade to 1.1.1 waits until 1.0.0 has settled: release a: Flux says so",
		}}},
		"a hop under way is finished": {decideCase: decideCase{releases: []Observed{release("a", PhaseProgressing, "1.1.1", "1.0.0")}, want: decision{
			writes: "1.1.1", path: path, state: v1alpha1.StateUpgrading, message: "changing to 1.1.1: release a: Flux says so", version: "1.0.0",
		}}},
		"a hop under way is finished before a newer target": {decideCase: decideCase{wanted: "1.1.1", releases: []Observed{release("a", PhaseProgressing, "1.1.0", "1.0.0")}, want: decision{
			writes: "1.1.0", path: []string{"1.1.0", "1.1.1"}, state: v1alpha1.StateUpgrading, message: "changing to 1.1.0: release a: Flux says so", version: "1.0.0",
		}}},
		"a hop under way is finished even where it should go back": {decideCase: decideCase{wanted: "1.0.0", releases: []Observed{release("a", PhaseProgressing, "1.1.1", "1.0.0")}, want: decision{
			writes: "1.1.1", path: []string{"1.1.1"}, state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a",
			message: `the upgrade to 1.1.1 has begun and is finished first (release a: Flux says so); after that, "a" runs at 1.1.1 and never goes down to 1.0.0, since its data may not survive that; ask for 1.1.1 or newer`,
		}}},
		"a hop that fails is not taken back": {decideCase: decideCase{wanted: "1.0.0", releases: []Observed{release("a", PhaseFailing, "1.1.1", "1.0.0")}, want: decision{
			writes: "1.1.1", path: []string{"1.1.1"}, state: v1alpha1.StateFailed, version: "1.0.0", blocker: "Addon/a",
			message: `the upgrade to 1.1.1 has begun and is finished first (release a: Flux says so); after that, "a" runs at 1.1.1 and never goes down to 1.0.0, since its data may not survive that; ask for 1.1.1 or newer`,
		}}},
		"a hop that fails is overtaken by a newer one": {decideCase: decideCase{wanted: "1.1.1", releases: []Observed{release("a", PhaseFailing, "1.1.0", "1.0.0")}, want: decision{
			writes: "1.1.1", path: []string{"1.1.1"}, state: v1alpha1.StateFailed, message: "release a fails: Flux says so", version: "1.0.0",
		}}},
		"a hop that fails is not overtaken while a dependency moves": {edits: []edit{requires("b")}, decideCase: decideCase{
			wanted: "1.1.1", releases: []Observed{release("a", PhaseFailing, "1.1.0", "1.0.0")},
			dependencies: []Dependency{on("2.0.0", settledAt("b", "1.0.0"))},
			want: decision{
				writes: "1.1.0", path: []string{"1.1.0", "1.1.1"}, state: v1alpha1.StateFailed, message: "release a fails: Flux says so", version: "1.0.0",
			},
		}},
		"between two hops": {decideCase: decideCase{releases: []Observed{settledAt("a", "1.1.1")}, want: decision{
			writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateUpgrading, message: "changing to 1.2.0", version: "1.1.1",
		}}},
		"not before a dependency has settled at its own version": {edits: []edit{requires("b")}, decideCase: decideCase{
			releases:     []Observed{settledAt("a", "1.0.0")},
			dependencies: []Dependency{on("2.0.0", settledAt("b", "1.0.0"))},
			want: decision{
				path: path, state: v1alpha1.StateBlocked, version: "1.0.0", blocker: "Addon/b",
				message: `waits for add-on "b", which has not settled at 2.0.0`,
			},
		}},
		"not at a dependency's wrong version": {edits: []edit{since2}, decideCase: decideCase{
			releases:     []Observed{settledAt("a", "1.0.0")},
			dependencies: []Dependency{on("1.0.0", settledAt("b", "1.0.0"))},
			want: decision{
				path: path, state: v1alpha1.StateBlocked, version: "1.0.0", blocker: "Addon/b",
				message: `waits for add-on "b", which is required at >=2 and runs 1.0.0`,
			},
		}},
		"a dependency that flaps later stops no hop under way": {edits: []edit{requires("b")}, decideCase: decideCase{
			releases:     []Observed{release("a", PhaseProgressing, "1.1.1", "1.0.0")},
			dependencies: []Dependency{on("1.0.0", release("b", PhaseFailing, "1.0.0", "1.0.0"))},
			want:         decision{writes: "1.1.1", path: path, state: v1alpha1.StateUpgrading, message: "changing to 1.1.1: release a: Flux says so", version: "1.0.0"},
		}},
		"never down": {decideCase: decideCase{wanted: "1.0.0", releases: []Observed{settledAt("a", "1.2.0")}, want: decision{
			state: v1alpha1.StateBlocked, version: "1.2.0", stalled: true, blocker: "AddonDefinition/a",
			message: `"a" runs at 1.2.0 and never goes down to 1.0.0, since its data may not survive that; ask for 1.2.0 or newer`,
		}}},
		"no way on this Kubernetes": {edits: []edit{onKubernetes("1.2.0", ">=1.31")}, decideCase: decideCase{
			releases: []Observed{settledAt("a", "1.1.1")}, kubernetes: "1.30.0",
			want: decision{
				state: v1alpha1.StateBlocked, version: "1.1.1", stalled: true, blocker: "AddonDefinition/a",
				message: `no upgrade path of "a" leads from 1.1.1 to 1.2.0: version 1.2.0 needs Kubernetes >=1.31, and this cluster runs 1.30.0; upgrade Kubernetes first`,
			},
		}},
		"a version that left the catalogue": {decideCase: decideCase{wanted: "1.3.0", releases: []Observed{settledAt("a", "1.2.0")}, want: decision{
			state: v1alpha1.StateBlocked, version: "1.2.0", stalled: true, blocker: "AddonDefinition/a",
			message: `version 1.3.0 of "a" is not in the catalogue any more; add it to the AddonDefinition, or choose another version`,
		}}},
		"an unknown version runs": {decideCase: decideCase{releases: []Observed{settledAt("a", "0.9.0")}, want: decision{
			path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, stalled: true, blocker: "AddonDefinition/a",
			message: `it runs a 0.9.0, which no version of "a" in the catalogue consists of; add that version to the AddonDefinition`,
		}}},
		"a broken definition touches nothing": {decideCase: decideCase{undefined: `the AddonDefinition "a" is broken: …; correct the definition`, releases: []Observed{settledAt("a", "1.0.0")}, want: decision{
			state: v1alpha1.StateBlocked, message: `the AddonDefinition "a" is broken: …; correct the definition`, stalled: true, blocker: "AddonDefinition/a",
		}}},
	} {
		t.Run(name, test.run(minors(test.edits...)))
	}
}
