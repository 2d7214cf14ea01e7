package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// suite is an add-on of two releases, and a third one since 1.2.0.
func suite() v1alpha1.AddonDefinition {
	return define("a",
		releases("operator", "cluster", "dashboard"), versions("1.0.0", "1.1.0", "1.2.0"),
		charted("1.0.0", map[string]string{"operator": "10", "cluster": "1"}),
		charted("1.1.0", map[string]string{"operator": "11", "cluster": "1"}),
		charted("1.2.0", map[string]string{"operator": "12", "cluster": "2", "dashboard": "1"}),
	)
}

func after(o Observed, names ...string) Observed {
	o.DependsOn = names
	return o
}

func TestDecideSeveralReleases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]decideCase{
		"fresh": {want: decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0"}},
		"died after the first release was written": {
			releases: []Observed{settledAt("operator", "12")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0"},
		},
		"died after the first, and another version is wanted by now": {
			wanted: "1.1.0", releases: []Observed{settledAt("operator", "10")},
			want: decision{writes: "1.0.0", path: []string{"1.0.0", "1.1.0"}, state: v1alpha1.StateInstalling, message: "installing 1.0.0"},
		},
		"one waits for the other": {
			releases: []Observed{release("operator", PhaseProgressing, "12", ""), after(release("cluster", PhaseWaiting, "2", ""), "operator"), after(release("dashboard", PhaseWaiting, "1", ""), "cluster")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0: release operator: Flux says so"},
		},
		"half way through an install": {
			releases: []Observed{settledAt("operator", "12"), release("cluster", PhaseProgressing, "2", ""), after(release("dashboard", PhaseWaiting, "1", ""), "cluster")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0: release cluster: Flux says so"},
		},
		"a hop that changes one release": {
			wanted: "1.1.0", releases: []Observed{settledAt("operator", "10"), settledAt("cluster", "1")},
			want: decision{writes: "1.1.0", path: []string{"1.1.0"}, state: v1alpha1.StateUpgrading, message: "changing to 1.1.0", version: "1.0.0"},
		},
		"half way through a hop": {
			releases: []Observed{settledAt("operator", "12"), release("cluster", PhaseProgressing, "2", "1"), after(release("dashboard", PhaseWaiting, "1", ""), "cluster")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateUpgrading, message: "changing to 1.2.0: release cluster: Flux says so"},
		},
		"died in the middle of writing a hop": {
			releases: []Observed{release("operator", PhaseProgressing, "12", "11"), settledAt("cluster", "1")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateUpgrading, message: "changing to 1.2.0: release operator: Flux says so", version: "1.1.0"},
		},
		"died in the middle of writing a hop, which has gone on": {
			releases: []Observed{settledAt("operator", "12"), settledAt("cluster", "1")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0"},
		},
		"one is being uninstalled although it is wanted": {
			releases: []Observed{settledAt("operator", "11"), release("cluster", PhaseDeleting, "1", "1")}, wanted: "1.1.0",
			want: decision{writes: "1.1.0", state: v1alpha1.StateUpgrading, message: "settling at 1.1.0", version: "1.1.0"},
		},
		"the first install has ended, and Flux has yet to say so": {
			wanted: "1.1.0", releases: []Observed{
				{Name: "operator", Phase: PhaseSettled, AskedVersion: "11", ChartVersion: "11", Revision: 1},
				{Name: "cluster", Phase: PhaseProgressing, AskedVersion: "1", ChartVersion: "1", Revision: 1, Message: "Flux says so"},
			},
			want: decision{writes: "1.1.0", state: v1alpha1.StateInstalling, message: "settling at 1.1.0: release cluster: Flux says so", version: "1.1.0"},
		},
		"one has been uninstalled although it is wanted": {
			releases: []Observed{settledAt("operator", "11")}, wanted: "1.1.0",
			want: decision{writes: "1.1.0", path: []string{"1.1.0"}, state: v1alpha1.StateInstalling, message: "installing 1.1.0"},
		},
		"a mix that no hop makes": {
			releases: []Observed{settledAt("operator", "12"), settledAt("cluster", "7")},
			want: decision{
				path: []string{"1.2.0"}, state: v1alpha1.StateBlocked, stalled: true, blocker: "AddonDefinition/a",
				message: `it runs cluster 7, operator 12, which no version of "a" in the catalogue consists of; add that version to the AddonDefinition`,
			},
		},
		"the one that fails is named, not the ones that wait": {
			releases: []Observed{settledAt("operator", "12"), release("cluster", PhaseFailing, "2", ""), after(release("dashboard", PhaseWaiting, "1", ""), "cluster")},
			want:     decision{writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateFailed, message: "release cluster fails: Flux says so"},
		},
	} {
		t.Run(name, test.run(suite()))
	}
}

// Before anything is deployed an install may be begun anew for any other version, and that may be cut short, too.
func TestDecideFinishesAnInstallBegunAnew(t *testing.T) {
	t.Parallel()
	def := define("a", releases("operator", "cluster", "dashboard"), versions("1.0.0", "1.1.0", "1.2.0", "1.3.0"))
	for name, test := range map[string]decideCase{
		"for a later version":           {releases: []Observed{settledAt("operator", "1.2.0"), settledAt("cluster", "1.0.0")}},
		"for an earlier version":        {releases: []Observed{settledAt("operator", "1.0.0"), settledAt("cluster", "1.2.0")}},
		"for one version after another": {releases: []Observed{settledAt("operator", "1.2.0"), settledAt("cluster", "1.1.0"), settledAt("dashboard", "1.0.0")}},
	} {
		test.wanted = "1.3.0"
		test.want = decision{writes: "1.2.0", path: []string{"1.2.0", "1.3.0"}, state: v1alpha1.StateInstalling, message: "installing 1.2.0"}
		t.Run(name, test.run(def))
	}
}

func TestDecideLeavesSuspendedAlone(t *testing.T) {
	t.Parallel()
	suspended := func(version string) Observed {
		o := settledAt("a", version)
		o.SuspendedBy = "flux"
		return o
	}
	message := `HelmRelease a was suspended by "flux" and is left alone; resume it with: flux resume helmrelease a -n kurl-addons`
	for name, test := range map[string]decideCase{
		"at the wanted version": {releases: []Observed{suspended("1.2.0")}, want: decision{state: v1alpha1.StateSuspended, message: message, version: "1.2.0", blocker: "HelmRelease/a"}},
		"on the way": {releases: []Observed{suspended("1.0.0")}, want: decision{
			state: v1alpha1.StateSuspended, message: message, version: "1.0.0", blocker: "HelmRelease/a", path: []string{"1.1.1", "1.2.0"},
		}},
		"before anything is deployed": {releases: []Observed{{Name: "a", Phase: PhaseProgressing, AskedVersion: "1.2.0", SuspendedBy: "flux"}}, want: decision{
			state: v1alpha1.StateSuspended, message: message, blocker: "HelmRelease/a", path: []string{"1.2.0"},
		}},
		"where there is no way": {wanted: "1.0.0", releases: []Observed{suspended("1.2.0")}, want: decision{
			state: v1alpha1.StateSuspended, message: message, version: "1.2.0", blocker: "HelmRelease/a",
		}},
		"one of several": {releases: []Observed{settledAt("a", "1.0.0"), {Name: "z", Phase: PhaseSettled, SuspendedBy: "kubectl-edit"}}, want: decision{
			state: v1alpha1.StateSuspended, version: "1.0.0", blocker: "HelmRelease/z", path: []string{"1.1.1", "1.2.0"},
			message: `HelmRelease z was suspended by "kubectl-edit" and is left alone; resume it with: flux resume helmrelease z -n kurl-addons`,
		}},
		"when it should go": {absent: true, releases: []Observed{suspended("1.2.0")}, want: decision{
			state: v1alpha1.StateSuspended, version: "1.2.0", blocker: "HelmRelease/a",
			message: `HelmRelease a was suspended by "flux" and is not uninstalled while it is; resume it with: flux resume helmrelease a -n kurl-addons`,
		}},
	} {
		t.Run(name, test.run(minors()))
	}
}

// uninstalledAs is a release of which Flux says that it is done with it.
func uninstalledAs(how Uninstall, name string) Observed {
	observed := release(name, PhaseDeleting, "1", "")
	observed.Uninstall = how
	return observed
}

// retried was asked for another attempt, and has seen the given request last.
func retried(observed Observed, handled string) Observed {
	observed.Requested, observed.Handled = retryToken(observed), handled
	return observed
}

func suspended(observed Observed) Observed {
	observed.SuspendedBy = "flux"
	return observed
}

func TestDecideRemoval(t *testing.T) {
	t.Parallel()
	all := []Observed{settledAt("operator", "12"), after(settledAt("cluster", "2"), "operator"), after(settledAt("dashboard", "1"), "cluster")}
	for name, test := range map[string]decideCase{
		"from the last to the first": {releases: all, want: decision{
			deletes: []string{"dashboard"}, state: v1alpha1.StateRemoving, message: "uninstalling", version: "1.2.0",
		}},
		"one after the other": {releases: []Observed{all[0], all[1], after(release("dashboard", PhaseDeleting, "1", "1"), "cluster")}, want: decision{
			state: v1alpha1.StateRemoving, message: "uninstalling release dashboard: Flux says so", version: "1.2.0",
		}},
		"the next": {releases: all[:2], want: decision{deletes: []string{"cluster"}, state: v1alpha1.StateRemoving, message: "uninstalling"}},
		"the next once the last is uninstalled": {
			releases: []Observed{all[0], all[1], after(uninstalledAs(UninstallDone, "dashboard"), "cluster")},
			want:     decision{deletes: []string{"cluster"}, state: v1alpha1.StateRemoving, message: "uninstalling release dashboard: Flux says so"},
		},
		"gone once all are uninstalled": {
			releases: []Observed{uninstalledAs(UninstallDone, "cluster"), uninstalledAs(UninstallAssumed, "dashboard")},
			want:     decision{gone: true, state: v1alpha1.StateRemoving, message: "uninstalling release cluster: Flux says so"},
		},
		"a skipped uninstall is tried again": {
			releases: []Observed{uninstalledAs(UninstallSkipped, "cluster")},
			want:     decision{pokes: []string{"cluster"}, state: v1alpha1.StateRemoving, message: "uninstalling release cluster: Flux says so"},
		},
		"a skipped uninstall that was asked for again and not seen yet": {
			releases: []Observed{retried(uninstalledAs(UninstallSkipped, "cluster"), "")},
			want:     decision{state: v1alpha1.StateRemoving, message: "uninstalling release cluster: Flux says so"},
		},
		"a skipped uninstall that was skipped again": {
			releases: []Observed{retried(uninstalledAs(UninstallSkipped, "cluster"), retryToken(uninstalledAs(UninstallSkipped, "cluster")))},
			want:     decision{gone: true, state: v1alpha1.StateRemoving, message: "uninstalling release cluster: Flux says so"},
		},
		"suspended while it was to be uninstalled": {
			releases: []Observed{suspended(uninstalledAs(UninstallSkipped, "cluster"))},
			want: decision{
				state: v1alpha1.StateSuspended, blocker: "HelmRelease/cluster",
				message: `HelmRelease cluster was suspended by "flux" and is not uninstalled while it is; resume it with: flux resume helmrelease cluster -n kurl-addons`,
			},
		},
		"gone": {want: decision{gone: true, state: v1alpha1.StateRemoving, message: "uninstalling"}},
		"not before its dependents": {releases: all, dependents: []string{"b", "c"}, want: decision{
			state: v1alpha1.StateBlocked, version: "1.2.0", blocker: "Addon/b",
			message: `it stays until what depends on it is gone: b, c; remove those too, or put it back into spec.addons`,
		}},
		"without a definition": {undefined: "it has gone", releases: all, want: decision{
			state: v1alpha1.StateBlocked, blocker: "AddonDefinition/a", stalled: true,
			message: "it is not uninstalled: its AddonDefinition says what has to be checked first, and it has gone; " +
				"apply that AddonDefinition again (one without gates lets the add-on go)",
		}},
		"what the definition does not list any more": {releases: append(all[:3:3], settledAt("sidecar", "1")), want: decision{
			deletes: []string{"dashboard", "sidecar"}, state: v1alpha1.StateRemoving, message: "uninstalling", version: "1.2.0",
		}},
		"whatever fails": {releases: []Observed{release("operator", PhaseFailing, "12", "")}, want: decision{
			deletes: []string{"operator"}, state: v1alpha1.StateRemoving, message: "uninstalling",
		}},
	} {
		test.absent = true
		t.Run(name, test.run(suite()))
	}
}

func TestDecideNeverMovesAReleaseToAnotherChartOrNamespace(t *testing.T) {
	t.Parallel()
	def := define("a", versions("1.0.0", "1.2.0"))
	runs := settledAt("a", "1.0.0")
	runs.Chart, runs.TargetNamespace = def.Spec.Releases[0].Chart.Name, def.Spec.Releases[0].Namespace
	o := Observation{Addon: present("default", "a@1.0.0"), Definition: &def, Releases: byName(runs)}
	require.NotEmpty(t, Decide(o).Write)

	for name, change := range map[string]func(*Observed){
		"chart":     func(was *Observed) { was.Chart = "another" },
		"namespace": func(was *Observed) { was.TargetNamespace = "another" },
	} {
		was := runs
		change(&was)
		o.Releases = byName(was)
		d := Decide(o)
		assert.Empty(t, d.Write, name)
		require.NotNil(t, d.Hold, name)
		assert.Contains(t, d.Hold.Message, "take the change of the AddonDefinition back", name)
	}
}

func TestDecideForcesAwayAFailureThatIsOverOnce(t *testing.T) {
	t.Parallel()
	def := define("a", versions("1.0.0", "1.2.0"))
	stale := release("a", PhaseDegraded, "1.2.0", "1.2.0")
	stale.Stale = true
	o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(stale)}
	token := Decide(o).Force["a"]
	require.NotEmpty(t, token)

	stale.Requested = token
	o.Releases = byName(stale)
	assert.Empty(t, Decide(o).Force, "Flux has been told")

	stale.SuspendedBy = "kubectl-edit"
	stale.Requested = ""
	o.Releases = byName(stale)
	assert.Empty(t, Decide(o).Force, "a suspended release is left alone")
}

func TestDecidePokesOncePerState(t *testing.T) {
	t.Parallel()
	def := define("a", requires("b"), versions("1.0.0", "1.2.0"))
	waiting := release("a", PhaseWaiting, "1.2.0", "")
	waiting.DependsOn = []string{"b"}
	o := Observation{
		Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(waiting),
		Dependencies: []Dependency{on("1.0.0", release("b", PhaseProgressing, "1.0.0", ""))},
	}
	assert.Empty(t, Decide(o).Poke, "what it waits for has not settled")

	o.Dependencies = []Dependency{on("1.0.0", settledAt("b", "1.0.0"))}
	first := Decide(o).Poke["a"]
	require.NotEmpty(t, first, "it has settled")

	waiting.Requested = first
	o.Releases = byName(waiting)
	assert.Empty(t, Decide(o).Poke, "Flux has been told")

	again := settledAt("b", "1.0.0")
	again.Token = "another state"
	o.Dependencies = []Dependency{on("1.0.0", again)}
	second := Decide(o).Poke["a"]
	assert.NotEmpty(t, second, "it has settled anew")
	assert.NotEqual(t, first, second)

	waiting.Token = "another spec"
	o.Releases, o.Dependencies = byName(waiting), []Dependency{on("1.0.0", settledAt("b", "1.0.0"))}
	assert.NotEqual(t, first, Decide(o).Poke["a"], "it waits for another reason")

	waiting.SuspendedBy = "flux"
	o.Releases = byName(waiting)
	assert.Empty(t, Decide(o).Poke, "a suspended release is left alone")

	waiting.SuspendedBy, waiting.Phase = "", PhaseProgressing
	o.Releases = byName(waiting)
	assert.Empty(t, Decide(o).Poke, "it does not wait")

	waiting.Phase, waiting.AskedVersion, waiting.ChartVersion = PhaseWaiting, "1.0.0", "1.0.0"
	o.Releases = byName(waiting)
	held := Decide(o)
	require.NotNil(t, held.Hold, "the upgrade waits for the running version")
	assert.NotEmpty(t, held.Poke, "which waits for nothing any more")
}

// The chain of blockers leads from the nearest to the root cause.
func TestDecideNamesTheRootCause(t *testing.T) {
	t.Parallel()
	def := minors(requires("b"))
	dependency := on("2.0.0", settledAt("b", "1.0.0"))
	dependency.State = v1alpha1.StateBlocked
	dependency.BlockedBy = []v1alpha1.Blocker{{Kind: "Addon", Name: "c", Message: "Suspended"}, {Kind: "HelmRelease", Name: "c", Message: `suspended by "flux"`}}
	o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(settledAt("a", "1.1.1")), Dependencies: []Dependency{dependency}}
	d := Decide(o)
	s := Summarize(o, d)
	assert.Equal(t, append([]v1alpha1.Blocker{{Kind: "Addon", Name: "b", Message: "Blocked"}}, dependency.BlockedBy...), s.BlockedBy)
	s.BlockedBy[1].Message = "scribbled"
	assert.Equal(t, "Suspended", dependency.BlockedBy[0].Message, "the dependency's own chain is not touched")
}

func TestSummaryListsReleasesInOrder(t *testing.T) {
	t.Parallel()
	def := suite()
	o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(
		settledAt("aside", "1"), settledAt("cluster", "2"), Observed{Name: "operator", Namespace: "ns", Phase: PhaseFailing, ChartVersion: "11", Revision: 4, Message: "boom"},
	)}
	statuses := Summarize(o, Decide(o)).Releases
	assert.Equal(t, []v1alpha1.ReleaseStatus{
		{Name: "operator", Namespace: "ns", ChartVersion: "11", Revision: 4, Message: "boom"},
		{Name: "cluster", ChartVersion: "2", Ready: true},
		{Name: "aside", ChartVersion: "1", Ready: true},
	}, statuses)
}
