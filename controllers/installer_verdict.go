package controllers

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// verdict sums up an Installer. It is ready only if its spec makes sense, everything of it has been written, and every Addon says
// of its present spec that it is ready.
func (in intent) verdict(summaries []v1alpha1.AddonSummary) verdict {
	unready := in.unready(summaries)
	switch {
	case in.installer.DeletionTimestamp != nil && !addons.Confirmed(in.installer):
		return verdict{stalled: true, reason: v1alpha1.ReasonUnconfirmed, message: unconfirmed(in.installer)}
	case in.installer.DeletionTimestamp != nil:
		return verdict{reconciling: true, reason: v1alpha1.ReasonRemoving, message: "uninstalling its add-ons: " + strings.Join(unready, "; ")}
	case in.approval.Required != "":
		return verdict{stalled: true, reason: v1alpha1.ReasonApprovalRequired, message: in.approval.Required}
	case in.installer.Spec.Suspend && len(in.plan.Changes) > 0:
		return verdict{reason: v1alpha1.ReasonSuspended, message: fmt.Sprintf("spec.suspend holds back changes of: %s", in.changed())}
	case len(in.resolution.Problems) > 0:
		moving := in.moving(summaries)
		return verdict{reconciling: moving, stalled: !moving, reason: v1alpha1.ReasonInvalidSpec, message: strings.Join(problems(in), "; ")}
	case len(unready) > 0:
		moving := in.moving(summaries)
		reason := v1alpha1.ReasonProgressing
		if !moving || in.failing(summaries) {
			reason = v1alpha1.ReasonNotReady
		}
		return verdict{reconciling: moving, stalled: !moving, reason: reason, message: strings.Join(unready, "; ")}
	default:
		return verdict{ready: true, reason: v1alpha1.ReasonSucceeded, message: fmt.Sprintf("%d add-ons are ready", len(summaries))}
	}
}

// unconfirmed says how to go on from a deletion that got past the admission policies, or that they were not there for.
func unconfirmed(installer *v1alpha1.Installer) string {
	return fmt.Sprintf("it was deleted, but nobody confirmed that its add-ons are to go: nothing is uninstalled; confirm with: kubectl annotate installer %s %s=%s "+
		"(set spec.deletionPolicy to Orphan first to leave them running)", installer.Name, v1alpha1.AnnotationConfirmDelete, installer.Name)
}

// unready lists what keeps the Installer from being ready, in install order. What only waits for another add-on is counted, not
// listed: the others are the news.
func (in intent) unready(summaries []v1alpha1.AddonSummary) []string {
	var lines []string
	waiting := 0
	for _, summary := range summaries {
		switch {
		case in.ready(summary.Name):
		case in.waits(summary):
			waiting++
		case summary.State == v1alpha1.StateReady:
			lines = append(lines, in.stale(summary.Name))
		case summary.Message == "":
			lines = append(lines, fmt.Sprintf("%s is %s", summary.Name, summary.State))
		default:
			lines = append(lines, fmt.Sprintf("%s is %s (%s)", summary.Name, summary.State, summary.Message))
		}
	}
	lines = abridge(lines)
	if waiting > 0 {
		lines = append(lines, fmt.Sprintf("%d waiting for other add-ons", waiting))
	}
	return lines
}

// stale speaks of an add-on that has not heard yet that it is to change.
func (in intent) stale(name string) string {
	if addon := in.live[name]; addon != nil && addon.Spec.State != v1alpha1.Present {
		return name + " is about to be removed"
	}
	return name + " is about to change"
}

// waits says whether an add-on is held by nothing but another add-on.
func (in intent) waits(summary v1alpha1.AddonSummary) bool {
	addon := in.live[summary.Name]
	return summary.State == v1alpha1.StateBlocked && addon != nil && len(addon.Status.BlockedBy) > 0 && addon.Status.BlockedBy[0].Kind == v1alpha1.BlockerAddon
}

func (in intent) ready(name string) bool {
	addon := in.live[name]
	if addon == nil || addon.Spec.State == v1alpha1.Absent || addon.Status.ObservedGeneration != addon.Generation {
		return false
	}
	for _, change := range in.plan.Changes {
		if change.Addon == name {
			return false
		}
	}
	return apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionReady)
}

// moving says whether anything that is not ready will change by itself.
func (in intent) moving(summaries []v1alpha1.AddonSummary) bool {
	if len(in.plan.Due()) > 0 {
		return true
	}
	for _, summary := range summaries {
		if addon := in.live[summary.Name]; addon != nil && !in.ready(summary.Name) &&
			(addon.Status.ObservedGeneration != addon.Generation || apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionReconciling)) {
			return true
		}
	}
	return false
}

// failing says whether an add-on fails, or is held by something of its own.
func (in intent) failing(summaries []v1alpha1.AddonSummary) bool {
	for _, summary := range summaries {
		if summary.State == v1alpha1.StateFailed || summary.State == v1alpha1.StateBlocked && blocker(summary.BlockedBy) != "" {
			return true
		}
	}
	return false
}

func (in intent) changed() string {
	names := make([]string, 0, len(in.plan.Changes))
	for _, change := range in.plan.Changes {
		names = append(names, change.Addon)
	}
	return strings.Join(names, ", ")
}

// abridge keeps a list readable when it is long.
func abridge(lines []string) []string {
	const shown = 3
	if len(lines) <= shown {
		return lines
	}
	return append(lines[:shown:shown], fmt.Sprintf("and %d more", len(lines)-shown))
}
