package controllers

import (
	"context"
	"fmt"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// apply makes an object what it should be, and writes nothing if it already is. Live is the object as last seen, empty when there
// is none. Applied server-side, fields that we no longer want disappear; fields that somebody else added to the spec are then removed
// too, except for spec.suspend, which is theirs to set. It returns the object as the API server now has it.
func apply[T client.Object](ctx context.Context, c client.Client, live, desired T) (T, error) {
	intent, err := content(desired)
	if err != nil {
		return live, err
	}
	current, err := content(live)
	if err != nil {
		return live, err
	}
	if live.GetResourceVersion() != "" && matches(current, intent) {
		return live, nil
	}
	logf.FromContext(ctx).Info("Applying", "kind", intent.GetKind(), "name", intent.GetName())
	written := intent.DeepCopy()
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(written), client.ForceOwnership, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return live, fmt.Errorf("applying %s %s: %w", intent.GetKind(), intent.GetName(), err)
	}
	if !matches(written, intent) {
		if err := strip(ctx, c, written, intent); err != nil {
			return live, err
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, desired); err != nil {
		return live, fmt.Errorf("reading back %s %s: %w", intent.GetKind(), intent.GetName(), err)
	}
	return desired, nil
}

// ensure applies an object of the operator's namespace unless it is as desired.
func ensure[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, desired P) (P, error) {
	live := P(new(T))
	if err := c.Get(ctx, client.ObjectKeyFromObject(desired), live); client.IgnoreNotFound(err) != nil {
		return live, fmt.Errorf("reading %T %s: %w", live, desired.GetName(), err)
	}
	return apply(ctx, c, live, desired)
}

// content is what we claim of an object: its identity, labels, annotations, finalizers and everything outside of metadata but status.
func content(object client.Object) (*unstructured.Unstructured, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting %s: %w", object.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: raw}
	claimed := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range u.Object {
		if key != "metadata" && key != "status" {
			claimed.Object[key] = value
		}
	}
	claimed.SetName(u.GetName())
	claimed.SetNamespace(u.GetNamespace())
	claimed.SetLabels(u.GetLabels())
	claimed.SetAnnotations(u.GetAnnotations())
	claimed.SetFinalizers(u.GetFinalizers())
	return claimed, nil
}

// matches says whether an object is as intended: the same in every top-level field that the intent speaks of, and with at
// least the intended metadata.
func matches(current, intent *unstructured.Unstructured) bool {
	for _, key := range bodyKeys(intent) {
		if !apiequality.Semantic.DeepEqual(withoutSuspend(key, current.Object[key]), intent.Object[key]) {
			return false
		}
	}
	finalizers := map[string]bool{}
	for _, finalizer := range current.GetFinalizers() {
		finalizers[finalizer] = true
	}
	for _, finalizer := range intent.GetFinalizers() {
		if !finalizers[finalizer] {
			return false
		}
	}
	return contains(current.GetLabels(), intent.GetLabels()) && contains(current.GetAnnotations(), intent.GetAnnotations())
}

// bodyKeys are the top-level fields that an intent speaks of, and that are then ours whole.
func bodyKeys(intent *unstructured.Unstructured) []string {
	var keys []string
	for key := range intent.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			keys = append(keys, key)
		}
	}
	return keys
}

func withoutSuspend(key string, body any) any {
	spec, ok := body.(map[string]any)
	if _, suspends := spec["suspend"]; key != "spec" || !ok || !suspends {
		return body
	}
	rest := maps.Clone(spec)
	delete(rest, "suspend")
	return rest
}

func contains(all, some map[string]string) bool {
	for key, value := range some {
		if got, ok := all[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// strip removes what others own from the body of an object that has just been applied.
func strip(ctx context.Context, c client.Client, written, intent *unstructured.Unstructured) error {
	suspend, suspends, err := unstructured.NestedFieldNoCopy(written.Object, "spec", "suspend")
	if err != nil {
		return fmt.Errorf("reading spec.suspend of %s %s: %w", intent.GetKind(), intent.GetName(), err)
	}
	for _, key := range bodyKeys(intent) {
		written.Object[key] = runtime.DeepCopyJSONValue(intent.Object[key])
	}
	if spec, ok := written.Object["spec"].(map[string]any); ok && suspends {
		spec["suspend"] = suspend
	}
	if err := c.Update(ctx, written, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("removing foreign fields from %s %s: %w", intent.GetKind(), intent.GetName(), err)
	}
	return nil
}
