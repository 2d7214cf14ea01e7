package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// errNotInstalled means that no CRD of a kind is installed.
var errNotInstalled = errors.New("no CRD of this kind is installed")

// lookUp asks the API server for a kind now. A failure to answer is an error, and never taken for errNotInstalled; so is a kind that can
// only be a mistake.
func (f *Facts) lookUp(ctx context.Context, gvk schema.GroupVersionKind) (kind, error) {
	resources, err := f.resources(ctx, gvk.GroupVersion())
	if err != nil {
		return kind{}, err
	}
	at := slices.IndexFunc(resources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind })
	if at < 0 {
		return kind{}, f.missing(ctx, gvk, resources)
	}
	found := resources[at]
	if !slices.Contains(found.Verbs, "list") {
		return kind{}, fmt.Errorf("objects of apiVersion %s, kind %s cannot be listed", gvk.GroupVersion(), gvk.Kind)
	}
	return kind{gvk.GroupVersion().WithResource(found.Name), found.Kind, found.Namespaced}, nil
}

// missing says why there is no kind in a version of a group, which has other resources or is not served at all.
func (f *Facts) missing(ctx context.Context, gvk schema.GroupVersionKind, served []metav1.APIResource) error {
	wrong := fmt.Sprintf("the API server serves no kind %q in apiVersion %q", gvk.Kind, gvk.GroupVersion())
	if at := slices.IndexFunc(served, func(r metav1.APIResource) bool { return resembles(r, gvk.Kind) }); at >= 0 {
		return fmt.Errorf("%s: did you mean %s?", wrong, served[at].Kind)
	}
	versions, err := f.versions(ctx, gvk.Group)
	if err != nil {
		return err
	}
	var others, plurals []string
	for _, version := range versions {
		resources, err := f.resources(ctx, version)
		if err != nil {
			return err
		}
		for _, resource := range resources {
			plurals = append(plurals, resource.Name)
			if resource.Kind == gvk.Kind || resembles(resource, gvk.Kind) {
				others = append(others, fmt.Sprintf("%s in %s", resource.Kind, version))
			}
		}
	}
	switch {
	case len(others) > 0:
		return fmt.Errorf("%s, but %s", wrong, strings.Join(others, ", "))
	case builtin(gvk.Group):
		return fmt.Errorf("%s, which is an API group of Kubernetes itself: correct apiVersion or kind", wrong)
	}
	if err := f.unserved(ctx, gvk.Group, plurals); err != nil {
		return err
	}
	return errNotInstalled
}

// resembles says whether a kind is meant that was written in lower case, or as the name of the resource.
func resembles(resource metav1.APIResource, kind string) bool {
	return strings.EqualFold(kind, resource.Kind) || strings.EqualFold(kind, resource.Name) || strings.EqualFold(kind, resource.Kind+"s")
}

// builtin says whether an API group is Kubernetes' own, and thus never comes with a CRD.
func builtin(group string) bool {
	return clientgoscheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}

// unserved returns an error if there is a CRD of a group that the API server does not serve, for example since it conflicts with another:
// there may be objects that nobody can see.
func (f *Facts) unserved(ctx context.Context, group string, served []string) error {
	definitions, err := f.metadata.Resource(crds.WithVersion("v1")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return refusal(kind{GroupVersionResource: crds.WithVersion("v1")}, err)
	}
	for i := range definitions.Items {
		if plural, ours := strings.CutSuffix(definitions.Items[i].Name, "."+group); ours && !slices.Contains(served, plural) {
			return fmt.Errorf("the CRD %s exists, but the API server does not serve it: look at its conditions with `kubectl describe crd %s`", definitions.Items[i].Name, definitions.Items[i].Name)
		}
	}
	return nil
}

// resources of a version of a group, without their subresources; none when it is not served.
func (f *Facts) resources(ctx context.Context, version schema.GroupVersion) ([]metav1.APIResource, error) {
	var list metav1.APIResourceList
	path := []string{"/apis", version.Group, version.Version}
	if version.Group == "" {
		path = []string{"/api", version.Version}
	}
	err := f.discovery.Get().AbsPath(path...).Do(ctx).Into(&list)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("asking the API server for the kinds in %s: %w", version, err)
	}
	return slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool { return strings.Contains(r.Name, "/") }), nil
}

// versions of a group that are served; none when the group is not served.
func (f *Facts) versions(ctx context.Context, group string) ([]schema.GroupVersion, error) {
	if group == "" {
		return []schema.GroupVersion{{Version: "v1"}}, nil
	}
	var served metav1.APIGroup
	err := f.discovery.Get().AbsPath("/apis", group).Do(ctx).Into(&served)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("asking the API server for the versions of %s: %w", group, err)
	}
	versions := make([]schema.GroupVersion, 0, len(served.Versions))
	for _, version := range served.Versions {
		versions = append(versions, schema.GroupVersion{Group: group, Version: version.Version})
	}
	return versions, nil
}
