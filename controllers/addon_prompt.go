package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: release}}
	live.SetGroupVersionKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind))
	patch := client.MergeFrom(live.DeepCopy())
	live.Annotations = annotations
	logf.FromContext(ctx).Info("Asking Flux to look at a release", "release", release)
	if err := r.Client.Patch(ctx, live, patch, client.FieldOwner(requestManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("asking Flux to look at HelmRelease %s: %w", release, err)
	}
	return nil
}

// startAfresh passes a person's request on to Flux, and resets what it counts as failed attempts.
func (r *AddonReconciler) startAfresh(ctx context.Context, o *addons.Observation, token string) error {
	for _, name := range slices.Sorted(maps.Keys(o.Releases)) {
		if o.Releases[name].SuspendedBy != "" {
			continue // Flux would take the token for handled without acting on it
		}
		annotations := map[string]string{meta.ReconcileRequestAnnotation: token, helmv2.ResetRequestAnnotation: token}
		if err := r.request(ctx, name, annotations); err != nil {
			return err
		}
	}
	return nil
}
