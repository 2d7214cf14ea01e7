package controllers

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestANamespaceGoesOnlyIfNothingIsLostWithIt(t *testing.T) {
	const namespace = "ns-app"
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	ownedBy := func(kind, apiVersion string, uid types.UID) metav1.ObjectMeta {
		meta := named("owned")
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: uid}}
		return meta
	}
	for name, test := range map[string]struct {
		there client.Object
		owns  func(types.UID) client.Object
		keeps string // what the message names; empty when the namespace goes
	}{
		"nothing is there":             {},
		"somebody's object":            {there: &corev1.ConfigMap{ObjectMeta: named("mine")}, keeps: "configmaps/ns-app/mine"},
		"somebody's Secret":            {there: &corev1.Secret{ObjectMeta: named("mine")}, keeps: "secrets/ns-app/mine"},
		"a volume claim of the add-on": {there: volumeClaim(namespace, "data-app-0", "app"), keeps: "persistentvolumeclaims/ns-app/data-app-0"},
		"another tool's Helm release":  {there: helmRecord("other"), keeps: "secrets/ns-app/sh.helm.release.v1.other.v1"},
		"what Kubernetes makes":        {there: &corev1.ConfigMap{ObjectMeta: named("kube-root-ca.crt")}},
		"the default ServiceAccount":   {there: &corev1.ServiceAccount{ObjectMeta: named("default")}},
		"a lease of a leader":          {there: &coordinationv1.Lease{ObjectMeta: named("leader")}},
		"a byproduct":                  {there: &corev1.Endpoints{ObjectMeta: named("app")}}, //nolint:staticcheck // deprecated, and still there
		"what is left of a Deployment": {there: replicaSet(ownedBy("Deployment", "apps/v1", "gone"))},
		"what a hook has left": {
			there: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hook", Annotations: map[string]string{"helm.sh/hook": "pre-install"}},
				Spec:       batchv1.JobSpec{Template: podTemplate(corev1.RestartPolicyNever)},
			},
			owns: func(uid types.UID) client.Object {
				return &corev1.ConfigMap{ObjectMeta: ownedBy("Job", "batch/v1", uid)}
			},
		},
		"something of another's":        {there: &corev1.ConfigMap{ObjectMeta: ownedBy("Node", "v1", "outside")}, keeps: "configmaps/ns-app/owned"},
		"something of an unknown owner": {there: &corev1.ConfigMap{ObjectMeta: ownedBy("Widget", "example.com/v1", "unknown")}, keeps: "configmaps/ns-app/owned"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemoval(t, definition("app", nil, "app"))
			made := r.namespace(namespace)
			assert.Equal(t, v1alpha1.FieldManager, made.Labels[v1alpha1.LabelManagedBy])
			assert.Equal(t, "true", made.Labels[v1alpha1.LabelProtected])
			if test.there != nil {
				r.create(test.there)
			}
			if test.owns != nil {
				r.create(test.owns(test.there.GetUID()))
			}
			r.remove("app")
			r.endUninstall("app", addons.UninstallDone)
			r.settle()

			receipts := r.receipts()
			require.Len(t, receipts, 1)
			assert.Equal(t, v1alpha1.OutcomeRemoved, receipts[0].Result)
			if test.keeps == "" {
				assert.Nil(t, r.namespace(namespace))
				assert.Empty(t, receipts[0].LeftBehind)
				return
			}
			kept := r.namespace(namespace)
			require.NotNil(t, kept)
			assert.Empty(t, ourLabels(kept), "it is nobody's now")
			assert.Contains(t, receipts[0].Message, "namespace ns-app was kept, since it holds "+test.keeps)
			assert.Contains(t, receipts[0].LeftBehind, "namespaces/ns-app")
		})
	}
}

func replicaSet(meta metav1.ObjectMeta) *appsv1.ReplicaSet {
	template := podTemplate(corev1.RestartPolicyAlways)
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}
}

func podTemplate(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "app"}},
		Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
}

// ourLabels are those of the labels that the operator writes.
func ourLabels(object client.Object) map[string]string {
	ours := map[string]string{}
	for _, label := range []string{v1alpha1.LabelManagedBy, v1alpha1.LabelProtected, v1alpha1.LabelAddon, v1alpha1.LabelRelease} {
		if value, labelled := object.GetLabels()[label]; labelled {
			ours[label] = value
		}
	}
	return ours
}

func TestANamespaceThatWasThereBeforeStaysAndLosesOurLabels(t *testing.T) {
	def := definition("app", nil, "app")
	def.Spec.Releases[0].Namespace = "older"
	def.Spec.Releases[0].NamespaceLabels = map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
	labels := map[string]string{"mine": "yes"}
	older := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "older", Labels: labels}}
	s := newStage(t)
	require.NoError(t, client.IgnoreAlreadyExists(s.api.Create(s.ctx, older)))
	r := newRemoval(t, def)
	during := r.namespace("older").Labels
	assert.Equal(t, "true", during[v1alpha1.LabelProtected])
	assert.Equal(t, "privileged", during["pod-security.kubernetes.io/enforce"])
	assert.NotContains(t, during, v1alpha1.LabelManagedBy)

	r.remove("app")
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	after := r.namespace("older").Labels
	delete(after, corev1.LabelMetadataName)
	assert.Equal(t, labels, after)
	assert.Equal(t, []v1alpha1.Receipt{{Name: "app", Version: "1.0.0", Result: v1alpha1.OutcomeRemoved}}, r.receipts())
}

func TestASharedNamespaceGoesWithTheLastAddOn(t *testing.T) {
	for name, order := range map[string][]string{"in order": {"app", "beta"}, "the other way round": {"beta", "app"}} {
		t.Run(name+", one after the other", func(t *testing.T) {
			r := newSharing(t)
			r.remove(order[0])
			r.endUninstall(order[0], addons.UninstallDone)
			r.settle()
			require.NotNil(t, r.namespace("ns-app"))
			assert.Len(t, ourLabels(r.namespace("ns-app")), 3, "it is still ours")
			r.remove(order...)
			r.endUninstall(order[1], addons.UninstallDone)
			r.settle()
			assert.Nil(t, r.namespace("ns-app"))
		})
		t.Run(name+", both at once", func(t *testing.T) {
			r := newSharing(t)
			r.remove(order...)
			for _, addon := range order {
				r.endUninstall(addon, addons.UninstallDone)
			}
			for _, addon := range order { // each looks while the other is there too, and dies before it lets go
				r.work(r.cached, r.definitions)
				r.catchUp()
				o, err := r.addon.observe(r.ctx, get(r.stage, addon, &v1alpha1.Addon{}))
				require.NoError(t, err)
				d, err := r.addon.depart(r.ctx, o)
				require.NoError(t, err)
				_, err = r.addon.dropNamespaces(r.ctx, d.spaces)
				require.NoError(t, err)
			}
			assert.Nil(t, r.namespace("ns-app"))
			r.settle()
			assert.Len(t, r.receipts(), 2)
		})
	}
}

// newSharing has two add-ons in one namespace, and enough others that both can be removed.
func newSharing(t *testing.T) removal {
	t.Helper()
	beta := definition("beta", nil, "beta")
	beta.Spec.Releases[0].Namespace = "ns-app"
	return newRemoval(t, definition("app", nil, "app"), beta, definition("more", nil, "more"))
}

func TestAReleaseWaitsUntilItsOldNamespaceHasGone(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	late := definition("late", nil, "late")
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-late", Finalizers: []string{"example.com/slow"}}})
	require.NoError(t, r.api.Delete(r.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-late"}}))
	r.definitions = append(r.definitions, late)
	r.work(r.cached, r.definitions)
	r.apply(installer("default", wanted("app", "1.0.0"), wanted("stays", "1.0.0"), wanted("late", "1.0.0")))
	require.ErrorContains(t, r.pass(), "namespace ns-late is still being deleted")
	assert.Contains(t, readyMessage(get(r.stage, "late", &v1alpha1.Addon{})), "is installed once it has gone")
	assert.True(t, r.missing("late", &helmv2.HelmRelease{}))

	going := &corev1.Namespace{}
	require.NoError(t, r.api.Get(r.ctx, client.ObjectKey{Name: "ns-late"}, going))
	going.Finalizers = nil
	require.NoError(t, r.api.Update(r.ctx, going))
	r.settle()
	assert.False(t, r.missing("late", &helmv2.HelmRelease{}))
	assert.Len(t, ourLabels(r.namespace("ns-late")), 3)
}

// The operator dies before it has made the HelmRelease, and then the definition or the Addon goes: nothing else tells of what is there.
func TestWhatWasMadeForAnAddOnThatNeverCameToBeGoesWithIt(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{definition("app", nil, "app"), definition("web", nil, "web"), definition("db", nil, "db")}
	for name, then := range map[string]func(*stage){
		"the definition goes": func(s *stage) { s.work(s.cached, definitions[1:]) },
		"the Addon goes":      func(s *stage) { require.NoError(s, s.api.Delete(s.ctx, get(s, "app", &v1alpha1.Addon{}))) },
	} {
		t.Run(name, func(t *testing.T) {
			for after := 1; ; after++ {
				s := newStage(t, definitions...)
				s.apply(installer("default", wanted("app", ""), wanted("db", ""), wanted("web", "")))
				_, err := s.installer.Reconcile(s.ctx, get(s, "default", &v1alpha1.Installer{}))
				require.NoError(t, err)
				s.catchUp()
				writes := 0
				s.work(dying(s.cached, &writes, after), definitions)
				_, err = s.addon.Reconcile(s.ctx, get(s, "app", &v1alpha1.Addon{}))
				if !s.missing("app", &helmv2.HelmRelease{}) {
					assert.Greater(t, after, 2, "the namespace and the defaults were written")
					return
				}
				require.ErrorIs(t, err, errKilled)

				s.work(s.cached, definitions)
				then(s)
				s.apply(installer("default", wanted("db", ""), wanted("web", "")))
				s.catchUp()
				if addon := (&v1alpha1.Addon{}); !s.missing("app", addon) && addon.DeletionTimestamp != nil {
					_, err = s.addon.Reconcile(s.ctx, addon)
					require.NoError(t, err)
				}
				s.settle()
				assert.True(t, s.missing("app", &v1alpha1.Addon{}))
				assert.NotContains(t, s.namespaces(s.api), "ns-app")
				var defaults corev1.ConfigMapList
				require.NoError(t, s.api.List(s.ctx, &defaults, client.MatchingLabels{v1alpha1.LabelAddon: "app"}))
				assert.Empty(t, defaults.Items)
			}
		})
	}
}
