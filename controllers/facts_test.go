package controllers

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// ledger counts what is asked of the API server, by path.
type ledger struct {
	next http.RoundTripper

	mu    sync.Mutex
	asked map[string]int
}

func (l *ledger) RoundTrip(request *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.asked[request.URL.Path]++
	l.mu.Unlock()
	return l.next.RoundTrip(request)
}

func (l *ledger) count(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[path]
}

// factsStage is an API server whose objects are read, with a clock of its own.
type factsStage struct {
	*testing.T

	api   client.Client
	facts *Facts
	clock *clocktesting.FakeClock
	asked *ledger
}

func newFactsStage(t *testing.T, edits ...func(*rest.Config)) *factsStage {
	t.Helper()
	s := &factsStage{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), asked: &ledger{asked: map[string]int{}}}
	var err error
	s.api, err = client.New(config, client.Options{})
	require.NoError(t, err)
	watched := rest.CopyConfig(config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper { s.asked.next = next; return s.asked })
	for _, apply := range edits {
		apply(watched)
	}
	s.facts, err = NewFacts(watched, s.clock)
	require.NoError(t, err)
	return s
}

// make objects that go with the test.
func (s *factsStage) make(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.api.Create(s.Context(), object))
		s.Cleanup(func() { _ = s.api.Delete(context.WithoutCancel(s.Context()), object) })
	}
}

// configMaps makes some in a namespace of their own, and returns a query for them.
func (s *factsStage) configMaps(namespace string, count int) v1alpha1.ResourceQuery {
	s.Helper()
	s.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for i := range count {
		s.make(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("map-%03d", i), Labels: map[string]string{"parity": []string{"even", "odd"}[i%2]},
		}})
	}
	return v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace}
}

func (s *factsStage) names(query v1alpha1.ResourceQuery) []string {
	s.Helper()
	objects, err := s.facts.Read(s.Context(), query, true)
	require.NoError(s, err)
	var names []string
	for _, object := range objects {
		read := unstructured.Unstructured{Object: object}
		assert.Empty(s, read.GetManagedFields())
		assert.Equal(s, query.Kind, read.GetKind())
		names = append(names, read.GetName())
	}
	return names
}

func TestFactsAreFoundByNamespaceNameAndLabels(t *testing.T) {
	s := newFactsStage(t)
	s.facts.page = 2
	query := s.configMaps("facts-found", 5)
	assert.Equal(t, []string{"map-000", "map-001", "map-002", "map-003", "map-004"}, s.names(query), "in pages")
	query.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"parity": "odd"}}
	assert.Equal(t, []string{"map-001", "map-003"}, s.names(query))
	query.Selector = &metav1.LabelSelector{}
	assert.Len(t, s.names(query), 5, "an empty selector selects all")
	query.Name = "map-002"
	assert.Equal(t, []string{"map-002"}, s.names(query))
	query.Namespace = ""
	assert.Equal(t, []string{"map-002"}, s.names(query), "in any namespace")
	query.Name = "map-9"
	assert.Empty(t, s.names(query))
	assert.Equal(t, []string{"facts-found"}, s.names(v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "Namespace", Name: "facts-found"}))
}

func TestFactsAreLimited(t *testing.T) {
	s := newFactsStage(t)
	query := s.configMaps("facts-limited", 7)
	for _, page := range []int64{2, 3, 500} {
		s.facts.page, s.facts.limit = page, 7
		assert.Len(t, s.names(query), 7, "pages of %d", page)
		s.facts.limit = 6
		_, err := s.facts.Read(t.Context(), query, true)
		require.EqualError(t, err, "there are more than 6 configmaps: narrow the query by selector, namespace or name")
		query.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"parity": "odd"}}
		assert.Len(t, s.names(query), 3)
		query.Selector = nil
	}
}

func TestFactsAreShared(t *testing.T) {
	s := newFactsStage(t)
	const path = "/api/v1/namespaces/facts-shared/configmaps"
	query := s.configMaps("facts-shared", 1)
	query.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"parity": "even"}}
	ask := func(fresh bool) {
		t.Helper()
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				alike := query
				alike.Selector = query.Selector.DeepCopy()
				objects, err := s.facts.Read(t.Context(), alike, fresh)
				assert.Len(t, objects, 1, "%v", err)
			})
		}
		group.Wait()
	}
	ask(false)
	require.Equal(t, 1, s.asked.count(path))
	s.clock.Step(9 * time.Second)
	ask(false)
	require.Equal(t, 1, s.asked.count(path), "for ten seconds")
	ask(true)
	require.Equal(t, 101, s.asked.count(path), "fresh ones are read each time")
	s.clock.Step(9 * time.Second)
	ask(false)
	require.Equal(t, 101, s.asked.count(path), "and are shared by those that need not be")
	require.Equal(t, 1, s.asked.count("/api/v1"), "what the kind is called is known")
	s.clock.Step(2 * time.Second)
	ask(false)
	require.Equal(t, 102, s.asked.count(path))
	require.Eventually(t, func() bool { s.clock.Step(11 * time.Second); return s.held() == 0 }, 10*time.Second, 10*time.Millisecond, "nothing old is held in memory")

	wrong := v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "ConfigMaps"}
	for range 10 {
		_, err := s.facts.Read(t.Context(), wrong, false)
		require.ErrorContains(t, err, "did you mean ConfigMap?")
	}
	require.Equal(t, 2, s.asked.count("/api/v1"), "errors are shared too")
}

func (s *factsStage) held() int {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	return len(s.facts.shared)
}

func TestFactsSayWhatIsWrongWithAQuery(t *testing.T) {
	s := newFactsStage(t)
	for name, test := range map[string]struct {
		query v1alpha1.ResourceQuery
		says  string
	}{
		"unknown kind of Kubernetes":    {v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "PersistantVolume"}, `the API server serves no kind "PersistantVolume" in apiVersion "v1", which is an API group of Kubernetes itself: correct apiVersion or kind`},
		"unknown version of Kubernetes": {v1alpha1.ResourceQuery{APIVersion: "v2", Kind: "Secretive"}, `the API server serves no kind "Secretive" in apiVersion "v2", which is an API group of Kubernetes itself: correct apiVersion or kind`},
		"plural":                        {v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "PersistentVolumes"}, `the API server serves no kind "PersistentVolumes" in apiVersion "v1": did you mean PersistentVolume?`},
		"lower case":                    {v1alpha1.ResourceQuery{APIVersion: "apps/v1", Kind: "deployment"}, `the API server serves no kind "deployment" in apiVersion "apps/v1": did you mean Deployment?`},
		"another version":               {v1alpha1.ResourceQuery{APIVersion: "apps/v1beta1", Kind: "Deployment"}, `the API server serves no kind "Deployment" in apiVersion "apps/v1beta1", but Deployment in apps/v1`},
		"another version, lower case":   {v1alpha1.ResourceQuery{APIVersion: "helm.toolkit.fluxcd.io/v1", Kind: "helmrelease"}, `the API server serves no kind "helmrelease" in apiVersion "helm.toolkit.fluxcd.io/v1", but HelmRelease in helm.toolkit.fluxcd.io/v2, HelmRelease in helm.toolkit.fluxcd.io/v2beta2`},
		"group of another name":         {v1alpha1.ResourceQuery{APIVersion: "storage.k8s.io/v1", Kind: "PersistentVolume"}, `the API server serves no kind "PersistentVolume" in apiVersion "storage.k8s.io/v1", which is an API group of Kubernetes itself: correct apiVersion or kind`},
		"namespace for what has none":   {v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "PersistentVolume", Namespace: "default"}, `objects of kind PersistentVolume are in no namespace: leave out namespace "default"`},
		"cannot be listed":              {v1alpha1.ResourceQuery{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}, `objects of apiVersion authentication.k8s.io/v1, kind TokenReview cannot be listed`},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := s.facts.Read(t.Context(), test.query, false)
			require.EqualError(t, err, test.says)
			require.Empty(t, objects)
		})
	}
}

func TestAKindThatIsNotInstalledHasNoObjects(t *testing.T) {
	s := newFactsStage(t)
	widgets := v1alpha1.ResourceQuery{APIVersion: "facts.example.com/v1", Kind: "Widget"}
	assert.Empty(t, s.names(widgets), "no such group")
	assert.Empty(t, s.names(v1alpha1.ResourceQuery{APIVersion: "snapshot.storage.k8s.io/v1", Kind: "VolumeSnapshot"}), "Kubernetes' own name, but a CRD's group")
	assert.Empty(t, s.names(v1alpha1.ResourceQuery{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmWish"}), "a served group")

	crd := widgetCRD()
	s.make(crd)
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "facts.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}
	require.Eventually(t, func() bool { return s.api.Create(t.Context(), widget) == nil }, 20*time.Second, 50*time.Millisecond, "the CRD comes into force")
	assert.Equal(t, []string{"w"}, s.names(widgets))
	_, err := s.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "facts.example.com/v1alpha1", Kind: "Widget"}, false)
	require.EqualError(t, err, `the API server serves no kind "Widget" in apiVersion "facts.example.com/v1alpha1", but Widget in facts.example.com/v1`)

	require.NoError(t, s.api.Delete(t.Context(), crd))
	require.Eventually(t, func() bool { return apierrors.IsNotFound(s.api.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)) }, 20*time.Second, 50*time.Millisecond, "the CRD goes")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		objects, err := s.facts.Read(t.Context(), widgets, true)
		assert.NoError(c, err)
		assert.Empty(c, objects)
	}, 20*time.Second, 50*time.Millisecond, "what was known of the kind is forgotten")
}

func widgetCRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.facts.example.com"},
		"spec": map[string]any{
			"group": "facts.example.com", "scope": "Cluster", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

// An API server that does not answer, and one that does not serve what it stores, are not taken for a kind that is not installed.
func TestAKindThatCannotBeSeenIsNotMissing(t *testing.T) {
	s := newFactsStage(t)
	s.make(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.down.example.com"},
		"spec": map[string]any{
			"group": "down.example.com", "version": "v1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"},
		},
	}})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := s.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "down.example.com/v1", Kind: "Thing"}, true)
		assert.ErrorContains(c, err, "asking the API server for the kinds in down.example.com/v1: ")
	}, 20*time.Second, 50*time.Millisecond, "an aggregated API that is down")
	_, err := s.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "down.example.com/v2", Kind: "Thing"}, true)
	require.ErrorContains(t, err, "asking the API server for the kinds in down.example.com/v1: ", "also where another version is asked for")

	rival := widgetCRD() // its kind is taken by another CRD of the group
	require.NoError(t, unstructured.SetNestedField(rival.Object, "gadgets", "spec", "names", "plural"))
	require.NoError(t, unstructured.SetNestedField(rival.Object, "gadget", "spec", "names", "singular"))
	require.NoError(t, unstructured.SetNestedField(rival.Object, "HelmRelease", "spec", "names", "kind"))
	require.NoError(t, unstructured.SetNestedField(rival.Object, "helm.toolkit.fluxcd.io", "spec", "group"))
	rival.SetName("gadgets.helm.toolkit.fluxcd.io")
	s.make(rival)
	_, err = s.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "Gadget"}, true)
	require.EqualError(t, err, "the CRD gadgets.helm.toolkit.fluxcd.io exists, but the API server does not serve it: look at its conditions with `kubectl describe crd gadgets.helm.toolkit.fluxcd.io`")

	gone := newFactsStage(t, func(c *rest.Config) { c.Host = "https://127.0.0.1:1" })
	_, err = gone.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "facts.example.com/v1", Kind: "Widget"}, true)
	require.ErrorContains(t, err, "asking the API server for the kinds in facts.example.com/v1: ")
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	s := newFactsStage(t, func(c *rest.Config) {
		c.Impersonate = rest.ImpersonationConfig{UserName: "facts-reader", Groups: []string{"system:authenticated"}}
	})
	releases := v1alpha1.ResourceQuery{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease"}
	_, err := s.facts.Read(t.Context(), releases, true)
	require.EqualError(t, err, `the operator may not list helmreleases.helm.toolkit.fluxcd.io: allow it with a ClusterRole that has the label addons.kurl.sh/aggregate-to-facts: "true" and the rule {apiGroups: ["helm.toolkit.fluxcd.io"], resources: ["helmreleases"], verbs: ["get", "list"]}`)
	_, err = s.facts.Read(t.Context(), v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "Node"}, true)
	require.ErrorContains(t, err, `the rule {apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"]}`)

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "facts-reader"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"helm.toolkit.fluxcd.io"}, Resources: []string{"helmreleases"}, Verbs: []string{"get", "list"}}}}
	s.make(role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "facts-reader"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "facts-reader"}},
	})
	require.Eventually(t, func() bool { _, err := s.facts.Read(t.Context(), releases, true); return err == nil }, 10*time.Second, 20*time.Millisecond, "with that rule it may")
}
