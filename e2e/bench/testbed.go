package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// testbed is a fresh cluster with the charts served and, in most runs, the operator.
type testbed struct {
	cluster  *cluster.Cluster
	charts   string // address of the Helm repository
	api      client.WithWatch
	progress io.Writer
}

func newTestbed(ctx context.Context, progress io.Writer) (*testbed, error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	b := &testbed{cluster: c, progress: progress}
	if err := b.connect(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return b, nil
}

func (b *testbed) connect(ctx context.Context) error {
	charts, err := b.cluster.ServeCharts(ctx)
	if err != nil {
		return err
	}
	b.charts = charts.HTTPURL()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register types: %w", err)
		}
	}
	if b.api, err = client.NewWithWatch(b.cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	return nil
}

// apply does what kubectl apply --server-side does.
func (b *testbed) apply(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("convert %s: %w", object.GetName(), err)
		}
		delete(content, "status")
		u := &unstructured.Unstructured{Object: content}
		gvk, err := apiutil.GVKForObject(object, b.api.Scheme())
		if err != nil {
			return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
		}
		u.SetGroupVersionKind(gvk)
		if err := b.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("bench"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", gvk.Kind, object.GetName(), err)
		}
	}
	return nil
}

// stream delivers the objects of one kind as they are, and again whenever they change.
type stream[T client.Object] struct{ watch watch.Interface }

func follow[T client.Object](ctx context.Context, b *testbed, list client.ObjectList, options ...client.ListOption) (stream[T], error) {
	w, err := b.api.Watch(ctx, list, options...)
	if err != nil {
		return stream[T]{}, fmt.Errorf("watch %T: %w", list, err)
	}
	return stream[T]{watch: w}, nil
}

// until hands over objects until done says so. It returns early when done fails, the watch breaks, or the context ends.
func (s stream[T]) until(ctx context.Context, done func(T) (bool, error)) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("watch: %w", ctx.Err())
		case event, open := <-s.watch.ResultChan():
			object, ok := event.Object.(T)
			if !open || !ok {
				return fmt.Errorf("the watch broke off: %s %v", event.Type, event.Object)
			}
			if finished, err := done(object); finished || err != nil {
				return err
			}
		}
	}
}
