package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// observe gathers what a decision on an Addon rests on. It reads from the cache and changes nothing.
func (r *AddonReconciler) observe(ctx context.Context, addon *v1alpha1.Addon) (addons.Observation, error) {
	o := addons.Observation{Addon: addon, Kubernetes: r.Kubernetes.Current(ctx)}
	catalog, err := r.Catalog.Current(ctx)
	if err != nil {
		return o, err
	}
	if o.Definition, err = catalog.Get(addon.Name); err != nil {
		o.Problem = err.Error()
	}
	o.Digest = catalog.Digest(addon.Name)
	if o.Migrations, err = r.observeMigrations(ctx, addon.Name); err != nil {
		return o, err
	}
	if o.Releases, err = r.observeReleases(ctx, addon.Name); err != nil {
		return o, err
	}
	if o.Dependents, err = r.dependents(ctx, addon.Name, o.Releases); err != nil {
		return o, err
	}
	if addon.Spec.State == v1alpha1.Absent {
		if o.Leaving, err = r.leaving(ctx, o.Dependents); err != nil {
			return o, err
		}
	}
	if o.Definition == nil {
		return o, nil
	}
	if o.Needs, err = r.needs(ctx, catalog, addon.Name); err != nil {
		return o, err
	}
	o.Dependencies, err = r.dependencies(ctx, catalog, o.Definition)
	return o, err
}

// needs finds what other add-ons demand of the version of one.
func (r *AddonReconciler) needs(ctx context.Context, catalog addons.Catalog, name string) ([]addons.Need, error) {
	var needs []addons.Need
	for _, other := range catalog.Requiring(name) {
		releases, err := r.observeReleases(ctx, other.Name)
		if err != nil {
			return nil, err
		}
		needs = append(needs, addons.NeedsBy(other, releases, name)...)
	}
	return needs, nil
}

func (r *AddonReconciler) observeReleases(ctx context.Context, addon string) (map[string]addons.Observed, error) {
	var list helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{indexAddon: addon}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing HelmReleases of add-on %s: %w", addon, err)
	}
	observed := map[string]addons.Observed{}
	for i := range list.Items {
		release, err := r.observeRelease(ctx, &list.Items[i])
		if err != nil {
			return nil, err
		}
		observed[release.Name] = release
	}
	return observed, nil
}

func (r *AddonReconciler) observeRelease(ctx context.Context, hr *helmv2.HelmRelease) (addons.Observed, error) {
	sources, err := r.sources(ctx, hr)
	if err != nil {
		return addons.Observed{}, err
	}
	return r.onTime(ctx, flux.Observe(hr, sources))
}

// sources reads what a release's chart comes from.
func (r *AddonReconciler) sources(ctx context.Context, hr *helmv2.HelmRelease) (flux.Sources, error) {
	if hr.Spec.Chart == nil {
		return flux.Sources{}, nil
	}
	chart, repository := &sourcev1.HelmChart{}, &sourcev1.HelmRepository{}
	if err := r.get(ctx, hr.GetHelmChartName(), chart); err != nil {
		return flux.Sources{}, err
	}
	if err := r.get(ctx, hr.Spec.Chart.Spec.SourceRef.Name, repository); err != nil {
		return flux.Sources{}, err
	}
	return flux.Sources{Chart: found(chart), Repository: found(repository)}, nil
}

// liveReleases lists the HelmReleases of our namespace as the API server has them now: a cache may not have seen yet what came or went.
func (r *AddonReconciler) liveReleases(ctx context.Context) ([]helmv2.HelmRelease, error) {
	var list helmv2.HelmReleaseList
	if err := r.Live.List(ctx, &list, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return nil, fmt.Errorf("asking the API server for the HelmReleases in %s: %w", v1alpha1.Namespace, err)
	}
	return list.Items, nil
}

// get reads an object of the operator's namespace; one that is not there stays empty.
func (r *AddonReconciler) get(ctx context.Context, name string, into client.Object) error {
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}
	if err := r.Client.Get(ctx, key, into); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %T %s: %w", into, name, err)
	}
	return nil
}

// found turns the empty object that get leaves for one that is not there into nil.
func found[T any, P interface {
	*T
	client.Object
}](object P) P {
	if object.GetResourceVersion() == "" {
		return nil
	}
	return object
}

// dependents names the other add-ons with a release that waits for one of these.
func (r *AddonReconciler) dependents(ctx context.Context, addon string, releases map[string]addons.Observed) ([]string, error) {
	names := map[string]bool{}
	for release := range releases {
		var list helmv2.HelmReleaseList
		if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{indexDependsOn: release}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing what depends on release %s: %w", release, err)
		}
		for i := range list.Items {
			if other := addonOf(&list.Items[i]); other != "" && other != addon {
				names[other] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// leaving finds what holds those of some add-ons that are on their way out.
func (r *AddonReconciler) leaving(ctx context.Context, names []string) (map[string][]v1alpha1.Blocker, error) {
	held := map[string][]v1alpha1.Blocker{}
	for _, name := range names {
		addon := &v1alpha1.Addon{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, addon); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading Addon %s: %w", name, err)
		}
		if addon.Spec.State == v1alpha1.Absent {
			held[name] = addon.Status.BlockedBy
		}
	}
	return held, nil
}

func (r *AddonReconciler) dependencies(ctx context.Context, catalog addons.Catalog, def *v1alpha1.AddonDefinition) ([]addons.Dependency, error) {
	var list v1alpha1.AddonList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Addons: %w", err)
	}
	there := map[string]*v1alpha1.Addon{}
	for i := range list.Items {
		there[list.Items[i].Name] = &list.Items[i]
	}
	var result []addons.Dependency
	for _, name := range addons.Needs(def, catalog, there) {
		dependency := addons.Dependency{Name: name}
		if other := there[name]; other != nil {
			releases, err := r.observeReleases(ctx, name)
			if err != nil {
				return nil, err
			}
			dependency = describe(catalog, other, releases)
		}
		result = append(result, dependency)
	}
	return result, nil
}

func describe(catalog addons.Catalog, addon *v1alpha1.Addon, releases map[string]addons.Observed) addons.Dependency {
	def, err := catalog.Get(addon.Name)
	message := readyMessage(addon)
	if err != nil {
		message = err.Error()
	}
	return addons.Dependency{
		Name: addon.Name, Definition: def, Desired: addon.Spec.Version, Releases: releases,
		State: addon.Status.State, Message: message, BlockedBy: addon.Status.BlockedBy,
	}
}
