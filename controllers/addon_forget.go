package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// minRemainsDelay and maxRemainsDelay bound how long to wait before looking again whether what is being deleted has gone.
	minRemainsDelay = time.Second
	maxRemainsDelay = 15 * time.Second
)

// forget ends the removal of an add-on once Flux is done with its releases: it waits for what is still being deleted, deletes namespaces
// that nothing is left in, writes the receipt, and only then lets the HelmReleases go, which are the evidence, and with them what was
// made for them. The Addon goes last, so that a pass that dies before is simply repeated.
func (r *AddonReconciler) forget(ctx context.Context, o addons.Observation) (ctrl.Result, error) {
	awaited, err := r.finishRemoval(ctx, o)
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{}, err
	case err != nil:
		_, reportErr := r.report(ctx, o, addons.Decision{Gone: true}, err)
		return ctrl.Result{}, errors.Join(err, reportErr)
	case awaited.message == "":
		return ctrl.Result{}, nil
	}
	hold := &addons.Hold{
		State: v1alpha1.StateRemoving, Message: awaited.message,
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: o.Addon.Name, Message: "objects of it are still being deleted"},
	}
	result, err := r.report(ctx, o, addons.Decision{Hold: hold}, nil)
	result.RequeueAfter = sooner(result.RequeueAfter, awaited.delay)
	return result, err
}

// pause says what a removal waits for, and when to look again.
type pause struct {
	message string
	delay   time.Duration
}

func (r *AddonReconciler) finishRemoval(ctx context.Context, o addons.Observation) (pause, error) {
	d, err := r.depart(ctx, o)
	if err != nil {
		return pause{}, err
	}
	if left := d.running(); len(d.ended()) < len(d.mine) {
		return pause{}, changedMeanwhile("helmreleases", left[0].Name)
	}
	to, err := r.recipient(ctx, o.Addon)
	if err != nil {
		return pause{}, err
	}
	if to.receipt == nil {
		if awaited, err := r.conclude(ctx, d, &to); err != nil || awaited.message != "" {
			return awaited, err
		}
	}
	return pause{}, r.cleanUp(ctx, o, to.receipt.Result)
}

// conclude writes the receipt, unless something has to be waited for first.
func (r *AddonReconciler) conclude(ctx context.Context, d departure, to *recipient) (pause, error) {
	if err := r.confirmSpec(ctx, d.addon); err != nil {
		return pause{}, err
	}
	traces, awaited, err := r.search(ctx, d)
	if err != nil {
		return pause{}, err
	}
	if len(awaited) > 0 {
		age := r.Clock.Since(d.since) / 10 // what takes long need not be looked at so often
		return pause{addons.Awaited(awaited), min(max(age, minRemainsDelay), maxRemainsDelay)}, nil
	}
	if traces.Namespaces, err = r.dropNamespaces(ctx, d.spaces); err != nil {
		return pause{}, err
	}
	receipt := addons.Conclude(traces)
	receipt.Version = d.version
	return pause{}, r.hand(ctx, d.addon, to, receipt)
}

// cleanUp lets go of everything that was kept for the add-on.
func (r *AddonReconciler) cleanUp(ctx context.Context, o addons.Observation, outcome v1alpha1.Outcome) error {
	d, err := r.depart(ctx, o) // the namespaces may have gone in the meantime
	if err != nil {
		return err
	}
	if err := r.releaseNamespaces(ctx, d.spaces, outcome); err != nil {
		return err
	}
	for i := range d.mine {
		if err := r.letGo(ctx, d.mine[i].Name); err != nil {
			return err
		}
	}
	ours := client.MatchingLabels{v1alpha1.LabelAddon: o.Addon.Name}
	if err := r.deleteAll(ctx, &corev1.ConfigMapList{}, ours); err != nil {
		return err
	}
	if err := r.deleteAll(ctx, &sourcev1.HelmChartList{}, ours); err != nil {
		return err
	}
	if err := r.deleteAll(ctx, &v1alpha1.MigrationList{}, ours); err != nil { // installed anew, it begins anew
		return err
	}
	return r.dismiss(ctx, o.Addon)
}

// deleteAll deletes the objects of a kind that have some labels.
func (r *AddonReconciler) deleteAll(ctx context.Context, list client.ObjectList, labels client.MatchingLabels) error {
	objects, err := objects(ctx, r.Live, list, labels)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		if err := r.Client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// objects lists those of a kind, in our namespace if it is one of namespaces, that have some labels.
func objects(ctx context.Context, from client.Reader, list client.ObjectList, labels client.MatchingLabels) ([]client.Object, error) {
	if err := from.List(ctx, list, client.InNamespace(v1alpha1.Namespace), labels); err != nil {
		return nil, fmt.Errorf("listing %T with labels %v: %w", list, labels, err)
	}
	var objects []client.Object
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok {
			objects = append(objects, object)
		}
		return nil
	})
	return objects, err
}

// dismiss ends the Addon, whose HelmReleases no longer count.
func (r *AddonReconciler) dismiss(ctx context.Context, addon *v1alpha1.Addon) error {
	if err := r.tidyRepositories(ctx, addon.Name); err != nil {
		return err
	}
	if err := r.Client.Delete(ctx, addon); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Addon %s: %w", addon.Name, err)
	}
	if err := r.release(ctx, addon); err != nil {
		return err
	}
	r.progress.forget(addon.UID)
	r.Checks.Stability.Forget(addon.UID)
	return nil
}

// part lets an Addon go that was deleted by hand while it is wanted. It goes alone: its releases stay, and the Installer makes it anew. If it
// has none yet, what was made for them goes too: nobody would find that if the Installer does not list it any more by then.
func (r *AddonReconciler) part(ctx context.Context, o addons.Observation) error {
	d, err := r.depart(ctx, o)
	switch {
	case err != nil:
		return err
	case len(d.mine) > 0:
		return r.release(ctx, o.Addon)
	}
	if _, err := r.dropNamespaces(ctx, d.spaces); err != nil {
		return err
	}
	return r.cleanUp(ctx, o, v1alpha1.OutcomeRemoved)
}

// release lets an Addon go.
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
