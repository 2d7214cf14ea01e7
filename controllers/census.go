package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/kurlsh/addon-operator/addons"
)

const (
	// censusPage is how many objects are listed at a time.
	censusPage = 500
	// patience is how long objects that are being deleted are waited for, and a kind that cannot be listed is tried.
	patience = 10 * time.Minute
)

// byproducts are kinds that Kubernetes makes and deletes by itself beside others, with the labels of those. Nothing in them is worth a look.
var byproducts = map[string]bool{"events": true, "endpoints": true, "endpointslices": true}

// Census lists objects of every kind that can be listed and deleted, by their metadata alone.
type Census struct {
	Discovery discovery.ServerResourcesInterface
	Metadata  metadata.Interface
	Clock     clock.PassiveClock

	failing failures[schema.GroupVersionResource] // kinds that could not be listed
}

// kind is one kind of objects.
type kind struct {
	schema.GroupVersionResource

	name       string
	namespaced bool
}

// findings are what one census found.
type findings struct {
	kinds   []kind
	objects []object
	unseen  []addons.Unseen
}

// object is one that is there.
type object struct {
	*metav1.PartialObjectMetadata

	kind kind
}

func (o object) terminating() bool { return o.DeletionTimestamp != nil }

// path names an object in the form of receipts.
func (o object) path() string {
	if o.Namespace == "" {
		return o.kind.Resource + "/" + o.Name
	}
	return o.kind.Resource + "/" + o.Namespace + "/" + o.Name
}

// kinds asks the API server for its kinds. API groups that do not answer are unseen; those of metrics hold nothing that can be
// deleted.
func (c *Census) kinds() ([]kind, []addons.Unseen, error) {
	lists, err := c.Discovery.ServerPreferredResources()
	silent, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, nil, fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	var kinds []kind
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("reading API group %s: %w", list.GroupVersion, err)
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") && !byproducts[resource.Name] {
				kinds = append(kinds, kind{group.WithResource(resource.Name), resource.Kind, resource.Namespaced})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	var unseen []addons.Unseen
	for group, err := range silent {
		if !strings.HasSuffix(group.Group, "metrics.k8s.io") {
			unseen = append(unseen, addons.Unseen{Resource: group.String(), Problem: err.Error()})
		}
	}
	return kinds, unseen, nil
}

// everything lists the objects with some labels, of every kind.
func (c *Census) everything(ctx context.Context, selector string) (findings, error) {
	return c.count(ctx, "", selector, func(kind) bool { return true })
}

// inside lists the objects in a namespace, of every kind.
func (c *Census) inside(ctx context.Context, namespace string) (findings, error) {
	return c.count(ctx, namespace, "", func(k kind) bool { return k.namespaced })
}

func (c *Census) count(ctx context.Context, namespace, selector string, wanted func(kind) bool) (findings, error) {
	kinds, unseen, err := c.kinds()
	found := findings{kinds: kinds, unseen: unseen}
	if err != nil {
		return found, err
	}
	for _, k := range kinds {
		if !wanted(k) {
			continue
		}
		objects, blind, err := c.list(ctx, k, namespace, selector)
		if err != nil {
			return found, err
		}
		found.objects = append(found.objects, objects...)
		if blind != nil {
			found.unseen = append(found.unseen, *blind)
		}
	}
	return found, nil
}

// list returns the objects of a kind, or why they cannot be seen. It returns an error while it is worth trying again.
func (c *Census) list(ctx context.Context, k kind, namespace, selector string) ([]object, *addons.Unseen, error) {
	var objects []object
	options := metav1.ListOptions{LabelSelector: selector, Limit: censusPage}
	for {
		page, err := c.Metadata.Resource(k.GroupVersionResource).Namespace(namespace).List(ctx, options)
		if err != nil {
			blind, err := c.blind(ctx, k, err)
			return nil, blind, err
		}
		for i := range page.Items {
			objects = append(objects, object{&page.Items[i], k})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			c.failing.forget(k.GroupVersionResource)
			return objects, nil, nil
		}
	}
}

// blind says what a failure to list means: a kind that has just gone has no objects, one that is forbidden is unseen, and so is one
// that keeps failing, for example because the webhook that converts it went with its add-on.
func (c *Census) blind(ctx context.Context, k kind, err error) (*addons.Unseen, error) {
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return &addons.Unseen{Resource: k.GroupResource().String(), Forbidden: true}, nil
	case ctx.Err() == nil && c.givesUp(k):
		return &addons.Unseen{Resource: k.GroupResource().String(), Problem: err.Error()}, nil
	default:
		return nil, fmt.Errorf("listing %s: %w", k.GroupResource(), err)
	}
}

func (c *Census) givesUp(k kind) bool {
	c.failing.note(k.GroupVersionResource, c.Clock.Now())
	return c.failing.last(k.GroupVersionResource, patience, c.Clock.Now())
}
