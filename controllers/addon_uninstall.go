package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// confirm asks the API server itself, before anything is uninstalled, whether that is still wanted and nothing has come to depend on it:
// a cache may lag behind somebody who has just put the add-on back. If so, the pass starts again.
func (r *AddonReconciler) confirm(ctx context.Context, o *addons.Observation) error {
	if err := r.confirmSpec(ctx, o.Addon); err != nil {
		return err
	}
	releases, err := r.liveReleases(ctx)
	if err != nil {
		return err
	}
	for i := range releases {
		other := addonOf(&releases[i])
		needs := slices.ContainsFunc(dependsOn(&releases[i]), func(name string) bool { _, ours := o.Releases[name]; return ours })
		if needs && other != "" && other != o.Addon.Name && !slices.Contains(o.Dependents, other) {
			return changedMeanwhile("helmreleases", releases[i].Name)
		}
	}
	return nil
}

// confirmSpec asks the API server itself whether an Addon is still to be what the pass has seen.
func (r *AddonReconciler) confirmSpec(ctx context.Context, addon *v1alpha1.Addon) error {
	live := &v1alpha1.Addon{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(addon), live); err != nil {
		return fmt.Errorf("confirming the removal of Addon %s: %w", addon.Name, err)
	}
	const word = v1alpha1.AnnotationAllowReplace
	if live.UID != addon.UID || live.Generation != addon.Generation || live.Annotations[word] != addon.Annotations[word] {
		return changedMeanwhile("addons", addon.Name)
	}
	return nil
}

func changedMeanwhile(resource, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: resource}, name, errors.New("it changed in the meantime"))
}

// deleteRelease deletes a HelmRelease exactly as it was observed: had somebody changed it since, the pass would start again.
func (r *AddonReconciler) deleteRelease(ctx context.Context, name string) error {
	live := &helmv2.HelmRelease{}
	if err := r.get(ctx, name, live); err != nil || live.ResourceVersion == "" {
		return err
	}
	if live.Spec.Suspend {
		return changedMeanwhile("helmreleases", name)
	}
	if !slices.Contains(live.Finalizers, v1alpha1.FinalizerUninstall) {
		return r.holdRelease(ctx, live)
	}
	logf.FromContext(ctx).Info("Uninstalling", "release", name)
	preconditions := client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
	if err := r.Client.Delete(ctx, live, preconditions); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting HelmRelease %s: %w", name, err)
	}
	return nil
}

// holdRelease puts our finalizer on a HelmRelease that lost it, or was made by an operator that set none. It is deleted in the next pass.
func (r *AddonReconciler) holdRelease(ctx context.Context, live *helmv2.HelmRelease) error {
	held := live.DeepCopy()
	controllerutil.AddFinalizer(held, v1alpha1.FinalizerUninstall)
	if err := r.Client.Patch(ctx, held, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("adding the finalizer to HelmRelease %s: %w", live.Name, err)
	}
	return nil
}

// letGo takes our finalizer off a HelmRelease that is being deleted and that Flux is done with.
func (r *AddonReconciler) letGo(ctx context.Context, name string) error {
	live := &helmv2.HelmRelease{}
	if err := r.get(ctx, name, live); err != nil || live.ResourceVersion == "" {
		return err
	}
	released := live.DeepCopy()
	if !controllerutil.RemoveFinalizer(released, v1alpha1.FinalizerUninstall) {
		return nil
	}
	logf.FromContext(ctx).Info("Letting go", "release", name)
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, released, patch, client.FieldOwner(v1alpha1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of HelmRelease %s: %w", name, err)
	}
	return nil
}
