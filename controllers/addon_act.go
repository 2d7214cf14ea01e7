package controllers

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
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
	if err := r.ensureNamespace(ctx, release); err != nil {
		return err
	}
	repository := &sourcev1.HelmRepository{}
	if err := r.get(ctx, flux.RepositoryName(release.Repository), repository); err != nil {
		return err
	}
	if _, err := apply(ctx, r.Client, repository, flux.Repository(release.Repository)); err != nil {
		return err
	}
	if defaults := flux.Defaults(release); defaults != nil {
		live := &corev1.ConfigMap{}
		if err := r.get(ctx, defaults.Name, live); err != nil {
			return err
		}
		if _, err := apply(ctx, r.Client, live, defaults); err != nil {
			return err
		}
	}
	live := &helmv2.HelmRelease{}
	if err := r.get(ctx, release.Name, live); err != nil {
		return err
	}
	owner := addonOf(live)
	if taken := live.ResourceVersion != "" && owner != release.Addon; taken && (owner != "" || !o.Addon.Spec.Adopt) {
		return foreignError{release: release.Name, owner: owner}
	}
	release, err := r.Charts.prepare(ctx, live, o.Releases[release.Name].Phase == addons.PhaseSettled, release)
	if err != nil {
		return err
	}
	written, err := apply(ctx, r.Client, live, flux.HelmRelease(release))
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

// foreignError says that a HelmRelease of the wanted name is there, but not ours.
type foreignError struct{ release, owner string }

// Error says whose it is and what to do.
func (e foreignError) Error() string {
	whose := "was not made by this operator"
	if e.owner != "" {
		whose = fmt.Sprintf("belongs to add-on %q", e.owner)
	}
	return fmt.Sprintf("HelmRelease %s/%s is there already and %s: rename or remove it, or choose another release name in the AddonDefinition",
		v1alpha1.Namespace, e.release, whose)
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
