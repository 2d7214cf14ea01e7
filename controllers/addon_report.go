package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// report writes the Addon's status if it changed, and an event if its state did. News of mere progress may have to wait; the result
// then says how long.
func (r *AddonReconciler) report(ctx context.Context, o addons.Observation, d addons.Decision, actErr error) (ctrl.Result, error) {
	if err := r.nameNewCRDs(ctx, o.Releases); err != nil {
		return ctrl.Result{}, err
	}
	summary := addons.Summarize(o, d)
	if actErr != nil && !apierrors.IsConflict(actErr) {
		summary.State, summary.Stalled = v1alpha1.StateFailed, false
		summary.Message = actErr.Error()
	}
	summary.Message = oneLine(summary.Message)
	addon := o.Addon
	before := addon.DeepCopy()
	r.fill(&addon.Status, addon, summary)
	if actErr == nil { // or else it has not been passed on yet
		addon.Status.LastHandledReconcileAt = addon.Annotations[meta.ReconcileRequestAnnotation]
	}
	if apiequality.Semantic.DeepEqual(before.Status, addon.Status) {
		return ctrl.Result{}, nil
	}
	if delay := r.progress.hold(addon.UID, onlyWords(before.Status, addon.Status), r.Clock.Now()); delay > 0 {
		return ctrl.Result{RequeueAfter: delay}, nil
	}
	if err := r.Client.Status().Patch(ctx, addon, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status of Addon %s: %w", addon.Name, err)
	}
	if before.Status.State != addon.Status.State || blocker(before.Status.BlockedBy) != blocker(addon.Status.BlockedBy) {
		r.announce(addon, summary)
	}
	return ctrl.Result{}, nil
}

func (r *AddonReconciler) fill(status *v1alpha1.AddonStatus, addon *v1alpha1.Addon, summary addons.Summary) {
	status.ObservedGeneration = addon.Generation
	status.State = summary.State
	status.Version = summary.Version
	status.Path = summary.Path
	status.Releases = summary.Releases
	status.BlockedBy = r.since(status.BlockedBy, summary.BlockedBy)
	status.Gates = r.gatesSince(status.Gates, summary.Gates)
	if summary.Good != nil {
		status.LastGood = summary.Good
	}
	version, why := retired(summary)
	setFound(status, v1alpha1.ConditionSupportedVersion, version, why)
	judge(summary).setConditions(&status.Conditions, addon.Generation)
	setFound(status, v1alpha1.ConditionGatesPassed, gatesPassed(summary), v1alpha1.ReasonNotPassed)
	setFound(status, v1alpha1.ConditionSupportedValues, summary.Values, v1alpha1.ReasonUntested)
	if summary.Health != nil || summary.Version == "" {
		setFound(status, v1alpha1.ConditionHealthy, summary.Health, v1alpha1.ReasonNotPassed)
	}
}

// retired is the finding on the version that runs, with the reason of its condition; none where it may run.
func retired(summary addons.Summary) (finding *addons.Finding, reason string) {
	switch {
	case summary.Retired == nil:
		return nil, ""
	case summary.Retired.Withdrawn:
		return &addons.Finding{Message: summary.Retired.Message}, v1alpha1.ReasonWithdrawn
	default:
		return &addons.Finding{Message: summary.Retired.Message}, v1alpha1.ReasonDeprecated
	}
}

// setFound writes a condition that says whether a finding is good, and the reason if it is not; none without a finding.
func setFound(status *v1alpha1.AddonStatus, kind string, finding *addons.Finding, reason string) {
	if finding == nil {
		apimeta.RemoveStatusCondition(&status.Conditions, kind)
		return
	}
	condition := metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPassed, Message: cmp.Or(oneLine(finding.Message), "every check passes"),
		ObservedGeneration: status.ObservedGeneration,
	}
	if !finding.Passed {
		condition.Status, condition.Reason = metav1.ConditionFalse, reason
	}
	apimeta.SetStatusCondition(&status.Conditions, condition)
}

func gatesPassed(summary addons.Summary) *addons.Finding {
	if len(summary.Gates) == 0 {
		return nil
	}
	for _, gate := range summary.Gates {
		if !gate.Passed {
			return &addons.Finding{Message: gate.Name + ": " + gate.Message}
		}
	}
	return &addons.Finding{Passed: true}
}

// gatesSince keeps the time at which a gate began to stand as it does.
func (r *AddonReconciler) gatesSince(before, now []v1alpha1.GateStatus) []v1alpha1.GateStatus {
	for i := range now {
		now[i].Since = &metav1.Time{Time: r.Clock.Now().Truncate(time.Second)}
		for _, old := range before {
			if old.Name == now[i].Name && old.Passed == now[i].Passed && old.Since != nil {
				now[i].Since = old.Since
			}
		}
	}
	return now
}

// judge maps a state to kstatus: what moves by itself, Flux's retries included, is reconciling; what does not is stalled.
func judge(summary addons.Summary) verdict {
	v := verdict{reason: string(summary.State), message: summary.Message, stalled: summary.Stalled}
	switch summary.State {
	case v1alpha1.StateReady, v1alpha1.StateDegraded:
		v.ready = summary.Health == nil || summary.Health.Passed
		v.reconciling = !v.ready
	case v1alpha1.StateSuspended:
	default:
		v.reconciling = !summary.Stalled
	}
	return v
}

// since keeps the time at which a blocker began to block.
func (r *AddonReconciler) since(before, now []v1alpha1.Blocker) []v1alpha1.Blocker {
	blockers := slices.Clone(now)
	for i := range blockers {
		known := slices.IndexFunc(before, func(b v1alpha1.Blocker) bool { return b.Kind == blockers[i].Kind && b.Name == blockers[i].Name })
		switch {
		case known >= 0:
			blockers[i].Since = before[known].Since
		case blockers[i].Since == nil:
			blockers[i].Since = &metav1.Time{Time: r.Clock.Now().Truncate(time.Second)}
		}
	}
	return blockers
}

// announce makes an event of the states that people wait for or have to act on, and of what blocks an add-on by itself: what only waits
// for another add-on has its news there. The way there is in the status.
func (r *AddonReconciler) announce(addon *v1alpha1.Addon, summary addons.Summary) {
	kind := corev1.EventTypeWarning
	switch summary.State {
	case v1alpha1.StateFailed, v1alpha1.StateDegraded:
	case v1alpha1.StateReady, v1alpha1.StateSuspended:
		kind = corev1.EventTypeNormal
	case v1alpha1.StateInstalling, v1alpha1.StateUpgrading:
		return // it is on its way, and so are its health checks
	default:
		if !summary.Stalled && blocker(summary.BlockedBy) == "" {
			return
		}
	}
	r.Events.Eventf(addon, nil, kind, string(summary.State), "Report", "%s", summary.Message)
}

// blocker names what blocks an add-on by itself; empty when nothing does, or another add-on.
func blocker(chain []v1alpha1.Blocker) string {
	if len(chain) == 0 || chain[0].Kind == v1alpha1.BlockerAddon {
		return ""
	}
	return chain[0].Kind + "/" + chain[0].Name
}
