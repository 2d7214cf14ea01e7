package controllers

import (
	"slices"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestLiftedProtectionIsTold(t *testing.T) {
	release := &helmv2.HelmRelease{}
	release.Namespace, release.Name = v1alpha1.Namespace, "lifted-release"
	release.Spec.Chart = &helmv2.HelmChartTemplate{}
	release.Spec.Chart.Spec.Chart = "web"
	release.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"}
	addon := &v1alpha1.Addon{}
	addon.Name, addon.Spec = "lifted-addon", v1alpha1.AddonSpec{Installer: "default", Version: "1.0.0", State: v1alpha1.Present}
	for name, c := range map[string]struct {
		object client.Object
		kind   schema.GroupVersionKind
		events string
		undo   string
	}{
		"in the object's namespace":           {release, helmv2.GroupVersion.WithKind("HelmRelease"), v1alpha1.Namespace, "kubectl annotate HelmRelease lifted-release -n kurl-addons addons.kurl.sh/allow-delete-"},
		"in default for a cluster-scoped one": {addon, v1alpha1.GroupVersion.WithKind("Addon"), metav1.NamespaceDefault, "kubectl annotate Addon lifted-addon addons.kurl.sh/allow-delete-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			escape := &EscapeReconciler{Client: s.api, Live: s.api, Clock: s.clock}
			request := protectedObject{GroupVersionKind: c.kind, ObjectKey: client.ObjectKeyFromObject(c.object)}
			told := func() []eventsv1.Event {
				_, err := escape.Reconcile(t.Context(), request)
				require.NoError(t, err)
				var list eventsv1.EventList
				require.NoError(t, s.api.List(t.Context(), &list, client.InNamespace(c.events), client.MatchingFields{"reason": v1alpha1.ReasonProtectionLifted}))
				return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != c.object.GetUID() })
			}
			assert.Empty(t, told(), "an object that is not there")
			require.NoError(t, s.api.Create(t.Context(), c.object))
			assert.Empty(t, told(), "one that is protected")

			lift := func(manager string) {
				patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"addons.kurl.sh/allow-delete":"`+c.object.GetName()+`"}}}`))
				require.NoError(t, s.api.Patch(t.Context(), c.object, patch, client.FieldOwner(manager)))
			}
			lift("ann")
			require.Len(t, told(), 1)
			again := told()
			require.Len(t, again, 1, "once, however often the operator looks")
			assert.Equal(t, corev1.EventTypeWarning, again[0].Type)
			assert.Equal(t, c.object.GetUID(), again[0].Regarding.UID)
			assert.Contains(t, again[0].Note, `"ann" set the annotation`)
			assert.Contains(t, again[0].Note, c.undo)

			protect := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"addons.kurl.sh/allow-delete":null}}}`))
			require.NoError(t, s.api.Patch(t.Context(), c.object, protect))
			assert.Len(t, told(), 1, "protected again")
			lift("bob")
			assert.Len(t, told(), 2, "lifted again, which is another event")
		})
	}
}

func TestOnlyLiftingProtectionCounts(t *testing.T) {
	object := func(labels, annotations map[string]string) client.Object {
		return &v1alpha1.Addon{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels, Annotations: annotations}}
	}
	protected := map[string]string{v1alpha1.LabelProtected: "true"}
	mayGo := map[string]string{v1alpha1.AnnotationAllowDelete: "shop"}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}
	openHome := home.DeepCopy()
	openHome.Annotations = map[string]string{v1alpha1.AnnotationAllowDelete: v1alpha1.Namespace}
	for name, c := range map[string]struct {
		before, after client.Object
		told          bool
	}{
		"lifted":                    {object(protected, nil), object(protected, mayGo), true},
		"lifted without its label":  {object(protected, nil), object(nil, mayGo), true},
		"lifted before":             {object(protected, mayGo), object(protected, mayGo), false},
		"for another name":          {object(protected, nil), object(protected, map[string]string{v1alpha1.AnnotationAllowDelete: "other"}), false},
		"protected again":           {object(protected, mayGo), object(protected, nil), false},
		"never protected":           {object(nil, nil), object(nil, mayGo), false},
		"the operator's namespace":  {home, openHome, true},
		"seen for the first time":   {nil, object(protected, mayGo), true},
		"seen, and still protected": {nil, object(protected, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.before == nil {
				assert.Equal(t, c.told, lifted().Create(event.CreateEvent{Object: c.after}))
				return
			}
			assert.Equal(t, c.told, lifted().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}))
		})
	}
}
