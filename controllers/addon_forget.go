package controllers

import (
	"context"
	"fmt"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// forget cleans up after the last release of an add-on has gone: its defaults, the chart sources that nobody else uses, and at the end
// the Addon itself, so that a pass that dies before is simply repeated.
func (r *AddonReconciler) forget(ctx context.Context, addon *v1alpha1.Addon) (ctrl.Result, error) {
	if left, err := r.anyLeft(ctx, addon.Name); err != nil || left {
		return ctrl.Result{RequeueAfter: conflictDelay}, err
	}
	return ctrl.Result{}, r.cleanUp(ctx, addon)
}

// anyLeft looks for HelmReleases of an add-on that the cache may not know yet.
func (r *AddonReconciler) anyLeft(ctx context.Context, addon string) (bool, error) {
	var releases helmv2.HelmReleaseList
	if err := r.Live.List(ctx, &releases, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return true, fmt.Errorf("looking for HelmReleases of add-on %s: %w", addon, err)
	}
	return slices.ContainsFunc(releases.Items, func(hr helmv2.HelmRelease) bool { return addonOf(&hr) == addon }), nil
}

func (r *AddonReconciler) cleanUp(ctx context.Context, addon *v1alpha1.Addon) error {
	var defaults corev1.ConfigMapList
	if err := r.Client.List(ctx, &defaults, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelAddon: addon.Name}); err != nil {
		return fmt.Errorf("listing the defaults of add-on %s: %w", addon.Name, err)
	}
	for i := range defaults.Items {
		if err := r.Client.Delete(ctx, &defaults.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting defaults %s: %w", defaults.Items[i].Name, err)
		}
	}
	if err := r.dropUnusedRepositories(ctx); err != nil {
		return err
	}
	if err := r.Client.Delete(ctx, addon); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Addon %s: %w", addon.Name, err)
	}
	if err := r.release(ctx, addon); err != nil {
		return err
	}
	r.progress.forget(addon.UID)
	r.Events.Eventf(addon, nil, corev1.EventTypeNormal, string(v1alpha1.OutcomeRemoved), "Remove", "add-on %s was uninstalled", addon.Name)
	return nil
}

// release lets an Addon go. One that is deleted by hand while it is wanted goes alone: its releases stay, and the Installer
// makes it anew.
func (r *AddonReconciler) release(ctx context.Context, addon *v1alpha1.Addon) error {
	before := addon.DeepCopy()
	if !controllerutil.RemoveFinalizer(addon, v1alpha1.FinalizerUninstall) {
		return nil
	}
	logf.FromContext(ctx).Info("Releasing the Addon")
	if err := r.Client.Patch(ctx, addon, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing Addon %s: %w", addon.Name, err)
	}
	return nil
}

func (r *AddonReconciler) dropUnusedRepositories(ctx context.Context) error {
	var repositories sourcev1.HelmRepositoryList
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldManager}
	if err := r.Client.List(ctx, &repositories, client.InNamespace(v1alpha1.Namespace), ours); err != nil {
		return fmt.Errorf("listing HelmRepositories: %w", err)
	}
	for i := range repositories.Items {
		var users helmv2.HelmReleaseList
		name := repositories.Items[i].Name
		if err := r.Client.List(ctx, &users, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{indexRepository: name}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the users of HelmRepository %s: %w", name, err)
		}
		if len(users.Items) > 0 {
			continue
		}
		if err := r.Client.Delete(ctx, &repositories.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting HelmRepository %s: %w", name, err)
		}
	}
	return nil
}
