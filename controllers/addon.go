package controllers

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// AddonReconciler makes Flux objects of one Addon and reports what runs. Only it writes HelmReleases.
type AddonReconciler struct {
	// Client reads from the manager's cache, with the indexes of Setup, and writes to the API server.
	Client client.Client
	// Live reads from the API server itself. A cache may not have seen yet what a pass wrote a moment ago.
	Live       client.Reader
	Catalog    *Catalog
	Kubernetes *KubernetesVersion
	Events     events.EventRecorder
	Clock      clock.PassiveClock
	// Checks, Owners and Charts find out what decisions ask for.
	Checks *Checks
	Owners *Owners
	Charts *Charts
	// Census looks for what a removal leaves behind.
	Census *Census

	progress progress
}

// Reconcile does one pass for an Addon: observe, decide, act, report. It needs no memory of earlier passes.
func (r *AddonReconciler) Reconcile(ctx context.Context, addon *v1alpha1.Addon) (ctrl.Result, error) {
	observation, err := r.observe(ctx, addon)
	if err != nil {
		return ctrl.Result{}, err
	}
	if addon.DeletionTimestamp != nil && addon.Spec.State == v1alpha1.Present {
		return ctrl.Result{}, r.part(ctx, observation)
	}
	decision, again, actErr := r.decide(ctx, &observation)
	switch {
	case actErr != nil:
	case decision.Gone:
		return settleError(r.forget(ctx, observation))
	case decision.HandOver:
		return settleError(r.handOver(ctx, observation))
	default:
		actErr = r.act(ctx, &observation, decision)
	}
	result, err := r.report(ctx, observation, decision, actErr)
	result.RequeueAfter = sooner(sooner(result.RequeueAfter, again), r.nextDeadline(observation.Releases))
	return settleError(result, err, actErr)
}
