package controllers

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// act carries out a decision, and keeps the observation true to what it wrote. The first failure ends it: what is left is done
// in the next pass.
func (r *AddonReconciler) act(ctx context.Context, o *addons.Observation, d addons.Decision) error {
	for _, name := range d.LetGo {
		if err := r.letGo(ctx, name); err != nil {
			return err
		}
	}
	if err := r.beginMigration(ctx, o.Addon.Name, d.Migrate); err != nil {
		return err
	}
	for i := range d.Write {
		if o.Releases[d.Write[i].Name].Phase == addons.PhaseDeleting {
			continue // it is written anew once Flux is done with the old one
		}
		if err := r.writeRelease(ctx, o, d.Write[i]); err != nil {
			return err
		}
	}
	if len(d.Delete) > 0 {
		if err := r.confirm(ctx, o); err != nil {
			return err
		}
	}
	for _, name := range d.Delete {
		if err := r.deleteRelease(ctx, name); err != nil {
			return err
		}
	}
	return r.prompt(ctx, o, d)
}

// writeRelease writes what the HelmRelease refers to first: Flux backs off exponentially from references that are not there.
func (r *AddonReconciler) writeRelease(ctx context.Context, o *addons.Observation, release addons.Release) error {
	if err := r.writeReferences(ctx, release); err != nil {
		return err
	}
	live := &helmv2.HelmRelease{}
	if err := r.get(ctx, release.Name, live); err != nil {
		return err
	}
	if foreign := found(live) != nil && addonOf(live) != release.Addon; foreign && (addonOf(live) != "" || !o.Addon.Spec.Adopt) {
		return changedMeanwhile("helmreleases", release.Name) // it was not there when the decision was made
	}
	release, err := r.Charts.prepare(ctx, live, o.Releases[release.Name].Phase == addons.PhaseSettled, release)
	if err != nil {
		return err
	}
	desired := flux.HelmRelease(release)
	flux.Remember(desired, live)
	written, err := apply(ctx, r.Client, live, desired)
	if err != nil {
		return err
	}
	observed, err := r.observeRelease(ctx, written)
	o.Releases[release.Name] = observed
	if err != nil || observed.Phase != addons.PhaseSettled {
		return err
	}
	if err := r.Charts.cleanUp(ctx, release.Addon, release.Name); err != nil {
		return err
	}
	return r.dropOldDefaults(ctx, release)
}

// writeReferences writes the namespace, the HelmRepository and the default values of a release.
func (r *AddonReconciler) writeReferences(ctx context.Context, release addons.Release) error {
	if err := r.ensureNamespace(ctx, release); err != nil {
		return err
	}
	if _, err := ensure(ctx, r.Client, flux.Repository(release.Repository)); err != nil {
		return err
	}
	if defaults := flux.Defaults(release); defaults != nil {
		if _, err := ensure(ctx, r.Client, defaults); err != nil {
			return err
		}
	}
	return nil
}

// dropOldDefaults deletes the release's earlier defaults once it has settled on the present ones.
func (r *AddonReconciler) dropOldDefaults(ctx context.Context, release addons.Release) error {
	var list corev1.ConfigMapList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{indexRelease: release.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the defaults of release %s: %w", release.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].Name == flux.DefaultsName(release) && len(release.Defaults) > 0 {
			continue
		}
		if err := r.Client.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting old defaults %s: %w", list.Items[i].Name, err)
		}
	}
	return nil
}
