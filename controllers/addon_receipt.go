package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// maxNote is how long the text of an event may be.
const maxNote = 1000

// recipient is where the receipt for an Addon goes.
type recipient struct {
	installer *v1alpha1.Installer // nil when it has gone
	receipt   *v1alpha1.Receipt   // nil when it has not been written yet
}

// askedAt is the generation of the Addon's spec: the API server counts a deletion as one more.
func askedAt(addon *v1alpha1.Addon) int64 {
	if addon.DeletionTimestamp != nil {
		return addon.Generation - 1
	}
	return addon.Generation
}

// recipient asks the API server itself: each removal of an Addon gets one receipt.
func (r *AddonReconciler) recipient(ctx context.Context, addon *v1alpha1.Addon) (recipient, error) {
	installer := &v1alpha1.Installer{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Name: addon.Spec.Installer}, installer); {
	case apierrors.IsNotFound(err):
		return recipient{}, nil
	case err != nil:
		return recipient{}, fmt.Errorf("looking for the receipt of Addon %s: %w", addon.Name, err)
	}
	to := recipient{installer: installer}
	at := slices.IndexFunc(installer.Status.Removed, func(receipt v1alpha1.Receipt) bool {
		return receipt.UID == addon.UID && receipt.Generation == askedAt(addon)
	})
	if at >= 0 {
		to.receipt = &installer.Status.Removed[at]
	}
	return to, nil
}

// hand writes the receipt into the Installer's status, where there is one, and tells of it.
func (r *AddonReconciler) hand(ctx context.Context, addon *v1alpha1.Addon, to *recipient, receipt v1alpha1.Receipt) error {
	receipt.Name, receipt.UID, receipt.Generation = addon.Name, addon.UID, askedAt(addon)
	receipt.At, receipt.Message = metav1.Time{Time: r.Clock.Now().Truncate(time.Second)}, oneLine(receipt.Message)
	to.receipt = &receipt
	if to.installer != nil {
		before := to.installer.DeepCopy()
		receipts := append(slices.Clone(before.Status.Removed), receipt)
		to.installer.Status.Removed = receipts[max(0, len(receipts)-v1alpha1.MaxReceipts):]
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, to.installer, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing the receipt of Addon %s into Installer %s: %w", addon.Name, to.installer.Name, err)
		}
	}
	logf.FromContext(ctx).Info("The add-on has gone", "result", receipt.Result, "version", receipt.Version, "message", receipt.Message, "leftBehind", receipt.LeftBehind)
	removals.WithLabelValues(string(receipt.Result)).Inc()
	r.announceReceipt(addon, to.installer, receipt)
	return nil
}

// announceReceipt makes an event of how it ended. What people asked to be left running is no reason to warn them.
func (r *AddonReconciler) announceReceipt(addon *v1alpha1.Addon, installer *v1alpha1.Installer, receipt v1alpha1.Receipt) {
	kind, what := corev1.EventTypeNormal, "was uninstalled"
	if receipt.Result == v1alpha1.OutcomeOrphaned {
		what = "was not uninstalled, or not entirely"
		if addon.Spec.State != v1alpha1.Orphaned {
			kind = corev1.EventTypeWarning
		}
	}
	note := fmt.Sprintf("add-on %s %s", addon.Name, what)
	if receipt.Message != "" {
		note += ": " + receipt.Message
	}
	note = cutNote(note)
	r.Events.Eventf(addon, nil, kind, string(receipt.Result), "Remove", "%s", note)
	if installer != nil {
		r.Events.Eventf(installer, addon, kind, string(receipt.Result), "Remove", "%s", note)
	}
}

// cutNote keeps within what the API server takes.
func cutNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote], "") + "…"
}
