package controllers

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// verdict is what the kstatus conditions are computed from. At most one of reconciling and stalled is true.
type verdict struct {
	ready       bool
	reconciling bool
	stalled     bool
	reason      string
	message     string
}

// setConditions writes Ready, and Reconciling and Stalled as kstatus has them: present while they are true.
func (v verdict) setConditions(conditions *[]metav1.Condition, generation int64) {
	status := metav1.ConditionFalse
	if v.ready {
		status = metav1.ConditionTrue
	}
	set := func(kind string, status metav1.ConditionStatus) {
		apimeta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: status, Reason: v.reason, Message: v.message, ObservedGeneration: generation,
		})
	}
	set(v1alpha1.ConditionReady, status)
	for kind, holds := range map[string]bool{v1alpha1.ConditionReconciling: v.reconciling, v1alpha1.ConditionStalled: v.stalled} {
		if holds {
			set(kind, metav1.ConditionTrue)
		} else {
			apimeta.RemoveStatusCondition(conditions, kind)
		}
	}
}

// oneLine joins the lines of what Helm says: tables of kubectl end at the first, which rarely has the cause.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// readyMessage is what an Addon says of itself.
func readyMessage(addon *v1alpha1.Addon) string {
	if ready := apimeta.FindStatusCondition(addon.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

// conflictDelay is how long a pass waits for the cache to see what has just been written.
const conflictDelay = 50 * time.Millisecond

// settleError ends a pass: an object that changed in the meantime is a reason to look again, not an error to report.
func settleError(result ctrl.Result, errs ...error) (ctrl.Result, error) {
	switch err := errors.Join(errs...); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case err != nil:
		return ctrl.Result{}, err
	default:
		return result, nil
	}
}
