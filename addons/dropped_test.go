package addons

import (
	"testing"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestDecideHopToAVersionThatLeftTheCatalogue(t *testing.T) {
	t.Parallel()
	on := func(phase Phase, asked string) []Observed {
		o := release("a", phase, asked, "1.0.0")
		o.AskedByUs = true
		return []Observed{o}
	}
	left := func(chart string) string {
		return "the upgrade to a " + chart + ` has begun and is finished first (release a: Flux says so), although no version of "a" in the catalogue consists of that any more; add that version to the AddonDefinition`
	}
	skipped, recharted := upgradeFrom("1.2.0", ">=1.0.0"), charted("1.2.0", map[string]string{"a": "1.0.6"})
	for name, test := range map[string]struct {
		edits []edit
		decideCase
	}{
		"is not taken back": {decideCase: decideCase{releases: on(PhaseProgressing, "1.0.5"), want: decision{
			state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a", message: left("1.0.5"),
		}}},
		"is not overtaken": {edits: []edit{skipped}, decideCase: decideCase{releases: on(PhaseProgressing, "1.0.5"), want: decision{
			state: v1alpha1.StateUpgrading, version: "1.0.0", blocker: "Addon/a", message: left("1.0.5"),
		}}},
		"is overtaken when it fails": {edits: []edit{skipped}, decideCase: decideCase{releases: on(PhaseFailing, "1.0.5"), want: decision{
			writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateFailed, version: "1.0.0", message: "release a fails: Flux says so",
		}}},
		"is overtaken by its version's new chart when it fails": {edits: []edit{skipped, recharted}, decideCase: decideCase{releases: on(PhaseFailing, "1.0.5"), want: decision{
			writes: "1.2.0", path: []string{"1.2.0"}, state: v1alpha1.StateFailed, version: "1.0.0", message: "release a fails: Flux says so",
		}}},
		"is not overtaken by an older chart": {edits: []edit{skipped, recharted}, decideCase: decideCase{releases: on(PhaseFailing, "1.0.7"), want: decision{
			state: v1alpha1.StateFailed, version: "1.0.0", blocker: "Addon/a", message: left("1.0.7"),
		}}},
		"is not overtaken where no way leads on": {edits: []edit{upgradeFrom("1.2.0", ">=1.3.0")}, decideCase: decideCase{releases: on(PhaseFailing, "1.0.5"), want: decision{
			state: v1alpha1.StateFailed, version: "1.0.0", blocker: "Addon/a", message: left("1.0.5"),
		}}},
		"is not taken back where that is wanted": {decideCase: decideCase{wanted: "1.0.0", releases: on(PhaseFailing, "1.0.5"), want: decision{
			state: v1alpha1.StateFailed, version: "1.0.0", blocker: "Addon/a", message: left("1.0.5"),
		}}},
	} {
		t.Run(name, test.run(minors(test.edits...)))
	}
}
