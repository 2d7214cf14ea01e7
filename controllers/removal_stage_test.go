package controllers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// removal is a stage with two add-ons that run: one to be removed, and one that stays, since a plan that removes all waits for
// approval.
type removal struct {
	*stage

	definitions []v1alpha1.AddonDefinition
}

func newRemoval(t *testing.T, leaving v1alpha1.AddonDefinition, others ...v1alpha1.AddonDefinition) removal {
	t.Helper()
	definitions := append([]v1alpha1.AddonDefinition{leaving, definition("stays", nil, "stays")}, others...)
	r := removal{newStage(t, definitions...), definitions}
	t.Cleanup(r.clearDefaults)
	var all []v1alpha1.InstallerAddon
	for i := range definitions {
		all = append(all, wanted(definitions[i].Name, "1.0.0"))
	}
	r.apply(installer("default", all...))
	r.settle()
	for i := range definitions {
		for _, release := range definitions[i].Spec.Releases {
			r.playInstall(release.Name)
		}
	}
	r.settle()
	return r
}

// clearDefaults deletes what was handed over, which the stage does not take for ours.
func (r removal) clearDefaults() {
	var list corev1.ConfigMapList
	require.NoError(r, r.api.List(context.Background(), &list, client.InNamespace(v1alpha1.Namespace)))
	for i := range list.Items {
		if strings.Contains(list.Items[i].Name, "-defaults-") {
			require.NoError(r, client.IgnoreNotFound(r.api.Delete(context.Background(), &list.Items[i])))
		}
	}
}

// playInstall does to a HelmRelease what helm-controller does when it installs it.
func (r removal) playInstall(name string) {
	r.Helper()
	r.playFlux(name)
	hr := get(r.stage, name, &helmv2.HelmRelease{})
	hr.Status.LastAttemptedRevision = hr.Spec.Chart.Spec.Version
	require.NoError(r, r.api.Status().Update(r.ctx, hr))
}

// remove takes add-ons out of the list, and comes back when Flux is to uninstall them.
func (r removal) remove(names ...string) {
	r.Helper()
	var rest []v1alpha1.InstallerAddon
	for i := range r.definitions {
		if name := r.definitions[i].Name; !slices.Contains(names, name) {
			rest = append(rest, wanted(name, "1.0.0"))
		}
	}
	r.apply(installer("default", rest...))
	r.settle()
}

// endUninstall does to a HelmRelease that is being deleted what helm-controller does.
func (r removal) endUninstall(name string, outcome addons.Uninstall) {
	r.Helper()
	hr := get(r.stage, name, &helmv2.HelmRelease{})
	require.NotNil(r, hr.DeletionTimestamp, "%s is being deleted", name)
	message := map[addons.Uninstall]string{
		addons.UninstallDone:    "Helm uninstall succeeded for release",
		addons.UninstallAssumed: "Release was not found, assuming it is uninstalled",
	}[outcome]
	if outcome != addons.UninstallSkipped {
		hr.Status.History = nil
		apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
			Type: helmv2.ReleasedCondition, Status: metav1.ConditionFalse, Reason: helmv2.UninstallSucceededReason, Message: message, ObservedGeneration: hr.Generation,
		})
	}
	require.NoError(r, r.api.Status().Update(r.ctx, hr))
	controllerutil.RemoveFinalizer(hr, helmv2.HelmReleaseFinalizer)
	require.NoError(r, r.api.Update(r.ctx, hr))
	if outcome != addons.UninstallSkipped {
		return
	}
	r.settle() // the operator asks Flux to try again
	hr = get(r.stage, name, &helmv2.HelmRelease{})
	hr.Status.LastHandledReconcileAt = hr.Annotations["reconcile.fluxcd.io/requestedAt"]
	require.NoError(r, r.api.Status().Update(r.ctx, hr))
}

// receipts are those of the Installer, without what differs from run to run.
func (r removal) receipts() []v1alpha1.Receipt {
	r.Helper()
	receipts := get(r.stage, "default", &v1alpha1.Installer{}).Status.Removed
	for i := range receipts {
		require.NotEmpty(r, receipts[i].UID)
		require.False(r, receipts[i].At.IsZero())
		receipts[i].UID, receipts[i].Generation, receipts[i].At = "", 0, metav1.Time{}
	}
	return receipts
}

// events are those of the Addon controller so far.
func (r removal) events() []string {
	recorder := r.addon.Events.(*events.FakeRecorder)
	var texts []string
	for {
		select {
		case text := <-recorder.Events:
			texts = append(texts, text)
		default:
			return texts
		}
	}
}

// create makes an object that is gone again after the test.
func (r removal) create(object client.Object) {
	r.Helper()
	require.NoError(r, r.api.Create(r.ctx, object))
	r.Cleanup(func() {
		ctx := context.Background() // the test's own is over
		namespace := object.GetNamespace()
		if namespace != "" { // without it nothing in it can be changed
			require.NoError(r, client.IgnoreAlreadyExists(r.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
		}
		require.NoError(r, client.IgnoreNotFound(r.api.Delete(ctx, object)))
		before := object.DeepCopyObject().(client.Object)
		object.SetFinalizers(nil)
		object.SetResourceVersion("")
		before.SetResourceVersion("")
		before.SetFinalizers([]string{"any"})
		require.NoError(r, client.IgnoreNotFound(r.api.Patch(ctx, object, client.MergeFrom(before))))
	})
}

// leavingNamespace is where the add-on "app" is installed.
const leavingNamespace = "ns-app"

// madeByApp is an object of the chart of release "app", as Flux labels it.
func madeByApp(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: leavingNamespace, Name: name, Labels: map[string]string{labelFluxName: "app", labelFluxNamespace: v1alpha1.Namespace},
	}}
}

// helmRecord is where Helm keeps what it knows of a release.
func helmRecord(release string) *corev1.Secret {
	return &corev1.Secret{Type: "helm.sh/release.v1", ObjectMeta: metav1.ObjectMeta{
		Namespace: leavingNamespace, Name: "sh.helm.release.v1." + release + ".v1", Labels: map[string]string{labelHelmOwner: "helm", "name": release, "status": "deployed"},
	}}
}

// volumeClaim is what a StatefulSet makes.
func volumeClaim(namespace, name, instance string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/instance": instance}}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

// namespace reads one as it is; nil when it has gone or is going.
func (r removal) namespace(name string) *corev1.Namespace {
	r.Helper()
	namespace := &corev1.Namespace{}
	err := r.api.Get(r.ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) || namespace.DeletionTimestamp != nil {
		return nil
	}
	require.NoError(r, err)
	return namespace
}

// later lets the operator's clock show a time after the API server's.
func (r removal) later(after time.Duration) { r.clock.SetTime(time.Now().Add(after)) }
