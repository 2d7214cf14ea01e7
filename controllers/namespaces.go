package controllers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// ensureNamespace makes the release's namespace and protects it. One that was there before stays its maker's; it only gets labels.
func (r *AddonReconciler) ensureNamespace(ctx context.Context, release addons.Release) error {
	live := namespaceMetadata(release.Namespace)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(live), live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading namespace %s: %w", release.Namespace, err)
	}
	if live.DeletionTimestamp != nil {
		return fmt.Errorf("namespace %s is still being deleted: release %s is installed once it has gone", release.Namespace, release.Name)
	}
	desired := namespaceMetadata(release.Namespace)
	desired.Labels = map[string]string{v1alpha1.LabelProtected: "true"}
	if live.ResourceVersion == "" || madeByUs(live) {
		desired.Labels[v1alpha1.LabelManagedBy] = v1alpha1.FieldManager
		desired.Labels[v1alpha1.LabelAddon] = cmp.Or(live.Labels[v1alpha1.LabelAddon], release.Addon) // who finds it if no HelmRelease ever comes
	}
	maps.Copy(desired.Labels, release.NamespaceLabels)
	_, err := apply(ctx, r.Client, live, desired)
	return err
}

// namespaceMetadata is an empty Namespace that is read and cached without its spec and status.
func namespaceMetadata(name string) *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}

func madeByUs(namespace *metav1.PartialObjectMetadata) bool {
	return namespace.Labels[v1alpha1.LabelManagedBy] == v1alpha1.FieldManager
}

// space is a namespace that an add-on was installed into.
type space struct {
	name string
	live *metav1.PartialObjectMetadata // nil when it has gone
	made bool                          // by us
	used bool                          // by any other HelmRelease
	ours bool                          // by a HelmRelease of another add-on
}

// exclusive says whether nobody but the add-on had a use for the namespace, as far as we know.
func (s *space) exclusive() bool { return s.live == nil || s.made && !s.used }

// there says whether the namespace is there to stay.
func (s *space) there() bool { return s.live != nil && s.live.DeletionTimestamp == nil }

// spaces looks at the namespaces of an add-on.
func (r *AddonReconciler) spaces(ctx context.Context, d departure) ([]space, error) {
	names := map[string]bool{}
	for _, trace := range d.releases {
		names[trace.Namespace] = true
	}
	for i := range d.mine {
		names[d.mine[i].GetReleaseNamespace()], names[d.mine[i].GetStorageNamespace()] = true, true
	}
	var made metav1.PartialObjectMetadataList
	made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.Live.List(ctx, &made, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldManager, v1alpha1.LabelAddon: d.addon.Name}); err != nil {
		return nil, fmt.Errorf("listing the namespaces of add-on %s: %w", d.addon.Name, err)
	}
	for i := range made.Items {
		names[made.Items[i].Name] = true
	}
	var spaces []space
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := space{name: name, live: namespaceMetadata(name)}
		switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.live), s.live); {
		case apierrors.IsNotFound(err):
			s.live = nil
		case err != nil:
			return nil, fmt.Errorf("reading namespace %s: %w", name, err)
		default:
			s.made = madeByUs(s.live) && name != v1alpha1.Namespace
		}
		for i := range d.others {
			s.usedBy(&d.others[i], d.addon.Name)
		}
		spaces = append(spaces, s)
	}
	return spaces, nil
}

// usedBy notes that a HelmRelease has a use for the namespace. Of two add-ons that go at the same time and that Flux is done with, the
// one with the later name is left with the namespace that they shared.
func (s *space) usedBy(hr *helmv2.HelmRelease, leaving string) {
	if hr.GetReleaseNamespace() != s.name && hr.GetStorageNamespace() != s.name {
		return
	}
	owner := addonOf(hr)
	if hr.DeletionTimestamp != nil && !slices.Contains(hr.Finalizers, helmv2.HelmReleaseFinalizer) && cmp.Compare(owner, leaving) < 0 {
		return
	}
	s.used, s.ours = true, s.ours || owner != ""
}

// dropNamespaces deletes the namespaces that were made for the add-on and that nobody has a use for. It returns those that it keeps
// all the same, and why.
func (r *AddonReconciler) dropNamespaces(ctx context.Context, spaces []space) ([]addons.KeptNamespace, error) {
	var kept []addons.KeptNamespace
	for _, s := range spaces {
		if !s.there() || !s.exclusive() {
			continue
		}
		found, err := r.Census.inside(ctx, s.name)
		if err != nil {
			return nil, err
		}
		keep := addons.KeptNamespace{Name: s.name, Holds: worthKeeping(found)}
		for _, unseen := range found.unseen {
			keep.Unseen = append(keep.Unseen, unseen.Resource)
		}
		if len(keep.Holds)+len(keep.Unseen) == 0 {
			logf.FromContext(ctx).Info("Deleting a namespace that nothing is left in", "namespace", s.name)
			err := r.Client.Delete(ctx, s.live, client.Preconditions{UID: &s.live.UID, ResourceVersion: &s.live.ResourceVersion})
			switch {
			case err == nil || apierrors.IsNotFound(err):
				continue
			case !apierrors.IsForbidden(err):
				return nil, fmt.Errorf("deleting namespace %s: %w", s.name, err)
			}
			keep.Problem = err.Error()
		}
		kept = append(kept, keep)
	}
	return kept, nil
}

// worthKeeping names what is neither on its way out, nor incidental or owned by what is.
func worthKeeping(found findings) []string {
	going := leaving(found)
	var names []string
	for _, o := range found.objects {
		if !going[o.UID] {
			names = append(names, o.path())
		}
	}
	return names
}

// incidental says whether Kubernetes makes an object by itself, it holds nothing that lasts, or a hook of the chart left it: Helm does not
// delete those, nor does it say whose they are.
func incidental(o object) bool {
	_, hook := o.Annotations["helm.sh/hook"]
	switch o.kind.GroupResource().String() {
	case "leases.coordination.k8s.io":
		return true
	case "configmaps":
		return o.Name == "kube-root-ca.crt"
	case "serviceaccounts":
		return o.Name == "default" || hook
	case "pods", "jobs.batch", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io":
		return hook
	default:
		return false
	}
}

// leaving finds what is incidental or being deleted in a namespace, or will be since all its owners have gone or are leaving.
func leaving(found findings) map[types.UID]bool {
	there := map[types.UID]bool{}
	for _, o := range found.objects {
		there[o.UID] = true
	}
	going := map[types.UID]bool{}
	goes := func(owner metav1.OwnerReference) bool {
		if there[owner.UID] {
			return going[owner.UID]
		}
		return found.inside(owner)
	}
	for more := true; more; {
		more = false
		for _, o := range found.objects {
			stays := func(owner metav1.OwnerReference) bool { return !goes(owner) }
			if !going[o.UID] && (incidental(o) || o.terminating() || len(o.OwnerReferences) > 0 && !slices.ContainsFunc(o.OwnerReferences, stays)) {
				going[o.UID], more = true, true
			}
		}
	}
	return going
}

// inside says whether an owner would have been found in the namespace if it were there. One outside of it is taken to be there.
func (f findings) inside(owner metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && slices.ContainsFunc(f.kinds, func(k kind) bool { return k.namespaced && k.name == owner.Kind && k.Group == group.Group })
}

// releaseNamespaces takes our labels off namespaces that stay, unless another add-on uses them. Where the add-on is gone for good that is
// all that we ever wrote on them; where it runs on, what its pods need stays.
func (r *AddonReconciler) releaseNamespaces(ctx context.Context, spaces []space, outcome v1alpha1.Outcome) error {
	for _, s := range spaces {
		var err error
		switch {
		case !s.there() || s.ours || s.name == v1alpha1.Namespace || !touched(s.live):
		case outcome == v1alpha1.OutcomeRemoved && !s.used:
			err = r.relinquish(ctx, s.live)
		default:
			err = r.unlabel(ctx, s.live)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// touched says whether any field of an object is ours.
func touched(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == v1alpha1.FieldManager })
}

// relinquish takes back all that we applied to an object. It must still be the same one: applying would make it anew.
func (r *AddonReconciler) relinquish(ctx context.Context, live *metav1.PartialObjectMetadata) error {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(live.GroupVersionKind())
	nothing.SetName(live.Name)
	nothing.SetUID(live.UID)
	if err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(nothing), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("taking our labels off %s %s: %w", live.Kind, live.Name, err)
	}
	return nil
}

// unlabel takes off the labels that make an object ours. It writes nothing where there are none.
func (r *AddonReconciler) unlabel(ctx context.Context, live client.Object) error {
	before, ok := live.DeepCopyObject().(client.Object)
	if !ok || !stripLabels(live) {
		return nil
	}
	logf.FromContext(ctx).Info("Letting go of an object", "kind", live.GetObjectKind().GroupVersionKind().Kind, "name", live.GetName())
	if err := r.Client.Patch(ctx, live, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking our labels off %T %s: %w", live, live.GetName(), err)
	}
	return nil
}

// stripLabels says whether there was anything to take off.
func stripLabels(object client.Object) bool {
	labels := maps.Clone(object.GetLabels())
	if labels[v1alpha1.LabelManagedBy] == v1alpha1.FieldManager {
		delete(labels, v1alpha1.LabelManagedBy)
	}
	for _, label := range []string{v1alpha1.LabelInstaller, v1alpha1.LabelAddon, v1alpha1.LabelRelease, v1alpha1.LabelProtected} {
		delete(labels, label)
	}
	if len(labels) == len(object.GetLabels()) {
		return false
	}
	object.SetLabels(labels)
	return true
}
