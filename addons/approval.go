package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Approval says whether a plan may be carried out.
type Approval struct {
	// Required says what has to be approved, and how; empty when nothing has, or when it is approved.
	Required string
	// Record is to be kept in the Installer's status before anything of the plan is done, so that the rest of an approved plan needs no
	// second approval after a crash; nil when there is nothing to remember.
	Record *v1alpha1.ApprovedPlan
}

// Approve compares a plan with what a person approved: by its digest now, or, when it has been begun, change by change.
func Approve(installer *v1alpha1.Installer, plan Plan) Approval {
	if plan.Guarded == "" {
		return Approval{}
	}
	changes := changeDigests(installer, plan)
	record := installer.Status.Approved
	if record != nil && !slices.ContainsFunc(changes, func(change v1alpha1.ApprovedChange) bool { return !covers(record, change.Digest) }) {
		return Approval{Record: record}
	}
	if installer.Annotations[v1alpha1.AnnotationApprovedPlan] == plan.Digest {
		return Approval{Record: &v1alpha1.ApprovedPlan{Digest: plan.Digest, Changes: changes}}
	}
	return Approval{Required: fmt.Sprintf("%s; nothing is changed until that is approved with: kubectl annotate --overwrite installer %s %s=%s; or put them back into spec.addons",
		plan.Guarded, installer.Name, v1alpha1.AnnotationApprovedPlan, plan.Digest)}
}

// edition identifies a spec as it was written. What is approved is approved for one: a list that was put back, and loses the same add-ons
// again, is another, even if nobody saw the one between.
func edition(installer *v1alpha1.Installer) string {
	return fmt.Sprintf("%s/%d", installer.UID, installer.Generation)
}

// changeDigests identify each change by the Addon that it changes and by what it brings about, whatever runs by then.
func changeDigests(installer *v1alpha1.Installer, plan Plan) []v1alpha1.ApprovedChange {
	changes := make([]v1alpha1.ApprovedChange, 0, len(plan.Changes))
	for i := range plan.Changes {
		change := &plan.Changes[i]
		digest := digestOf(edition(installer), change.Addon, change.Of, change.Action, change.To, canonical(change.Spec))
		changes = append(changes, v1alpha1.ApprovedChange{Change: change.Change, Digest: digest})
	}
	return changes
}

func covers(record *v1alpha1.ApprovedPlan, digest string) bool {
	return slices.ContainsFunc(record.Changes, func(change v1alpha1.ApprovedChange) bool { return change.Digest == digest })
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
