package controllers

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// apply writes the Addons of a plan in its order, under a finalizer that keeps the Installer until they are gone again. The order
// matters for upgrades: an Addon must not hear of its new version before those that it depends on have theirs.
func (r *InstallerReconciler) apply(ctx context.Context, in intent) error {
	if err := r.hold(ctx, in.installer); err != nil {
		return err
	}
	if err := r.recordApproval(ctx, in.installer, in.approval.Record); err != nil {
		return err
	}
	specs := map[string]v1alpha1.AddonSpec{}
	var names []string
	for _, change := range in.plan.Due() {
		names = append(names, change.Addon)
		specs[change.Addon] = change.Now()
		logf.FromContext(ctx).Info("Changing an add-on", "addon", change.Addon, "action", change.Action, "reason", change.Reason)
	}
	for _, addon := range in.owned() {
		if _, changes := specs[addon.Name]; !changes {
			names = append(names, addon.Name)
			specs[addon.Name] = addon.Spec
		}
	}
	for _, name := range names {
		if err := r.writeAddon(ctx, in.installer, in.live[name], name, specs[name]); err != nil {
			return err
		}
	}
	return nil
}

// keep writes what leaves the add-ons as they are, before anybody is shown a plan that rests on them.
func (r *InstallerReconciler) keep(ctx context.Context, in intent) error {
	for _, change := range in.plan.Keeps {
		if in.live[change.Addon] == nil {
			continue
		}
		if err := r.writeAddon(ctx, in.installer, in.live[change.Addon], change.Addon, change.Spec); err != nil {
			return err
		}
	}
	return nil
}

// passOn hands a request to reconcile now to every Addon that is there, once. It is not part of what is applied: an Addon can be asked by
// itself later. A new one needs none, and a plan that waits does not keep what runs from a fresh start.
func (r *InstallerReconciler) passOn(ctx context.Context, in intent) error {
	token := in.installer.Annotations[meta.ReconcileRequestAnnotation]
	if token == "" || token == in.installer.Status.LastHandledReconcileAt {
		return nil
	}
	for _, owned := range in.owned() {
		addon := &v1alpha1.Addon{ObjectMeta: metav1.ObjectMeta{Name: owned.Name}}
		patch := client.MergeFrom(addon.DeepCopy())
		addon.Annotations = map[string]string{meta.ReconcileRequestAnnotation: token}
		if err := r.Client.Patch(ctx, addon, patch, client.FieldOwner(requestManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("passing the request on to Addon %s: %w", owned.Name, err)
		}
	}
	return nil
}

func (r *InstallerReconciler) writeAddon(ctx context.Context, installer *v1alpha1.Installer, live *v1alpha1.Addon, name string, spec v1alpha1.AddonSpec) error {
	if live == nil {
		live = &v1alpha1.Addon{}
	}
	if live.DeletionTimestamp != nil {
		return nil // it is written anew once the old one has gone
	}
	desired := &v1alpha1.Addon{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Addon"},
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Finalizers: []string{v1alpha1.FinalizerUninstall},
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.FieldManager,
				v1alpha1.LabelInstaller: installer.Name,
				v1alpha1.LabelProtected: "true",
			},
		},
		Spec: spec,
	}
	_, err := apply(ctx, r.Client, live, desired)
	return err
}

func (r *InstallerReconciler) hold(ctx context.Context, installer *v1alpha1.Installer) error {
	before := installer.DeepCopy()
	if installer.DeletionTimestamp != nil || !controllerutil.AddFinalizer(installer, v1alpha1.FinalizerUninstall) {
		return nil
	}
	if err := r.Client.Patch(ctx, installer, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adding the finalizer to Installer %s: %w", installer.Name, err)
	}
	return nil
}

// recordApproval writes down what was approved before any of it is done, and strikes it out once it is.
func (r *InstallerReconciler) recordApproval(ctx context.Context, installer *v1alpha1.Installer, record *v1alpha1.ApprovedPlan) error {
	if apiequality.Semantic.DeepEqual(installer.Status.Approved, record) {
		return nil
	}
	before := installer.DeepCopy()
	installer.Status.Approved = record
	if err := r.Client.Status().Patch(ctx, installer, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("recording the approved plan of Installer %s: %w", installer.Name, err)
	}
	return nil
}
