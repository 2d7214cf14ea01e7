package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// report writes the Installer's status if it changed, and an event if what it says of readiness did. News of mere progress may
// have to wait; the result then says how long.
func (r *InstallerReconciler) report(ctx context.Context, in intent, applyErr error) (ctrl.Result, error) {
	installer := in.installer
	before := installer.DeepCopy()
	status := &installer.Status
	status.ObservedGeneration = installer.Generation
	if applyErr == nil { // or else it has not been passed on yet
		status.LastHandledReconcileAt = installer.Annotations[meta.ReconcileRequestAnnotation]
	}
	status.Plan = plan(in)
	if in.heldBack() {
		status.Approved = in.approval.Record
	}
	status.Addons = r.since(status.Addons, summaries(in))
	apimeta.SetStatusCondition(&status.Conditions, resolvedCondition(in))
	in.setApproved(&status.Conditions)
	verdict := in.verdict(status.Addons)
	if applyErr != nil && !apierrors.IsConflict(applyErr) {
		verdict = failedToWrite(applyErr)
	}
	verdict.setConditions(&status.Conditions, installer.Generation)
	if apiequality.Semantic.DeepEqual(before.Status, installer.Status) {
		return ctrl.Result{}, nil
	}
	if delay := r.progress.hold(installer.UID, onlySummaries(before.Status, installer.Status), r.Clock.Now()); delay > 0 {
		return ctrl.Result{RequeueAfter: delay}, nil
	}
	if err := r.Client.Status().Patch(ctx, installer, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status of Installer %s: %w", installer.Name, err)
	}
	r.announce(before, verdict)
	return ctrl.Result{}, nil
}

func failedToWrite(err error) verdict {
	return verdict{reconciling: true, reason: v1alpha1.ReasonWriteFailed, message: err.Error()}
}

// announce makes an event when readiness changes, or its reason does.
func (r *InstallerReconciler) announce(before *v1alpha1.Installer, now verdict) {
	ready := apimeta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == now.reason {
		return
	}
	kind := corev1.EventTypeNormal
	if now.stalled {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(before, nil, kind, now.reason, "Report", "%s", now.message)
}

// plan lists the changes that wait for a person.
func plan(in intent) *v1alpha1.Plan {
	if !in.heldBack() || len(in.plan.Changes) == 0 {
		return nil
	}
	result := &v1alpha1.Plan{Digest: in.plan.Digest, Kubernetes: in.plan.Kubernetes, Differences: in.approval.Differences}
	for _, change := range in.plan.Changes {
		result.Changes = append(result.Changes, change.Change)
	}
	return result
}

func resolvedCondition(in intent) metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionResolved, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded,
		Message: "every add-on was found in a version that fits", ObservedGeneration: in.installer.Generation,
	}
	if messages := problems(in); len(messages) > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec
		condition.Message = strings.Join(messages, "; ")
	}
	return condition
}

// setApproved says how the approval of the plan stands; nothing while none is asked for.
func (in intent) setApproved(conditions *[]metav1.Condition) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionApproved, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApproved,
		Message: "the plan is approved and being carried out", ObservedGeneration: in.installer.Generation,
	}
	switch {
	case in.approval.Required != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired, in.approval.Required
	case in.approval.Record == nil:
		apimeta.RemoveStatusCondition(conditions, v1alpha1.ConditionApproved)
		return
	}
	apimeta.SetStatusCondition(conditions, condition)
}

func problems(in intent) []string {
	var messages []string
	for _, problem := range in.resolution.Problems {
		messages = append(messages, problem.Message)
	}
	return messages
}

// summaries lists the Installer's add-ons: resolved ones in install order, then those with problems, then those that are going.
func summaries(in intent) []v1alpha1.AddonSummary {
	var result []v1alpha1.AddonSummary
	listed := map[string]bool{}
	for _, resolved := range in.resolution.Addons {
		summary := in.summarize(resolved.Name)
		summary.DesiredVersion = resolved.Spec.Version
		if held := in.plan.Waits(resolved.Name); held != "" {
			summary.State, summary.Message = v1alpha1.StateBlocked, held
		}
		result, listed[resolved.Name] = append(result, summary), true
	}
	for _, problem := range in.resolution.Problems {
		summary := in.summarize(problem.Addon)
		if summary.State == v1alpha1.StatePending {
			summary.State = v1alpha1.StateBlocked
		}
		summary.Message = problem.Message
		result, listed[problem.Addon] = append(result, summary), true
	}
	for _, addon := range in.owned() {
		if !listed[addon.Name] {
			result = append(result, in.summarize(addon.Name))
		}
	}
	return result
}

// summarize speaks of an add-on of the Installer; one that belongs to another Installer counts as not there.
func (in intent) summarize(name string) v1alpha1.AddonSummary {
	summary, addon := v1alpha1.AddonSummary{Name: name, State: v1alpha1.StatePending}, in.live[name]
	if addon == nil || addon.Status.State == "" || addon.Spec.Installer != in.installer.Name {
		return summary
	}
	summary.State, summary.Version, summary.Path = addon.Status.State, addon.Status.Version, addon.Status.Path
	summary.Message, summary.BlockedBy = readyMessage(addon), addon.Status.BlockedBy
	return summary
}

// since keeps the time at which an add-on entered its state.
func (r *InstallerReconciler) since(before, now []v1alpha1.AddonSummary) []v1alpha1.AddonSummary {
	entered := map[string]v1alpha1.AddonSummary{}
	for _, summary := range before {
		entered[summary.Name] = summary
	}
	for i := range now {
		now[i].Since = &metav1.Time{Time: r.Clock.Now().Truncate(time.Second)}
		if old, known := entered[now[i].Name]; known && old.State == now[i].State {
			now[i].Since = old.Since
		}
	}
	return now
}
