package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
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

	progress progress
}

// Reconcile does one pass for an Addon: observe, decide, act, report. It needs no memory of earlier passes.
func (r *AddonReconciler) Reconcile(ctx context.Context, addon *v1alpha1.Addon) (ctrl.Result, error) {
	observation, err := r.observe(ctx, addon)
	if err != nil {
		return ctrl.Result{}, err
	}
	decision := addons.Decide(observation)
	if decision.Gone {
		return settleError(r.forget(ctx, addon))
	}
	if addon.DeletionTimestamp != nil && addon.Spec.State != v1alpha1.Absent {
		return ctrl.Result{}, r.release(ctx, addon)
	}
	actErr := r.act(ctx, &observation, decision)
	result, err := r.report(ctx, observation, decision, actErr)
	return settleError(result, err, actErr)
}

// namespaceMetadata is an empty Namespace that is read and cached without its spec and status.
func namespaceMetadata(name string) *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}
