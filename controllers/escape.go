package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// EscapeReconciler says in an event when somebody has lifted the protection of an object, so that a deletion by hand leaves a trace.
type EscapeReconciler struct {
	Client client.Client // writes events
	Live   client.Reader // tells who did it: the cache keeps no managed fields
	Clock  clock.PassiveClock
}

// protectedObject names an object whose protection was lifted.
type protectedObject struct {
	schema.GroupVersionKind
	client.ObjectKey
}

func (r *EscapeReconciler) setup(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[protectedObject](mgr).
		Named("escape").
		Watches(&helmv2.HelmRelease{}, ofKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind)), builder.WithPredicates(lifted())).
		Watches(&sourcev1.HelmRepository{}, ofKind(sourcev1.GroupVersion.WithKind(sourcev1.HelmRepositoryKind)), builder.WithPredicates(lifted())).
		Watches(&v1alpha1.Addon{}, ofKind(v1alpha1.GroupVersion.WithKind("Addon")), builder.WithPredicates(lifted())).
		WatchesMetadata(&corev1.Namespace{}, ofKind(corev1.SchemeGroupVersion.WithKind("Namespace")), builder.WithPredicates(lifted())).
		Complete(r)
}

func ofKind(kind schema.GroupVersionKind) handler.TypedEventHandler[client.Object, protectedObject] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []protectedObject {
		return []protectedObject{{GroupVersionKind: kind, ObjectKey: client.ObjectKeyFromObject(object)}}
	})
}

// lifted lets through protected objects at the moment their protection is lifted, and once more when the operator starts: it may not
// have run at that moment.
func lifted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isProtected(e.Object) && mayGo(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return isProtected(e.ObjectOld) && !mayGo(e.ObjectOld) && mayGo(e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func isProtected(object client.Object) bool {
	return object.GetLabels()[v1alpha1.LabelProtected] == "true" || object.GetNamespace() == "" && object.GetName() == v1alpha1.Namespace
}

// mayGo says what the admission policies ask before they let somebody delete a protected object.
func mayGo(object client.Object) bool {
	return object.GetAnnotations()[v1alpha1.AnnotationAllowDelete] == object.GetName()
}

// Reconcile writes the event if it has not been written: its name stands for who set the annotation, and when.
func (r *EscapeReconciler) Reconcile(ctx context.Context, object protectedObject) (ctrl.Result, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	if err := r.Live.Get(ctx, object.ObjectKey, live); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", object.Kind, object.Name, err)
	}
	if live.ResourceVersion == "" || !mayGo(live) {
		return ctrl.Result{}, nil
	}
	said := r.event(live)
	err := r.Client.Create(ctx, said)
	if err == nil {
		logf.FromContext(ctx).Info("Protection lifted", "kind", object.Kind, "name", object.Name, "note", said.Note)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("telling that %s %s is no longer protected: %w", object.Kind, object.Name, err)
	}
	return ctrl.Result{}, nil
}

func (r *EscapeReconciler) event(live *metav1.PartialObjectMetadata) *eventsv1.Event {
	setting := whoLifted(live)
	hash := fnv.New64a()
	fmt.Fprint(hash, live.UID, setting.Manager, setting.Time)
	namespace, where := live.Namespace, ""
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events about cluster-scoped objects are kept
	} else {
		where = " -n " + namespace
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x", live.Name, hash.Sum64())},
		EventTime:           metav1.NewMicroTime(r.Clock.Now()),
		ReportingController: v1alpha1.FieldManager,
		ReportingInstance:   v1alpha1.FieldManager,
		Action:              "LiftProtection",
		Reason:              v1alpha1.ReasonProtectionLifted,
		Type:                corev1.EventTypeWarning,
		Regarding: corev1.ObjectReference{
			APIVersion: live.APIVersion, Kind: live.Kind, Namespace: live.Namespace, Name: live.Name, UID: live.UID, ResourceVersion: live.ResourceVersion,
		},
		Note: fmt.Sprintf("%q set the annotation %s: from now on anybody may delete this %s. To protect it again: kubectl annotate %s %s%s %s-",
			setting.Manager, v1alpha1.AnnotationAllowDelete, live.Kind, live.Kind, live.Name, where, v1alpha1.AnnotationAllowDelete),
	}
}

// whoLifted is the entry of the field manager that set the annotation last.
func whoLifted(live client.Object) metav1.ManagedFieldsEntry {
	last := metav1.ManagedFieldsEntry{Manager: "somebody"}
	for _, entry := range live.GetManagedFields() {
		if liftedBy(entry) && (last.Time == nil || entry.Time == nil || !entry.Time.Before(last.Time)) {
			last = entry
		}
	}
	return last
}

func liftedBy(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Metadata struct {
			Annotations map[string]json.RawMessage `json:"f:annotations"`
		} `json:"f:metadata"`
	}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	_, lifts := fields.Metadata.Annotations["f:"+v1alpha1.AnnotationAllowDelete]
	return lifts
}
