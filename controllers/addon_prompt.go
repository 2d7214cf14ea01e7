package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// requestManager owns the annotations that ask for a pass, so that applying an object does not take them away.
const requestManager = v1alpha1.FieldManager + "-request"

// prompt makes Flux look at releases: those that a decision names, and all of them when a person asks for it.
func (r *AddonReconciler) prompt(ctx context.Context, o *addons.Observation, d addons.Decision) error {
	for _, name := range slices.Sorted(maps.Keys(d.Poke)) {
		annotations := map[string]string{meta.ReconcileRequestAnnotation: d.Poke[name]}
		if o.Releases[name].ResetLost {
			annotations[helmv2.ResetRequestAnnotation] = d.Poke[name]
		}
		if err := r.request(ctx, name, annotations); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Force)) {
		annotations := map[string]string{meta.ReconcileRequestAnnotation: d.Force[name], meta.ForceRequestAnnotation: d.Force[name]}
		if err := r.request(ctx, name, annotations); err != nil {
			return err
		}
	}
	if requested := o.Addon.Annotations[meta.ReconcileRequestAnnotation]; requested != "" && requested != o.Addon.Status.LastHandledReconcileAt {
		return r.startAfresh(ctx, o, requested)
	}
	return nil
}

// request asks Flux to look at a HelmRelease now.
func (r *AddonReconciler) request(ctx context.Context, release string, annotations map[string]string) error {
	return r.annotate(ctx, helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind), release, annotations)
}

// annotate changes annotations of an object of the operator's namespace, if it is there.
func (r *AddonReconciler) annotate(ctx context.Context, kind schema.GroupVersionKind, name string, annotations map[string]string) error {
	live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}}
	live.SetGroupVersionKind(kind)
	patch := client.MergeFrom(live.DeepCopy())
	live.Annotations = annotations
	logf.FromContext(ctx).Info("Asking Flux to look", "kind", kind.Kind, "name", name)
	if err := r.Client.Patch(ctx, live, patch, client.FieldOwner(requestManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("asking Flux to look at %s %s: %w", kind.Kind, name, err)
	}
	return nil
}

// startAfresh passes a person's request on to Flux, and resets what it counts as failed attempts. Flux fetches again what it needs for
// releases that have not settled: after a failure it would wait for up to a quarter of an hour.
func (r *AddonReconciler) startAfresh(ctx context.Context, o *addons.Observation, token string) error {
	for _, name := range slices.Sorted(maps.Keys(o.Releases)) {
		if o.Releases[name].SuspendedBy != "" {
			continue // Flux would take the token for handled without acting on it
		}
		if o.Releases[name].Phase != addons.PhaseSettled {
			if err := r.fetchAfresh(ctx, name, token); err != nil {
				return err
			}
		}
		annotations := map[string]string{meta.ReconcileRequestAnnotation: token, helmv2.ResetRequestAnnotation: token}
		if err := r.request(ctx, name, annotations); err != nil {
			return err
		}
	}
	return nil
}

// fetchAfresh asks for the index of a release's repository, and for its chart.
func (r *AddonReconciler) fetchAfresh(ctx context.Context, release, token string) error {
	live := &helmv2.HelmRelease{}
	if err := r.get(ctx, release, live); err != nil || live.Spec.Chart == nil {
		return err
	}
	annotations := map[string]string{meta.ReconcileRequestAnnotation: token}
	if err := r.annotate(ctx, sourcev1.GroupVersion.WithKind(sourcev1.HelmRepositoryKind), live.Spec.Chart.Spec.SourceRef.Name, annotations); err != nil {
		return err
	}
	return r.annotate(ctx, sourcev1.GroupVersion.WithKind(sourcev1.HelmChartKind), live.GetHelmChartName(), annotations)
}
