package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// report writes the Addon's status if it changed, and an event if its state did. News of mere progress may have to wait; the result
// then says how long.
func (r *AddonReconciler) report(ctx context.Context, o addons.Observation, d addons.Decision, actErr error) (ctrl.Result, error) {
	summary := addons.Summarize(o, d)
	if actErr != nil && !apierrors.IsConflict(actErr) {
		summary.State, summary.Stalled = v1alpha1.StateFailed, false
		summary.Message = actErr.Error()
	}
	summary.Message = oneLine(summary.Message)
	addon := o.Addon
	before := addon.DeepCopy()
	r.fill(&addon.Status, addon, summary)
	if apiequality.Semantic.DeepEqual(before.Status, addon.Status) {
		return ctrl.Result{}, nil
	}
	if delay := r.progress.hold(addon.UID, onlyWords(before.Status, addon.Status), r.Clock.Now()); delay > 0 {
		return ctrl.Result{RequeueAfter: delay}, nil
	}
	if err := r.Client.Status().Patch(ctx, addon, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status of Addon %s: %w", addon.Name, err)
	}
	if before.Status.State != addon.Status.State {
		r.announce(addon, summary)
	}
	return ctrl.Result{}, nil
}

func (r *AddonReconciler) fill(status *v1alpha1.AddonStatus, addon *v1alpha1.Addon, summary addons.Summary) {
	status.ObservedGeneration = addon.Generation
	status.LastHandledReconcileAt = addon.Annotations[meta.ReconcileRequestAnnotation]
	status.State = summary.State
	status.Version = summary.Version
	status.Path = summary.Path
	status.Releases = summary.Releases
	status.BlockedBy = r.since(status.BlockedBy, summary.BlockedBy)
	judge(summary).setConditions(&status.Conditions, addon.Generation)
}

// judge maps a state to kstatus: what moves by itself, Flux's retries included, is reconciling; what does not is stalled.
func judge(summary addons.Summary) verdict {
	v := verdict{reason: string(summary.State), message: summary.Message, stalled: summary.Stalled}
	switch summary.State {
	case v1alpha1.StateReady, v1alpha1.StateDegraded:
		v.ready = true
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

// announce makes an event of the states that people wait for or have to act on. The way there is in the status.
func (r *AddonReconciler) announce(addon *v1alpha1.Addon, summary addons.Summary) {
	kind := corev1.EventTypeWarning
	switch summary.State {
	case v1alpha1.StateFailed, v1alpha1.StateDegraded:
	case v1alpha1.StateReady, v1alpha1.StateSuspended:
		kind = corev1.EventTypeNormal
	default:
		if !summary.Stalled {
			return
		}
	}
	r.Events.Eventf(addon, nil, kind, string(summary.State), "Report", "%s", summary.Message)
}
