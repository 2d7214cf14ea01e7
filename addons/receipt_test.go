package addons

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestConcludeTellsTheTruth(t *testing.T) {
	const record = "secrets/ns/sh.helm.release.v1.app.v1"
	trace := func(uninstall Uninstall, change func(*Trace)) []Trace {
		trace := Trace{Name: "app", Namespace: "ns", Known: true, Uninstall: uninstall}
		if change != nil {
			change(&trace)
		}
		return []Trace{trace}
	}
	objects := func(t *Trace) { t.Objects = []string{"deployments/ns/app"} }
	for name, test := range map[string]struct {
		traces  Traces
		result  v1alpha1.Outcome
		says    []string // nothing means no message
		without string
		left    []string
	}{
		"never ran":   {result: v1alpha1.OutcomeRemoved},
		"uninstalled": {traces: Traces{Releases: trace(UninstallDone, nil)}, result: v1alpha1.OutcomeRemoved},
		"what an uninstall leaves on purpose does not count": {
			traces: Traces{Releases: trace(UninstallDone, nil), Kept: []string{"persistentvolumeclaims/ns/data-app-0", "customresourcedefinitions/apps.example.com"}},
			result: v1alpha1.OutcomeRemoved,
			left:   []string{"customresourcedefinitions/apps.example.com", "persistentvolumeclaims/ns/data-app-0"},
		},
		"skipped": {
			traces: Traces{Releases: trace(UninstallSkipped, func(t *Trace) { t.Storage = []string{record}; objects(t) })},
			result: v1alpha1.OutcomeOrphaned,
			says:   []string{"release app was not uninstalled", "ServiceAccount", "2 objects are left", "helm uninstall app -n ns"},
			left:   []string{"deployments/ns/app", record},
		},
		"skipped with nothing to be seen": {
			traces: Traces{Releases: trace(UninstallSkipped, nil)}, result: v1alpha1.OutcomeOrphaned, says: []string{"was not uninstalled"},
		},
		"deleted while suspended": {
			traces: Traces{Releases: trace(UninstallSkipped, func(t *Trace) { t.Suspended = true; t.Storage = []string{record} })},
			result: v1alpha1.OutcomeOrphaned,
			says:   []string{"suspended when it was deleted", "1 object is left", "helm uninstall app -n ns"},
			left:   []string{record},
		},
		"Helm's record was gone, and everything else too": {traces: Traces{Releases: trace(UninstallAssumed, nil)}, result: v1alpha1.OutcomeRemoved},
		"Helm's record was gone, and the objects are not": {
			traces:  Traces{Releases: trace(UninstallAssumed, objects)},
			result:  v1alpha1.OutcomeOrphaned,
			says:    []string{"found no Helm release app in namespace ns", "deployments/ns/app", "delete those"},
			without: "helm uninstall",
			left:    []string{"deployments/ns/app"},
		},
		"assumed, and not everything could be looked at": {
			traces: Traces{Releases: trace(UninstallAssumed, nil), Unseen: []Unseen{{Resource: "widgets.example.com", Forbidden: true}}},
			result: v1alpha1.OutcomeOrphaned,
			says:   []string{"was not seen", "widgets.example.com", `addons.kurl.sh/aggregate-to-facts: "true"`},
		},
		"proven, and other kinds could not be looked at": {
			traces: Traces{Releases: trace(UninstallDone, nil), Unseen: []Unseen{{Resource: "widgets.example.com", Forbidden: true}}}, result: v1alpha1.OutcomeRemoved,
		},
		"proven, and the kinds that it brought could not be looked at": {
			traces: Traces{Releases: trace(UninstallDone, nil), Kept: []string{"customresourcedefinitions/gadgets.example.com", "customresourcedefinitions/widgets.example.com"}, Unseen: []Unseen{{Resource: "widgets.example.com", Forbidden: true}, {Resource: "gadgets.example.com", Problem: "webhook away"}}},
			result: v1alpha1.OutcomeRemoved,
			says:   []string{"may not list widgets.example.com", "gadgets.example.com (webhook away)"},
			left:   []string{"customresourcedefinitions/gadgets.example.com", "customresourcedefinitions/widgets.example.com"},
		},
		"deleted past the operator, with everything there": {
			traces: Traces{Releases: trace(UninstallUnderway, func(t *Trace) { t.Known = false; t.Storage = []string{record} })},
			result: v1alpha1.OutcomeOrphaned,
			says:   []string{"HelmRelease app was deleted past the operator", "helm uninstall app -n ns"},
			left:   []string{record},
		},
		"deleted past the operator, with nothing left": {
			traces: Traces{Releases: trace(UninstallUnderway, func(t *Trace) { t.Known = false })}, result: v1alpha1.OutcomeRemoved,
		},
		"uninstalled, and Helm has it again": {
			traces: Traces{Releases: trace(UninstallDone, func(t *Trace) { t.Storage = []string{record} })},
			result: v1alpha1.OutcomeOrphaned, says: []string{"Helm still has it", "helm uninstall"}, left: []string{record},
		},
		"uninstalled, and something never finishes": {
			traces: Traces{Releases: trace(UninstallDone, func(t *Trace) { objects(t); t.Stuck = []string{"deployments/ns/app (held by example.com/slow)"} })},
			result: v1alpha1.OutcomeOrphaned, says: []string{"still being deleted", "held by example.com/slow"}, left: []string{"deployments/ns/app"},
		},
		"uninstalled, and something was left out": {
			traces: Traces{Releases: trace(UninstallDone, objects)},
			result: v1alpha1.OutcomeOrphaned, says: []string{"1 object is left: deployments/ns/app"}, left: []string{"deployments/ns/app"},
		},
		"a namespace that stays is left behind, and said why": {
			traces: Traces{
				Releases:   trace(UninstallDone, nil),
				Namespaces: []KeptNamespace{{Name: "ns", Holds: []string{"configmaps/ns/mine"}, Unseen: []string{"widgets.example.com"}}},
				Unseen:     []Unseen{{Resource: "widgets.example.com", Forbidden: true}, {Resource: "gadgets.example.com", Forbidden: true}},
			},
			result: v1alpha1.OutcomeRemoved,
			says: []string{
				"namespace ns was kept, since it holds configmaps/ns/mine and may hold widgets.example.com",
				`may not list widgets.example.com, and did not look there: allow it with a ClusterRole`,
			},
			left: []string{"namespaces/ns"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			receipt := Conclude(test.traces)
			assert.Equal(t, test.result, receipt.Result, receipt.Message)
			assert.Equal(t, test.left, receipt.LeftBehind)
			for _, text := range test.says {
				assert.Contains(t, receipt.Message, text)
			}
			if len(test.says) == 0 {
				assert.Empty(t, receipt.Message)
			}
			if test.without != "" {
				assert.NotContains(t, receipt.Message, test.without)
			}
		})
	}
}

func TestAReceiptNamesAtMostFiftyObjectsAndSaysHowManyMoreThereAre(t *testing.T) {
	var kept []string
	for i := range 73 {
		kept = append(kept, fmt.Sprintf("persistentvolumeclaims/ns/data-%02d", 72-i))
	}
	receipt := Conclude(Traces{Kept: append(kept, kept[0])})
	require.Len(t, receipt.LeftBehind, 50)
	assert.True(t, slices.IsSorted(receipt.LeftBehind))
	assert.Equal(t, "leftBehind names 50 objects, and there are 23 more", receipt.Message)
}

func TestASentenceNamesAFewObjects(t *testing.T) {
	assert.Equal(t, "Flux is done; waiting until this is gone too: a, b, c, d, e and 2 more", Awaited([]string{"g", "f", "e", "d", "c", "b", "a", "a"}))
}

func TestAHandOverIsOrphanedAndNamesWhatRunsOn(t *testing.T) {
	receipt := HandedOver([]string{"a", "b"}, []string{"namespaces/ns", "namespaces/ns", "helmrepositories/kurl-addons/charts"}, []string{"c"})
	assert.Equal(t, v1alpha1.OutcomeOrphaned, receipt.Result)
	assert.Equal(t, []string{"helmreleases/kurl-addons/a", "helmreleases/kurl-addons/b", "helmrepositories/kurl-addons/charts", "namespaces/ns"}, receipt.LeftBehind)
	assert.Contains(t, receipt.Message, "kubectl delete helmrelease -n kurl-addons a b")
	assert.Contains(t, receipt.Message, "ended it already: c")
}
