package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// maxObjects is how many objects a query may find: they are held in memory, and CEL goes through them.
	maxObjects = 10_000
	// factsPage is how many objects are read at a time.
	factsPage = 500
	// sharedFor is how long the answer to a query is shared by all who ask the same.
	sharedFor = 10 * time.Second
	// bigReads is how many queries that find more than a page may be read at a time, to bound memory.
	bigReads = 2
	// labelFacts marks ClusterRoles whose rules are given to the operator, for what checks look at.
	labelFacts = "addons.kurl.sh/aggregate-to-facts"
	// factsTimeout is how long the API server may take to answer a query.
	factsTimeout = time.Minute
)

// Facts reads the objects that checks look at, of any kind, from the API server: a cache would hold every object of each kind that some
// check has ever looked at. Use NewFacts.
type Facts struct {
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery rest.Interface
	clock     clock.WithDelayedExecution
	limit     int // of objects that a query finds
	page      int64
	big       chan struct{} // holds one for each big read that is under way

	mu     sync.Mutex
	shared map[string]*reading
	known  map[schema.GroupVersionKind]kind
}

// reading is one answer to a query, for all who wait for it; it is read-only once done is closed.
type reading struct {
	began   time.Time
	done    chan struct{}
	objects []map[string]any
	err     error
}

// NewFacts connects to the API server.
func NewFacts(config *rest.Config, clock clock.WithDelayedExecution) (*Facts, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server for facts: %w", err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server for metadata: %w", err)
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server's discovery: %w", err)
	}
	return &Facts{
		dynamic: objects, metadata: names, discovery: server.RESTClient(), clock: clock, limit: maxObjects, page: factsPage, big: make(chan struct{}, bigReads),
		shared: map[string]*reading{}, known: map[schema.GroupVersionKind]kind{},
	}, nil
}

// Read returns the objects that a query finds, without managed fields; they are shared, and must not be changed. A kind whose CRD is not
// installed has none. Unless they must be fresh, they may have been read up to ten seconds ago, for whoever asked the same. The error says
// what is wrong with the query, or which permission is missing.
func (f *Facts) Read(ctx context.Context, query v1alpha1.ResourceQuery, fresh bool) ([]map[string]any, error) {
	key, err := json.Marshal(query)
	if err != nil {
		return nil, fmt.Errorf("reading the query for %s: %w", query.Kind, err)
	}
	shared := f.reading(ctx, string(key), query, fresh)
	select {
	case <-shared.done:
		return shared.objects, shared.err
	case <-ctx.Done():
		return nil, fmt.Errorf("reading %s: %w", query.Kind, ctx.Err())
	}
}

// reading returns the shared answer, or begins to read a new one, which outlives the caller, since others may have come to wait for it.
func (f *Facts) reading(ctx context.Context, key string, query v1alpha1.ResourceQuery, fresh bool) *reading {
	now := f.clock.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared := f.shared[key]; shared != nil && !fresh && (shared.underWay() || now.Sub(shared.began) <= sharedFor) {
		return shared
	}
	r := &reading{began: now, done: make(chan struct{})}
	f.shared[key] = r
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), factsTimeout)
		defer cancel()
		r.objects, r.err = f.find(ctx, query)
		close(r.done)
		f.clock.AfterFunc(sharedFor, func() { f.drop(key, r) })
	}()
	return r
}

func (r *reading) underWay() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (f *Facts) drop(key string, r *reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[key] == r {
		delete(f.shared, key)
	}
}

// find reads the objects. A kind that is known may have gone since, with its CRD: it is then looked up again.
func (f *Facts) find(ctx context.Context, query v1alpha1.ResourceQuery) ([]map[string]any, error) {
	group, err := schema.ParseGroupVersion(query.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading apiVersion %q: %w", query.APIVersion, err)
	}
	gvk := group.WithKind(query.Kind)
	for _, again := range []bool{false, true} {
		k, err := f.kind(ctx, gvk, again)
		if errors.Is(err, errNotInstalled) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		objects, err := f.list(ctx, k, query)
		if !apierrors.IsNotFound(err) {
			return objects, err
		}
	}
	return nil, fmt.Errorf("the API server says that it serves %s, and that it does not: its CRD may be about to go", gvk)
}

// kind looks up what the API server calls a kind; again means that what is known of it is wrong.
func (f *Facts) kind(ctx context.Context, gvk schema.GroupVersionKind, again bool) (kind, error) {
	f.mu.Lock()
	known, ok := f.known[gvk]
	f.mu.Unlock()
	if ok && !again {
		return known, nil
	}
	k, err := f.lookUp(ctx, gvk)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, gvk)
	if err == nil {
		f.known[gvk] = k
	}
	return k, err
}

func (f *Facts) list(ctx context.Context, k kind, query v1alpha1.ResourceQuery) ([]map[string]any, error) {
	options, err := f.options(k, query)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for {
		page, err := f.dynamic.Resource(k.GroupVersionResource).Namespace(query.Namespace).List(ctx, options)
		if err != nil {
			return nil, refusal(k, err)
		}
		for i := range page.Items {
			page.Items[i].SetManagedFields(nil)
			objects = append(objects, page.Items[i].Object)
		}
		if len(objects)+remaining(page) > f.limit {
			return nil, fmt.Errorf("there are more than %d %s: narrow the query by selector, namespace or name", f.limit, k.Resource)
		}
		if page.GetContinue() == "" {
			return objects, nil
		}
		if options.Continue == "" {
			if err := f.waitForTurn(ctx); err != nil {
				return nil, fmt.Errorf("waiting to read all %s: %w", k.Resource, err)
			}
			defer f.endTurn()
		}
		options.Continue = page.GetContinue()
	}
}

func (f *Facts) options(k kind, query v1alpha1.ResourceQuery) (metav1.ListOptions, error) {
	options := metav1.ListOptions{Limit: f.page}
	if query.Namespace != "" && !k.namespaced {
		return options, fmt.Errorf("objects of kind %s are in no namespace: leave out namespace %q", k.name, query.Namespace)
	}
	if query.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(query.Selector)
		if err != nil {
			return options, fmt.Errorf("reading the selector of %s: %w", k.Resource, err)
		}
		options.LabelSelector = selector.String()
	}
	if query.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, query.Name).String()
	}
	return options, nil
}

// remaining is how many objects come after a page, as far as the API server says.
func remaining(page *unstructured.UnstructuredList) int {
	if count := page.GetRemainingItemCount(); count != nil {
		return int(*count)
	}
	return 0
}

func (f *Facts) waitForTurn(ctx context.Context) error {
	select {
	case f.big <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Facts) endTurn() { <-f.big }

// refusal says what an error on listing means; one that says that there is no such resource is left as it is.
func refusal(k kind, err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", k.GroupResource(), err)
	}
	return fmt.Errorf(`the operator may not list %s: allow it with a ClusterRole that has the label %s: "true" and the rule {apiGroups: [%q], resources: [%q], verbs: ["get", "list"]}`,
		k.GroupResource(), labelFacts, k.Group, k.Resource)
}
