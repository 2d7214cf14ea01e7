package controllers

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// stage is an empty API server with both reconcilers on it. They read from a cache, as in the operator; every pass first waits until
// the cache has seen all that was written before.
type stage struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // the test's own
	api       client.Client   // sees what is, at once
	cache     cache.Cache
	cached    client.WithWatch // reads from the cache
	addon     *AddonReconciler
	installer *InstallerReconciler
	clock     *clocktesting.FakeClock
}

func newStage(t *testing.T, definitions ...v1alpha1.AddonDefinition) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, v1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	s := &stage{T: t, ctx: t.Context(), clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	var err error
	s.api, err = client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	s.clear()
	t.Cleanup(func() { s.ctx = context.Background(); s.clear() })
	options := CacheOptions()
	options.Scheme = scheme
	s.cache, err = cache.New(config, options)
	require.NoError(t, err)
	require.NoError(t, addIndexes(s.ctx, s.cache))
	go func() { _ = s.cache.Start(s.ctx) }()
	for _, kind := range []client.Object{ // each takes a tenth of a second: not one after another
		&v1alpha1.Installer{}, &v1alpha1.Addon{}, &v1alpha1.AddonDefinition{}, &v1alpha1.Migration{}, &helmv2.HelmRelease{}, &sourcev1.HelmRepository{}, &sourcev1.HelmChart{},
		&corev1.ConfigMap{}, namespaceMetadata(""),
	} {
		_, err := s.cache.GetInformer(s.ctx, kind, cache.BlockUntilSynced(false))
		require.NoError(t, err)
	}
	s.cached, err = client.NewWithWatch(config, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: s.cache}})
	require.NoError(t, err)
	s.work(s.cached, definitions)
	return s
}

// work makes the reconcilers, with no memory, on a client.
func (s *stage) work(c client.Client, definitions []v1alpha1.AddonDefinition) {
	server, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(s, err)
	catalog := &Catalog{Reader: c, Builtin: definitions}
	kubernetes := &KubernetesVersion{Discovery: server, Clock: s.clock}
	objects, err := metadata.NewForConfig(config)
	require.NoError(s, err)
	facts, err := NewFacts(config, s.clock)
	require.NoError(s, err)
	census := &Census{Discovery: server, Metadata: objects, Clock: s.clock}
	s.addon = &AddonReconciler{
		Client: c, Live: s.api, Catalog: catalog, Kubernetes: kubernetes, Events: events.NewFakeRecorder(1000), Clock: s.clock,
		Checks: &Checks{Facts: facts, Stability: &Stability{}, Clock: s.clock},
		Owners: &Owners{Live: s.api, Census: census, Clock: s.clock}, Charts: &Charts{Client: c, Live: s.api, Clock: s.clock}, Census: census,
	}
	s.installer = &InstallerReconciler{Client: c, Live: s.api, Catalog: catalog, Kubernetes: kubernetes, Events: events.NewFakeRecorder(1000), Clock: s.clock}
}

// kinds are all that the operator writes.
func kinds() []client.ObjectList {
	return []client.ObjectList{&v1alpha1.InstallerList{}, &v1alpha1.AddonList{}, &v1alpha1.MigrationList{}, &helmv2.HelmReleaseList{}, &sourcev1.HelmRepositoryList{}, &sourcev1.HelmChartList{}, &corev1.ConfigMapList{}}
}

func (s *stage) list(reader client.Reader, list client.ObjectList) []client.Object {
	options := []client.ListOption{}
	if _, ok := list.(*corev1.ConfigMapList); ok {
		options = append(options, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldManager})
	}
	require.NoError(s, reader.List(s.ctx, list, options...))
	items, err := apimeta.ExtractList(list)
	require.NoError(s, err)
	objects := make([]client.Object, 0, len(items))
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects
}

// versions tells the resource version of every object of ours.
func (s *stage) versions(reader client.Reader) map[string]string {
	versions := map[string]string{}
	for _, list := range kinds() {
		for _, object := range s.list(reader, list) {
			versions[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
		}
	}
	return versions
}

// clear deletes everything that this and other tests have left, finalizers or not.
func (s *stage) clear() {
	for _, list := range kinds() {
		for _, object := range s.list(s.api, list) {
			before := object.DeepCopyObject().(client.Object)
			object.SetFinalizers(nil)
			require.NoError(s, client.IgnoreNotFound(s.api.Patch(s.ctx, object, client.MergeFrom(before))))
			require.NoError(s, client.IgnoreNotFound(s.api.Delete(s.ctx, object)))
		}
	}
	for name := range s.namespaces(s.api) {
		if strings.HasPrefix(name, "ns-") { // of a release
			require.NoError(s, client.IgnoreNotFound(s.api.Delete(s.ctx, namespaceMetadata(name))))
		}
	}
	s.finishNamespaces()
}

func (s *stage) catchUp() {
	s.Helper()
	require.True(s, s.cache.WaitForCacheSync(s.ctx))
	s.finishNamespaces()
	require.Eventually(s, func() bool {
		return maps.Equal(s.versions(s.api), s.versions(s.cache)) && maps.Equal(s.namespaces(s.api), s.namespaces(s.cache))
	}, 10*time.Second, 5*time.Millisecond, "the cache catches up")
}

// namespaces tells the resource version of every namespace.
func (s *stage) namespaces(reader client.Reader) map[string]string {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	require.NoError(s, reader.List(s.ctx, &list))
	versions := map[string]string{}
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return versions
}

// finishNamespaces plays Kubernetes' namespace controller: a namespace that is being deleted goes.
func (s *stage) finishNamespaces() {
	var list corev1.NamespaceList
	require.NoError(s, s.api.List(s.ctx, &list))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			list.Items[i].Spec.Finalizers = nil
			require.NoError(s, client.IgnoreNotFound(s.api.SubResource("finalize").Update(s.ctx, &list.Items[i])))
		}
	}
}

// pass lets every Installer and every Addon be worked on once.
func (s *stage) pass() error {
	s.Helper()
	s.playCharts()
	s.catchUp()
	for _, object := range s.list(s.api, &v1alpha1.InstallerList{}) {
		if _, err := s.installer.Reconcile(s.ctx, object.(*v1alpha1.Installer)); err != nil {
			return err
		}
	}
	s.catchUp()
	for _, object := range s.list(s.api, &v1alpha1.AddonList{}) {
		if _, err := s.addon.Reconcile(s.ctx, object.(*v1alpha1.Addon)); err != nil {
			return err
		}
	}
	return nil
}

// settle makes passes until one of them writes nothing.
func (s *stage) settle() {
	s.Helper()
	for range 20 {
		before := s.versions(s.api)
		require.NoError(s, s.pass())
		if maps.Equal(before, s.versions(s.api)) {
			s.checkConditions()
			return
		}
	}
	require.Fail(s, "the controllers never come to rest")
}

// checkConditions holds what kstatus demands of conditions.
func (s *stage) checkConditions() {
	s.Helper()
	check := func(name string, conditions []metav1.Condition, generation int64) {
		ready := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
		require.NotNil(s, ready, name)
		reconciling, stalled := apimeta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling), apimeta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled)
		assert.False(s, reconciling && stalled, "%s is both reconciling and stalled", name)
		assert.False(s, ready.Status == metav1.ConditionTrue && (reconciling || stalled), "%s is ready, and reconciling or stalled", name)
		for _, condition := range conditions {
			assert.Equal(s, generation, condition.ObservedGeneration, "%s %s", name, condition.Type)
			assert.NotEmpty(s, condition.Message, "%s %s", name, condition.Type)
		}
	}
	for _, object := range s.list(s.api, &v1alpha1.InstallerList{}) {
		check(object.GetName(), object.(*v1alpha1.Installer).Status.Conditions, object.GetGeneration())
	}
	for _, object := range s.list(s.api, &v1alpha1.AddonList{}) {
		check(object.GetName(), object.(*v1alpha1.Addon).Status.Conditions, object.GetGeneration())
	}
}

// get reads an object, which must be there, from the API server.
func get[T client.Object](s *stage, name string, into T) T {
	s.Helper()
	key := client.ObjectKey{Name: name}
	if _, ours := any(into).(*v1alpha1.Addon); !ours {
		if _, ours := any(into).(*v1alpha1.Installer); !ours {
			key.Namespace = v1alpha1.Namespace
		}
	}
	require.NoError(s, s.api.Get(s.ctx, key, into))
	return into
}

func (s *stage) missing(name string, object client.Object) bool {
	err := s.api.Get(s.ctx, client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}, object)
	if _, clusterScoped := object.(*v1alpha1.Addon); clusterScoped {
		err = s.api.Get(s.ctx, client.ObjectKey{Name: name}, object)
	}
	return apierrors.IsNotFound(err)
}

func (s *stage) apply(installer *v1alpha1.Installer) {
	s.Helper()
	installer.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installer"}
	intent, err := content(installer)
	require.NoError(s, err)
	require.NoError(s, s.api.Apply(s.ctx, client.ApplyConfigurationFromUnstructured(intent), client.ForceOwnership, client.FieldOwner("user")))
}

// deleteInstaller deletes an Installer as people do: they confirm it first.
func (s *stage) deleteInstaller(name string) {
	s.Helper()
	installer := get(s, name, &v1alpha1.Installer{})
	metav1.SetMetaDataAnnotation(&installer.ObjectMeta, v1alpha1.AnnotationConfirmDelete, name)
	require.NoError(s, s.api.Update(s.ctx, installer))
	require.NoError(s, s.api.Delete(s.ctx, installer))
}

func (s *stage) state(addon string) v1alpha1.AddonState {
	return get(s, addon, &v1alpha1.Addon{}).Status.State
}
