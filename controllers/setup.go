// Package controllers is the shell around the pure core: it observes the cluster, lets the core decide, acts, and reports.
package controllers

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// addonWorkers is how many Addons are worked on at a time; a pass does a handful of short API calls.
	addonWorkers = 8
	// gatherDelay lets changes of many Addons at once lead to one pass of their Installer.
	gatherDelay = 200 * time.Millisecond
)

// Setup adds the indexes and controllers to a manager. Builtin are the definitions that come with the operator.
func Setup(ctx context.Context, mgr ctrl.Manager, builtin []v1alpha1.AddonDefinition) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("connecting to the API server's discovery: %w", err)
	}
	objects, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("connecting to the API server for metadata: %w", err)
	}
	census := &Census{Discovery: server, Metadata: objects, Clock: clock.RealClock{}}
	if err := metrics.Registry.Register(removals); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if err := metrics.Registry.Register(addonMetrics{reader: mgr.GetClient(), clock: clock.RealClock{}}); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	facts, err := NewFacts(mgr.GetConfig(), clock.RealClock{})
	if err != nil {
		return err
	}
	catalog := &Catalog{Reader: mgr.GetClient(), Builtin: builtin}
	kubernetes := &KubernetesVersion{Discovery: server, Clock: clock.RealClock{}}
	recorder := mgr.GetEventRecorder(v1alpha1.FieldManager)
	addon := &AddonReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Catalog: catalog, Kubernetes: kubernetes, Events: recorder, Clock: clock.RealClock{},
		Checks: &Checks{Facts: facts, Stability: &Stability{}, Clock: clock.RealClock{}},
		Owners: &Owners{Live: mgr.GetAPIReader(), Census: census, Clock: clock.RealClock{}},
		Charts: &Charts{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}},
		Census: census,
	}
	if err := addon.setup(mgr); err != nil {
		return fmt.Errorf("setting up the Addon controller: %w", err)
	}
	installer := &InstallerReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Catalog: catalog, Kubernetes: kubernetes, Events: recorder, Clock: clock.RealClock{}}
	if err := installer.setup(mgr); err != nil {
		return fmt.Errorf("setting up the Installer controller: %w", err)
	}
	escape := &EscapeReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	if err := escape.setup(mgr); err != nil {
		return fmt.Errorf("setting up the watch for lifted protection: %w", err)
	}
	return nil
}

func (r *AddonReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Addon{}, builder.WithPredicates(requested())).
		Watches(&v1alpha1.Addon{}, handler.EnqueueRequestsFromMapFunc(r.mapAddon)).
		Watches(&v1alpha1.AddonDefinition{}, handler.EnqueueRequestsFromMapFunc(r.mapDefinition)).
		Watches(&helmv2.HelmRelease{}, handler.EnqueueRequestsFromMapFunc(r.mapRelease)).
		Watches(&sourcev1.HelmChart{}, handler.EnqueueRequestsFromMapFunc(r.mapObject)).
		Watches(&v1alpha1.Migration{}, handler.EnqueueRequestsFromMapFunc(r.mapObject)).
		Watches(&sourcev1.HelmRepository{}, handler.EnqueueRequestsFromMapFunc(r.mapRepository), builder.WithPredicates(repositoryChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: addonWorkers}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

func (r *InstallerReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Installer{}, builder.WithPredicates(requested())).
		Watches(&v1alpha1.Installer{}, handler.EnqueueRequestsFromMapFunc(r.mapAll), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.AddonDefinition{}, handler.EnqueueRequestsFromMapFunc(r.mapAll)).
		Watches(&v1alpha1.Addon{}, gather(r.mapAddon)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// mapAll leads to every Installer: each may gain or lose an add-on by what another one lists.
func (r *InstallerReconciler) mapAll(ctx context.Context, _ client.Object) []reconcile.Request {
	var list v1alpha1.InstallerList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache fails only at shutdown
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Name))
	}
	return requests
}

// mapAddon leads to the Addon's Installer, and when the Addon has gone to every other one too.
func (r *InstallerReconciler) mapAddon(ctx context.Context, object client.Object) []reconcile.Request {
	addon, ok := object.(*v1alpha1.Addon)
	if !ok {
		return nil
	}
	if addon.DeletionTimestamp != nil {
		return r.mapAll(ctx, object)
	}
	return []reconcile.Request{request(addon.Spec.Installer)}
}

// gather asks for a pass a moment later, so that what changes together is seen together.
func gather(toRequests handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, object client.Object, q queue) {
		for _, request := range toRequests(ctx, object) {
			q.AddAfter(request, gatherDelay)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

// repositoryChanged lets through what matters to releases: not that an index was fetched once more.
func repositoryChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*sourcev1.HelmRepository)
		after, alsoOK := e.ObjectNew.(*sourcev1.HelmRepository)
		return !ok || !alsoOK || before.Generation != after.Generation ||
			!apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions)
	}}
}
