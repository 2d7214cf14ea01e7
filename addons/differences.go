package addons

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// How many changes and differences a sentence lists.
const (
	shownChanges     = 8
	shownDifferences = 3
)

// differences says what a plan has that an approved one had not, and the other way round. What was done of the approved one is no
// difference.
func differences(approved *v1alpha1.ApprovedPlan, installer *v1alpha1.Installer, plan Plan) []string {
	var lines []string
	if approved.Generation != installer.Generation {
		lines = append(lines, "the spec was edited")
	}
	if approved.Kubernetes != plan.Kubernetes {
		lines = append(lines, fmt.Sprintf("Kubernetes was %s and is %s", cmp.Or(approved.Kubernetes, "unknown"), cmp.Or(plan.Kubernetes, "unknown")))
	}
	before := map[string]*v1alpha1.Change{}
	for i := range approved.Changes {
		before[approved.Changes[i].Change.Addon] = &approved.Changes[i].Change
	}
	for i := range plan.Changes {
		change := &plan.Changes[i].Change
		if old := before[change.Addon]; old != nil {
			lines = append(lines, changed(old, change)...)
		} else {
			lines = append(lines, "new: "+changeInWords(change))
		}
	}
	if len(lines) == 0 {
		lines = []string{"the Addons that it is about are not what they were"}
	}
	return lines
}

// changed says how a change of an add-on differs from an earlier one.
func changed(before, now *v1alpha1.Change) []string {
	var lines []string
	if before.Definition != now.Definition {
		lines = append(lines, fmt.Sprintf("the AddonDefinition of %s has changed", now.Addon))
	}
	goesOn := before.From != now.From && isRest(now.Path, before.Path) // of what was approved
	if before.Action != now.Action || before.To != now.To || !goesOn && !slices.Equal(before.Path, now.Path) {
		lines = append(lines, fmt.Sprintf("%s is now %s", changeInWords(before), changeInWords(now)))
	}
	return lines
}

// isRest says whether a path is what is left of another one.
func isRest(path, whole []string) bool {
	return len(path) <= len(whole) && slices.Equal(path, whole[len(whole)-len(path):])
}
