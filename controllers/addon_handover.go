package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// handOver leaves an add-on's HelmReleases to themselves, with all that they need, and ends the Addon. The receipt comes first: with the
// labels goes what tells whose the HelmReleases were. One that is being deleted cannot be left; where no other is there, it is a removal.
func (r *AddonReconciler) handOver(ctx context.Context, o addons.Observation) (ctrl.Result, error) {
	d, err := r.depart(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	running := d.running()
	if len(running) == 0 {
		return r.forget(ctx, o)
	}
	to, err := r.recipient(ctx, o.Addon)
	if err != nil {
		return ctrl.Result{}, err
	}
	if to.receipt == nil {
		if err := r.confirmSpec(ctx, o.Addon); err != nil {
			return ctrl.Result{}, err
		}
		receipt := handedOver(running, d.ended())
		receipt.Version = d.version
		if o.Definition != nil {
			receipt.Version = addons.RunningVersion(o.Definition, o.Releases)
		}
		if err := r.hand(ctx, o.Addon, &to, receipt); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.leave(ctx, d, running)
}

// running are the HelmReleases that go on: those of the add-on, and those that were its own until a pass that died took the labels off.
func (d *departure) running() []helmv2.HelmRelease {
	running := slices.DeleteFunc(slices.Clone(d.mine), func(hr helmv2.HelmRelease) bool { return hr.DeletionTimestamp != nil })
	for _, hr := range d.others {
		was := func(release v1alpha1.ReleaseStatus) bool { return release.Name == hr.Name }
		if addonOf(&hr) == "" && hr.DeletionTimestamp == nil && slices.ContainsFunc(d.addon.Status.Releases, was) {
			running = append(running, hr)
		}
	}
	return running
}

// ended names the add-on's HelmReleases that are being deleted.
func (d *departure) ended() []string {
	var names []string
	for i := range d.mine {
		if d.mine[i].DeletionTimestamp != nil {
			names = append(names, d.mine[i].Name)
		}
	}
	return names
}

// handedOver is the receipt for HelmReleases that go on.
func handedOver(running []helmv2.HelmRelease, ended []string) v1alpha1.Receipt {
	var names, needs []string
	for i := range running {
		hr := &running[i]
		names = append(names, hr.Name)
		needs = append(needs, "namespaces/"+hr.GetReleaseNamespace())
		for _, repository := range repositoryOf(hr) {
			needs = append(needs, "helmrepositories/"+v1alpha1.Namespace+"/"+repository)
		}
		for _, reference := range hr.Spec.ValuesFrom {
			resource := "configmaps"
			if reference.Kind == "Secret" {
				resource = "secrets"
			}
			needs = append(needs, resource+"/"+v1alpha1.Namespace+"/"+reference.Name)
		}
	}
	slices.Sort(names)
	return addons.HandedOver(names, needs, ended)
}

// leave takes off everything that makes what Flux needs ours.
func (r *AddonReconciler) leave(ctx context.Context, d departure, running []helmv2.HelmRelease) error {
	defaults, err := objects(ctx, r.Live, &corev1.ConfigMapList{}, client.MatchingLabels{v1alpha1.LabelAddon: d.addon.Name})
	if err != nil {
		return err
	}
	for _, object := range defaults {
		if err := r.unlabel(ctx, object); err != nil {
			return err
		}
	}
	for i := range d.mine {
		if d.mine[i].DeletionTimestamp != nil {
			err = r.letGo(ctx, d.mine[i].Name)
		} else {
			err = r.leaveRelease(ctx, &d.mine[i])
		}
		if err != nil {
			return err
		}
	}
	if err := r.leaveNamespaces(ctx, d.addon, slices.Concat(running, d.mine)); err != nil {
		return err
	}
	return r.dismiss(ctx, d.addon)
}

// leaveNamespaces comes after the HelmReleases: of several add-ons that leave a namespace at the same time, the last one must see that it is.
func (r *AddonReconciler) leaveNamespaces(ctx context.Context, addon *v1alpha1.Addon, left []helmv2.HelmRelease) error {
	releases, err := r.liveReleases(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(releases, func(hr helmv2.HelmRelease) bool { return addonOf(&hr) == addon.Name })
	spaces, err := r.spaces(ctx, departure{addon: addon, mine: left, others: others})
	if err != nil {
		return err
	}
	return r.releaseNamespaces(ctx, spaces, v1alpha1.OutcomeOrphaned)
}

// leaveRelease makes a HelmRelease an ordinary object of Flux. Nothing that it does changes with that: Flux makes no new revision.
func (r *AddonReconciler) leaveRelease(ctx context.Context, hr *helmv2.HelmRelease) error {
	before := hr.DeepCopy()
	stripLabels(hr)
	controllerutil.RemoveFinalizer(hr, v1alpha1.FinalizerUninstall)
	if chart := hr.Spec.Chart; chart != nil && chart.ObjectMeta != nil {
		maps.DeleteFunc(chart.ObjectMeta.Labels, func(label, _ string) bool { return label == v1alpha1.LabelAddon || label == v1alpha1.LabelRelease })
		if len(chart.ObjectMeta.Labels)+len(chart.ObjectMeta.Annotations) == 0 {
			chart.ObjectMeta = nil
		}
	}
	logf.FromContext(ctx).Info("Leaving a release to itself", "release", hr.Name)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, hr, patch, client.FieldOwner(v1alpha1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("leaving HelmRelease %s to itself: %w", hr.Name, err)
	}
	return nil
}
