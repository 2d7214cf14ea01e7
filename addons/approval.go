package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Approval says whether a plan may be carried out.
type Approval struct {
	// Required says what has to be approved, and how; empty when nothing has, or when it is approved.
	Required string
	// Record is to be kept in the Installer's status before anything of the plan is done, so that the rest of an approved plan needs no
	// second approval after a crash; nil when there is nothing to remember. Where an approval is void, it tells what was approved.
	Record *v1alpha1.ApprovedPlan
	// Differences between what was approved last and a plan that is not, one a line.
	Differences []string
}

// Approve compares a plan with what a person approved: by its digest now, or, when it has been begun, change by change.
func Approve(installer *v1alpha1.Installer, plan Plan) Approval {
	why := needsApproval(installer, plan)
	if why == "" {
		return Approval{}
	}
	changes, record := approvable(installer, plan), installer.Status.Approved
	if record != nil && !slices.ContainsFunc(changes, func(change v1alpha1.ApprovedChange) bool { return !covers(record, change.Digest) }) {
		return Approval{Record: record}
	}
	word := installer.Annotations[v1alpha1.AnnotationApprovedPlan]
	if word == plan.Digest {
		return Approval{Record: &v1alpha1.ApprovedPlan{Digest: plan.Digest, Generation: installer.Generation, Kubernetes: plan.Kubernetes, Changes: changes}}
	}
	approval := Approval{Required: fmt.Sprintf("%s; nothing is changed until that is approved with: kubectl annotate --overwrite installer %s %s=%s",
		why, installer.Name, v1alpha1.AnnotationApprovedPlan, plan.Digest)}
	if plan.Guarded != "" {
		approval.Required += "; or put them back into spec.addons"
	}
	approval.Record = lastApproved(installer, word)
	switch {
	case approval.Record != nil:
		approval.Differences = differences(approval.Record, installer, plan)
		approval.Required = fmt.Sprintf("what was approved is void, since %s; %s", FirstClauses(approval.Differences, shownDifferences), approval.Required)
	case word != "":
		approval.Required = "the approval that is there is for another plan; " + approval.Required
	}
	return approval
}

// needsApproval says what of a plan has to be approved; empty when nothing has.
func needsApproval(installer *v1alpha1.Installer, plan Plan) string {
	if plan.Guarded != "" || installer.Spec.Approval != v1alpha1.ApprovalManual || installer.DeletionTimestamp != nil || len(plan.Changes) == 0 {
		return plan.Guarded
	}
	lines := make([]string, 0, len(plan.Changes))
	for i := range plan.Changes {
		lines = append(lines, changeInWords(&plan.Changes[i].Change))
	}
	return fmt.Sprintf("spec.approval is Manual, and this waits for it: %s", FirstClauses(lines, shownChanges))
}

// changeInWords is a change as a short phrase.
func changeInWords(change *v1alpha1.Change) string {
	words := strings.ToLower(string(change.Action)) + " " + change.Addon
	switch {
	case change.Action == v1alpha1.ActionUpgrade && len(change.Path) > 1:
		return fmt.Sprintf("%s %s", words, strings.Join(append([]string{change.From}, change.Path...), " → "))
	case change.Action == v1alpha1.ActionUpgrade && change.From != "":
		return fmt.Sprintf("%s %s → %s", words, change.From, change.To)
	case change.Action == v1alpha1.ActionUpgrade, change.Action == v1alpha1.ActionInstall:
		return words + " " + change.To
	default:
		return words
	}
}

// edition identifies a spec as it was written. What is approved is approved for one: a list that was put back, and loses the same add-ons
// again, is another, even if nobody saw the one between.
func edition(installer *v1alpha1.Installer) string {
	return fmt.Sprintf("%s/%d", installer.UID, installer.Generation)
}

// approvable lists the changes of a plan as they are approved. What identifies each is the Addon and what it is to become, whatever it is by
// then.
func approvable(installer *v1alpha1.Installer, plan Plan) []v1alpha1.ApprovedChange {
	changes := make([]v1alpha1.ApprovedChange, 0, len(plan.Changes))
	for i := range plan.Changes {
		change := v1alpha1.ApprovedChange{Change: plan.Changes[i].Change, Digest: digestOf(edition(installer), plan.Changes[i].Addon, canonical(plan.Changes[i].Spec))}
		change.Change.Waits = ""
		changes = append(changes, change)
	}
	return changes
}

func covers(record *v1alpha1.ApprovedPlan, digest string) bool {
	return slices.ContainsFunc(record.Changes, func(change v1alpha1.ApprovedChange) bool { return change.Digest == digest })
}

// lastApproved is the plan that a person's word was given for: the recorded one, or the one that was shown last, if it was overtaken before
// anything of it could be done. It is nil when the word is for neither.
func lastApproved(installer *v1alpha1.Installer, word string) *v1alpha1.ApprovedPlan {
	if record := installer.Status.Approved; record != nil && record.Digest == word {
		return record
	}
	shown := installer.Status.Plan
	if shown == nil || word == "" || shown.Digest != word {
		return nil
	}
	record := &v1alpha1.ApprovedPlan{Digest: word, Generation: installer.Status.ObservedGeneration, Kubernetes: shown.Kubernetes}
	for _, change := range shown.Changes {
		change.Waits = ""
		record.Changes = append(record.Changes, v1alpha1.ApprovedChange{Change: change})
	}
	return record
}

// guard says what of a plan is too much to be done without a person's approval: the removal of all of an Installer's add-ons, or of more
// than half of three or more. What is on its way out already counts, so that it cannot be had bit by bit, and what is handed over to
// another Installer does not. A deletion of the Installer was confirmed by itself.
func guard(world World, installer *v1alpha1.Installer, owners map[string]string, changes []PlannedChange) string {
	removes := slices.ContainsFunc(changes, func(change PlannedChange) bool { return change.Action == v1alpha1.ActionRemove })
	if installer.DeletionTimestamp != nil || !removes {
		return ""
	}
	var leaving []string
	all := 0
	for _, addon := range world.Addons {
		switch owner := owners[addon.Name]; {
		case addon.Spec.Installer != installer.Name:
		case owner == "":
			all, leaving = all+1, append(leaving, addon.Name)
		case owner == installer.Name:
			all++
		}
	}
	slices.Sort(leaving)
	switch gone := len(leaving); {
	case gone == all:
		return fmt.Sprintf("every add-on of Installer %s would be removed: %s", installer.Name, abridged(leaving))
	case all >= 3 && 2*gone > all:
		return fmt.Sprintf("%d of %d add-ons of Installer %s would be removed: %s", gone, all, installer.Name, abridged(leaving))
	default:
		return ""
	}
}

// Confirmed says whether the deletion of an Installer was meant.
func Confirmed(installer *v1alpha1.Installer) bool {
	return installer.Annotations[v1alpha1.AnnotationConfirmDelete] == installer.Name
}

// digestOf cannot fail: what it is given holds strings, and raw JSON that was parsed before. Map keys come out sorted.
func digestOf(parts ...any) string {
	text, _ := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
