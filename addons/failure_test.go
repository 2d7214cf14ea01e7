package addons

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// overdue is a release that Flux is late with.
func overdue(o Observed) Observed {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	o.Deadline, o.Late = at, "Flux is away"
	return o.AsOf(at)
}

// At the end of a failure people read what runs, what is left of the attempt, and what to do.
func TestSummariesOfFailures(t *testing.T) {
	const again = "; Flux does not try again by itself: correct the values, ask for a newer version, or have it tried once more with: " +
		`kubectl annotate --overwrite addon a reconcile.fluxcd.io/requestedAt="$(date +%s)"`
	change := func(o Observed, apply func(*Observed)) Observed {
		apply(&o)
		return o
	}
	failing := release("a", PhaseFailing, "1.1.0", "1.0.0")
	for name, test := range map[string]struct {
		release Observed
		wanted  string
		state   v1alpha1.AddonState
		says    string
		stalled bool
	}{
		"retried": {release: failing, wanted: "1.1.0", state: v1alpha1.StateFailed, says: "release a fails: Flux says so"},
		"rolled back": {
			release: change(failing, func(o *Observed) { o.RolledBack, o.Stalled = true, true }), wanted: "1.1.0", state: v1alpha1.StateFailed, stalled: true,
			says: "release a fails: Flux says so; so chart 1.0.0 runs as before" + again,
		},
		"values rolled back": {
			release: change(release("a", PhaseFailing, "1.0.0", "1.0.0"), func(o *Observed) { o.RolledBack, o.Stalled = true, true }), wanted: "1.0.0",
			state: v1alpha1.StateFailed, stalled: true, says: "release a fails: Flux says so; so chart 1.0.0 runs with its earlier values" + again,
		},
		"with new CRDs": {
			release: change(failing, func(o *Observed) { o.NewCRDs = []string{"a.example.com", "b.example.com"} }), wanted: "1.1.0", state: v1alpha1.StateFailed,
			says: "release a fails: Flux says so; its CRDs are those of chart 1.1.0 all the same, since CRDs do not roll back: a.example.com, b.example.com",
		},
		"at a hop": {
			release: change(failing, func(o *Observed) { o.RolledBack, o.Stalled = true, true }), wanted: "1.2.0", state: v1alpha1.StateFailed, stalled: true,
			says: "release a fails: Flux says so; so chart 1.0.0 runs as before" + again,
		},
		"overdue": {
			release: overdue(release("a", PhaseProgressing, "1.1.0", "1.0.0")), wanted: "1.1.0", state: v1alpha1.StateFailed,
			says: "release a gets nowhere: Flux is away",
		},
		"overdue before a hop": {
			release: overdue(release("a", PhaseProgressing, "1.0.0", "1.0.0")), wanted: "1.1.0", state: v1alpha1.StateFailed,
			says: "the upgrade to 1.1.0 waits until 1.0.0 has settled: release a: Flux is away",
		},
	} {
		t.Run(name, func(t *testing.T) {
			def := define("a", versions("1.0.0", "1.1.0", "1.2.0"))
			o := Observation{
				Addon: present("default", "a@"+test.wanted), Definition: &def, Releases: map[string]Observed{"a": test.release},
				Charts: map[string]ChartFinding{"a": {}},
			}
			got := Summarize(o, Decide(o))
			assert.Equal(t, test.state, got.State)
			assert.Equal(t, test.says, got.Message)
			assert.Equal(t, test.stalled, got.Stalled)
		})
	}
}

func TestARemovalSaysThatFluxIsLate(t *testing.T) {
	def := define("a")
	o := Observation{Addon: present("default", "a@1.0.0"), Definition: &def, Releases: map[string]Observed{"a": overdue(release("a", PhaseDeleting, "1.0.0", "1.0.0"))}}
	o.Addon.Spec.State = v1alpha1.Absent
	got := Summarize(o, Decide(o))
	assert.Equal(t, v1alpha1.StateRemoving, got.State)
	assert.Equal(t, "uninstalling release a: Flux is away", got.Message)
}

// What Flux is late with may need another spec, as a source that somebody suspended.
func TestAnOverdueReleaseIsWrittenAnew(t *testing.T) {
	def := define("a", versions("1.0.0", "1.1.0"))
	o := Observation{Addon: present("default", "a@1.1.0"), Definition: &def, Releases: map[string]Observed{"a": release("a", PhaseProgressing, "1.0.0", "1.0.0")}}
	assert.Empty(t, Decide(o).Version)
	o.Releases["a"] = overdue(o.Releases["a"])
	assert.Equal(t, "1.0.0", Decide(o).Version)
}
