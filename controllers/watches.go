package controllers

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// The indexes of the cache, so that no pass has to look at every object.
const (
	indexAddon      = "addon"      // HelmReleases by the add-on that they belong to
	indexDependsOn  = "dependsOn"  // HelmReleases by the releases that they wait for
	indexRepository = "repository" // HelmReleases by the HelmRepository of their chart
	indexRelease    = "release"    // ConfigMaps by the release whose defaults they hold
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	by := func(key func(client.Object) string) client.IndexerFunc {
		return func(object client.Object) []string {
			if value := key(object); value != "" {
				return []string{value}
			}
			return nil
		}
	}
	for _, index := range []struct {
		kind  client.Object
		field string
		value client.IndexerFunc
	}{
		{&helmv2.HelmRelease{}, indexAddon, by(addonOf)},
		{&helmv2.HelmRelease{}, indexDependsOn, dependsOn},
		{&helmv2.HelmRelease{}, indexRepository, repositoryOf},
		{&corev1.ConfigMap{}, indexRelease, by(func(o client.Object) string { return o.GetLabels()[v1alpha1.LabelRelease] })},
	} {
		if err := indexer.IndexField(ctx, index.kind, index.field, index.value); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.kind, index.field, err)
		}
	}
	return nil
}

// addonOf names the add-on that an object was made for; empty for what is not ours. A HelmRelease says so in its chart template too,
// which counts: a label that somebody takes off or changes must not make us lose sight of what we installed.
func addonOf(object client.Object) string {
	if hr, ok := object.(*helmv2.HelmRelease); ok && hr.Spec.Chart != nil && hr.Spec.Chart.ObjectMeta != nil {
		if name := hr.Spec.Chart.ObjectMeta.Labels[v1alpha1.LabelAddon]; name != "" {
			return name
		}
	}
	return object.GetLabels()[v1alpha1.LabelAddon]
}

func dependsOn(object client.Object) []string {
	hr, ok := object.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(hr.Spec.DependsOn))
	for _, dependency := range hr.Spec.DependsOn {
		names = append(names, dependency.Name)
	}
	return names
}

func repositoryOf(object client.Object) []string {
	hr, ok := object.(*helmv2.HelmRelease)
	if !ok || hr.Spec.Chart == nil {
		return nil
	}
	return []string{hr.Spec.Chart.Spec.SourceRef.Name}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// mapRelease leads from a HelmRelease to its add-on, to those that wait for it, and to those on their way out that it depends
// on: they go once nothing does.
func (r *AddonReconciler) mapRelease(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.mapObject(ctx, object)
	requests = append(requests, r.requestsBy(ctx, indexDependsOn, object.GetName())...)
	return append(requests, r.leavingBelow(ctx, object)...)
}

// leavingBelow leads from a HelmRelease to the add-ons on their way out that it depends on.
func (r *AddonReconciler) leavingBelow(ctx context.Context, release client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range dependsOn(release) {
		var hr helmv2.HelmRelease
		var addon v1alpha1.Addon
		if r.get(ctx, name, &hr) != nil || r.Client.Get(ctx, client.ObjectKey{Name: addonOf(&hr)}, &addon) != nil {
			continue
		}
		if addon.Spec.State == v1alpha1.Absent {
			requests = append(requests, request(addon.Name))
		}
	}
	return requests
}

// mapObject leads from an object to the add-on that it was made for.
func (r *AddonReconciler) mapObject(_ context.Context, object client.Object) []reconcile.Request {
	if name := addonOf(object); name != "" {
		return []reconcile.Request{request(name)}
	}
	return nil
}

func (r *AddonReconciler) mapRepository(ctx context.Context, object client.Object) []reconcile.Request {
	return r.requestsBy(ctx, indexRepository, object.GetName())
}

// requestsBy asks for the add-ons of the HelmReleases under an index. It reads from the cache, which fails only at shutdown.
func (r *AddonReconciler) requestsBy(ctx context.Context, index, value string) []reconcile.Request {
	var list helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, r.mapObject(ctx, &list.Items[i])...)
	}
	return requests
}

// mapAddon leads from an Addon to those that need it, to those of which it needs certain versions, and to those on their way out that it
// needs: they pass on what it reports, and may wait for it to come, move or go.
func (r *AddonReconciler) mapAddon(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.mapDefinitions(ctx, func(def *v1alpha1.AddonDefinition, catalog addons.Catalog) bool {
		provider, err := catalog.Get(object.GetName())
		return err == nil && addons.MayNeed(def, provider)
	})
	if catalog, err := r.Catalog.Current(ctx); err == nil {
		if def, err := catalog.Get(object.GetName()); err == nil {
			for _, name := range addons.NeededVersions(def) {
				requests = append(requests, request(name))
			}
		}
	}
	var list helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{indexAddon: object.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return requests
	}
	for i := range list.Items {
		requests = append(requests, r.leavingBelow(ctx, &list.Items[i])...)
	}
	return requests
}

// mapDefinition leads from an AddonDefinition to every Addon: capabilities and order may change with it.
func (r *AddonReconciler) mapDefinition(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.mapDefinitions(ctx, func(*v1alpha1.AddonDefinition, addons.Catalog) bool { return true })
}

func (r *AddonReconciler) mapDefinitions(ctx context.Context, wanted func(*v1alpha1.AddonDefinition, addons.Catalog) bool) []reconcile.Request {
	var list v1alpha1.AddonList
	catalog, err := r.Catalog.Current(ctx)
	if err != nil || r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if def, err := catalog.Get(list.Items[i].Name); err != nil || wanted(def, catalog) {
			requests = append(requests, request(list.Items[i].Name))
		}
	}
	return requests
}

// requested lets through changes of the spec, deletions, and what people say by annotations: requests, approvals, confirmations.
func requested() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}
