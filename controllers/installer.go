package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// InstallerReconciler turns an Installer into Addons. It runs one pass at a time, so that two Installers cannot both take an
// add-on.
type InstallerReconciler struct {
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

// intent is what one pass has made of an Installer.
type intent struct {
	installer  *v1alpha1.Installer
	world      addons.World
	live       map[string]*v1alpha1.Addon // all there are, by name
	resolution addons.Resolution
	plan       addons.Plan
	approval   addons.Approval
}

// heldBack says whether the plan waits for a person.
func (in intent) heldBack() bool {
	return in.approval.Required != "" || in.installer.Spec.Suspend && in.installer.DeletionTimestamp == nil
}

// owned lists the Installer's own Addons.
func (in intent) owned() []*v1alpha1.Addon {
	var ours []*v1alpha1.Addon
	for _, addon := range in.world.Addons {
		if addon.Spec.Installer == in.installer.Name {
			ours = append(ours, addon)
		}
	}
	return ours
}

// Reconcile does one pass for an Installer: observe, resolve, plan, apply, report.
func (r *InstallerReconciler) Reconcile(ctx context.Context, installer *v1alpha1.Installer) (ctrl.Result, error) {
	world, running, err := r.observe(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	in := intent{installer: installer, world: world, live: map[string]*v1alpha1.Addon{}, resolution: addons.Resolve(world, installer)}
	for _, addon := range world.Addons {
		if addon.ResourceVersion != "" { // it is really there
			in.live[addon.Name] = addon
		}
	}
	if installer.DeletionTimestamp != nil && len(in.owned()) == 0 {
		return r.release(ctx, installer)
	}
	in.plan = addons.MakePlan(world, installer, in.resolution, running)
	if len(in.plan.Keeps) > 0 {
		return settleError(ctrl.Result{}, r.keep(ctx, in)) // the Addons that this changes bring the next pass
	}
	in.approval = addons.Approve(installer, in.plan)
	var applyErr error
	if !in.heldBack() {
		applyErr = r.apply(ctx, in)
	}
	if applyErr == nil {
		applyErr = r.passOn(ctx, in)
	}
	result, err := r.report(ctx, in, applyErr)
	return settleError(result, err, applyErr)
}

// observe gathers what an Installer is resolved against, and the version that each add-on runs at.
func (r *InstallerReconciler) observe(ctx context.Context) (addons.World, map[string]string, error) {
	world := addons.World{Kubernetes: r.Kubernetes.Current(ctx)}
	var err error
	if world.Catalog, err = r.Catalog.Current(ctx); err != nil {
		return world, nil, err
	}
	var installers v1alpha1.InstallerList
	if err := r.Client.List(ctx, &installers, client.UnsafeDisableDeepCopy); err != nil {
		return world, nil, fmt.Errorf("listing Installers: %w", err)
	}
	for i := range installers.Items {
		world.Installers = append(world.Installers, &installers.Items[i])
	}
	var list v1alpha1.AddonList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return world, nil, fmt.Errorf("listing Addons: %w", err)
	}
	for i := range list.Items {
		world.Addons = append(world.Addons, &list.Items[i])
	}
	releases, err := r.releases(ctx)
	if err != nil {
		return world, nil, err
	}
	running := map[string]string{}
	world.Asked = map[string]string{}
	for name, observed := range releases {
		if def, err := world.Catalog.Get(name); err == nil {
			running[name], world.Asked[name] = addons.RunningVersion(def, observed), addons.AskedVersion(def, observed)
		}
	}
	lost, err := r.lost(ctx, world.Addons, releases)
	world.Addons = append(world.Addons, lost...)
	return world, running, err
}

// releases lists the HelmReleases by add-on.
func (r *InstallerReconciler) releases(ctx context.Context) (map[string]map[string]addons.Observed, error) {
	var list helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing HelmReleases: %w", err)
	}
	observed := map[string]map[string]addons.Observed{}
	for i := range list.Items {
		if name := addonOf(&list.Items[i]); name != "" {
			if observed[name] == nil {
				observed[name] = map[string]addons.Observed{}
			}
			observed[name][list.Items[i].Name] = flux.Observe(&list.Items[i], flux.Sources{})
		}
	}
	return observed, nil
}

// lost stands in for Addons that somebody deleted past the operator, and of which HelmReleases are left that nobody would remove
// otherwise. It asks the API server: a cache may know of an Addon later than of its HelmReleases.
func (r *InstallerReconciler) lost(ctx context.Context, known []*v1alpha1.Addon, releases map[string]map[string]addons.Observed) ([]*v1alpha1.Addon, error) {
	there := map[string]bool{}
	for _, addon := range known {
		there[addon.Name] = true
	}
	var lost []*v1alpha1.Addon
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		if there[name] {
			continue
		}
		switch err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Addon{}); {
		case err == nil:
			continue
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("looking for Addon %s: %w", name, err)
		}
		held, err := r.firstHeld(ctx, releases[name])
		if err != nil {
			return nil, err
		}
		if held != nil {
			lost = append(lost, &v1alpha1.Addon{
				ObjectMeta: metav1.ObjectMeta{Name: name, UID: held.UID},
				Spec:       v1alpha1.AddonSpec{Installer: held.Labels[v1alpha1.LabelInstaller], Version: releases[name][held.Name].AskedVersion, State: v1alpha1.Present},
			})
		}
	}
	return lost, nil
}

// firstHeld is the first of some HelmReleases that carries our finalizer; nil if none does.
func (r *InstallerReconciler) firstHeld(ctx context.Context, releases map[string]addons.Observed) (*helmv2.HelmRelease, error) {
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		hr := &helmv2.HelmRelease{}
		if err := r.Live.Get(ctx, client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}, hr); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("looking for HelmRelease %s: %w", name, err)
		}
		if controllerutil.ContainsFinalizer(hr, v1alpha1.FinalizerUninstall) {
			return hr, nil
		}
	}
	return nil, nil
}

// release lets a deleted Installer go once none of its add-ons is left.
func (r *InstallerReconciler) release(ctx context.Context, installer *v1alpha1.Installer) (ctrl.Result, error) {
	var left v1alpha1.AddonList
	if err := r.Live.List(ctx, &left); err != nil {
		return ctrl.Result{}, fmt.Errorf("looking for Addons of Installer %s: %w", installer.Name, err)
	}
	if slices.ContainsFunc(left.Items, func(addon v1alpha1.Addon) bool { return addon.Spec.Installer == installer.Name }) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	before := installer.DeepCopy()
	if !controllerutil.RemoveFinalizer(installer, v1alpha1.FinalizerUninstall) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Patch(ctx, installer, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("releasing Installer %s: %w", installer.Name, err)
	}
	r.progress.forget(installer.UID)
	return ctrl.Result{}, nil
}
