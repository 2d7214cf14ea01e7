package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldManager = "test-cluster"

// Apply applies all YAML documents of a manifest server-side, in their order,
// as administrator, and waits until the CRDs among them are established.
func (c *Cluster) Apply(ctx context.Context, manifest []byte) error {
	api, err := newClient(c.RESTConfig())
	if err != nil {
		return err
	}
	return applyManifest(ctx, api, manifest)
}

func newClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return api, nil
}

func applyManifest(ctx context.Context, api client.Client, manifest []byte) error {
	objects, err := parseManifest(manifest)
	if err != nil {
		return err
	}
	for _, object := range objects {
		what := object.GetKind() + " " + object.GetName()
		apply := client.ApplyConfigurationFromUnstructured(object)
		if err := api.Apply(ctx, apply, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s: %w", what, err)
		}
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := waitEstablished(ctx, api, object.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func parseManifest(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("read a manifest: %w", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

func waitEstablished(ctx context.Context, api client.Client, name string) error {
	return poll(ctx, "CRD "+name+" to be established", func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := api.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return false, err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}
