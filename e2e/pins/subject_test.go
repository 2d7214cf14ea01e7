package pins

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// release is one of a test chart as the operator asks for it; values is YAML.
func (w *world) release(t *testing.T, name, chart, version, values string) addons.Release {
	t.Helper()
	r := addons.Release{
		Addon: "pin", Name: name, Namespace: target, Chart: chart, ChartVersion: version,
		Repository: addons.Repository{URL: w.charts.HTTPURL()},
		CRDs:       v1alpha1.CRDCreateReplace, OnFailure: v1alpha1.FailureRetry, Drift: v1alpha1.DriftDisabled,
		Timeout: addons.DefaultTimeout,
	}
	if values != "" {
		raw, err := yaml.YAMLToJSON([]byte(values))
		require.NoError(t, err)
		r.Values = &apiextensionsv1.JSON{Raw: raw}
	}
	return r
}

// moment is one state of a HelmRelease that the watch showed, and how flux.Observe read it.
type moment struct {
	*helmv2.HelmRelease
	sources flux.Sources
	seen    addons.Observed
}

func (m moment) condition(kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(m.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: "absent"}
}

// ready is "True", "False", "Unknown" or "absent".
func (m moment) ready() string { return string(m.condition(meta.ReadyCondition).Status) }

// observed says whether Flux's observedGeneration is that of the spec.
func (m moment) observed() bool { return m.Status.ObservedGeneration == m.Generation }

// history lists Helm's revisions, newest first, as in "v2 deployed 1.1.0".
func (m moment) history() []string {
	var all []string
	for _, s := range m.Status.History {
		all = append(all, fmt.Sprintf("v%d %s %s", s.Version, s.Status, s.ChartVersion))
	}
	return all
}

func (m moment) String() string {
	var conditions []string
	for _, c := range m.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s/%s@%d(%s)", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
	}
	return fmt.Sprintf("generation %d observed %d attempted %d handled %q history %v %s | %s: %s", m.Generation, m.Status.ObservedGeneration,
		m.Status.LastAttemptedGeneration, m.Status.LastHandledReconcileAt, m.history(), strings.Join(conditions, " "), m.seen.Phase, m.seen.Message)
}

// subject is a HelmRelease that is watched: it keeps every moment.
type subject struct {
	*world
	name string

	mutex   sync.Mutex
	moments []moment
	next    chan struct{} // closed at the next moment
}

// watch follows a HelmRelease, whether it exists yet or not.
func (w *world) watch(t *testing.T, name string) *subject {
	t.Helper()
	s := &subject{world: w, name: name, next: make(chan struct{})}
	watching, err := w.api.Watch(t.Context(), &helmv2.HelmReleaseList{}, client.InNamespace(v1alpha1.Namespace), client.MatchingFields{"metadata.name": name})
	require.NoError(t, err)
	go func() {
		for event := range watching.ResultChan() {
			if hr, ok := event.Object.(*helmv2.HelmRelease); ok {
				s.record(t.Context(), hr)
			}
		}
	}()
	return s
}

// record keeps what the watch showed.
func (s *subject) record(ctx context.Context, hr *helmv2.HelmRelease) {
	m := s.observe(ctx, hr)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.moments = append(s.moments, m)
	close(s.next)
	s.next = make(chan struct{})
}

// look is the present moment.
func (s *subject) look(t *testing.T) moment {
	t.Helper()
	return s.observe(t.Context(), s.get(t))
}

// observe reads the sources beside a HelmRelease, as the operator does.
func (w *world) observe(ctx context.Context, hr *helmv2.HelmRelease) moment {
	m := moment{HelmRelease: hr}
	chart := &sourcev1.HelmChart{}
	if w.api.Get(ctx, client.ObjectKey{Namespace: hr.Namespace, Name: hr.Namespace + "-" + hr.Name}, chart) == nil {
		m.sources.Chart = chart
	}
	repository := &sourcev1.HelmRepository{}
	if w.api.Get(ctx, client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.Chart.Spec.SourceRef.Name}, repository) == nil {
		m.sources.Repository = repository
	}
	m.seen = flux.Observe(hr, m.sources)
	return m
}

// start applies a release as the operator does, and watches it from its creation on.
func (w *world) start(t *testing.T, r addons.Release, change ...func(*helmv2.HelmRelease)) *subject {
	t.Helper()
	s := w.watch(t, r.Name)
	s.apply(t, r, change...)
	return s
}

// apply writes the full intent of a release server-side, with its repository and its default values.
func (s *subject) apply(t *testing.T, r addons.Release, change ...func(*helmv2.HelmRelease)) {
	t.Helper()
	hr := flux.HelmRelease(r)
	for _, c := range change {
		c(hr)
	}
	s.write(t, flux.Repository(r.Repository))
	if defaults := flux.Defaults(r); defaults != nil {
		s.write(t, defaults)
	}
	s.write(t, hr)
}

func (w *world) write(t *testing.T, object client.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	require.NoError(t, w.api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership, client.FieldOwner(manager)))
}

// patch changes the HelmRelease as it is now, and returns the result.
func (s *subject) patch(t *testing.T, change func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	t.Helper()
	hr := s.get(t)
	before := hr.DeepCopy()
	change(hr)
	require.NoError(t, s.api.Patch(t.Context(), hr, client.MergeFrom(before), client.FieldOwner(manager)))
	return hr
}

func (s *subject) get(t *testing.T) *helmv2.HelmRelease {
	t.Helper()
	hr := &helmv2.HelmRelease{}
	require.NoError(t, s.api.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace, Name: s.name}, hr))
	return hr
}

// poke asks Flux to look at the release now, and returns the token.
func (s *subject) poke(t *testing.T) string {
	t.Helper()
	token := fmt.Sprintf("poke-%d", time.Now().UnixNano())
	s.patch(t, func(hr *helmv2.HelmRelease) { annotate(hr, meta.ReconcileRequestAnnotation, token) })
	return token
}

func annotate(hr *helmv2.HelmRelease, key, value string) {
	if hr.Annotations == nil {
		hr.Annotations = map[string]string{}
	}
	hr.Annotations[key] = value
}

// await returns the first moment, from the newest that is known on, of which ok holds.
func (s *subject) await(t *testing.T, what string, ok func(moment) bool) moment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.mutex.Lock()
	from := max(0, len(s.moments)-1)
	s.mutex.Unlock()
	for {
		s.mutex.Lock()
		moments, next := s.moments, s.next
		s.mutex.Unlock()
		for ; from < len(moments); from++ {
			if ok(moments[from]) {
				return moments[from]
			}
		}
		select {
		case <-next:
		case <-ctx.Done():
			require.FailNow(t, "waited in vain", "for %s to be %s; its moments:\n%s", s.name, what, strings.Join(s.film(0), "\n"))
		}
	}
}

// since returns the moments from a number of them on.
func (s *subject) since(mark int) []moment {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.moments[mark:]
}

// mark is the number of moments so far.
func (s *subject) mark() int { return len(s.since(0)) }

func (s *subject) film(mark int) []string {
	var lines []string
	for _, m := range s.since(mark) {
		lines = append(lines, m.String())
	}
	return lines
}

// awaitSettled waits until flux.Observe calls the newest spec settled.
func (s *subject) awaitSettled(t *testing.T) moment {
	t.Helper()
	generation := s.get(t).Generation
	return s.await(t, "settled", func(m moment) bool { return m.Generation >= generation && m.seen.Phase == addons.PhaseSettled })
}

// awaitHandled waits until a check that saw the token has ended.
func (s *subject) awaitHandled(t *testing.T, token string) moment {
	t.Helper()
	return s.await(t, "checked on request "+token, func(m moment) bool { return m.Status.LastHandledReconcileAt == token })
}

// eventually polls until nothing in check fails.
func eventually(t *testing.T, check func(*assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, check, patience, pollInterval)
}

// gone reports whether there is no such object.
func (w *world) gone(t require.TestingT, object client.Object) bool {
	err := w.api.Get(context.Background(), client.ObjectKeyFromObject(object), object)
	require.NoError(t, client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err)
}
