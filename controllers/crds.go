package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

const (
	// What Helm writes on the objects that its templates make, and the value of annotationPolicy by which it lets one be.
	managedByHelm           = "Helm"
	annotationHelmRelease   = "meta.helm.sh/release-name"
	annotationHelmNamespace = "meta.helm.sh/release-namespace"
	policyKeep              = "keep"

	// annotationKept marks a CRD that a release is about to lose from its templates, until it has.
	annotationKept = "addons.kurl.sh/kept-for"
)

var crdKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// prepare is called before a HelmRelease is written, with the one that is there, and returns the release as it has to be written.
//
// A CRD that the release has among its templates, and will not have any more, would be deleted by Helm, and with it every object of its
// kind. Helm heeds an annotation on the live CRD. But helm-controller before 1.5 replaces CRDs of a crds folder whole before it lets
// Helm upgrade: a CRD that is there too loses the annotation just before that counts. So for as long as such an upgrade takes, Flux is
// told to create CRDs only, and we bring those that exist to the new chart's specs.
func (c *Charts) prepare(ctx context.Context, live *helmv2.HelmRelease, settled bool, release addons.Release) (addons.Release, error) {
	if !flux.AsksFor(live, release) {
		return c.protect(ctx, release)
	}
	if release.CRDs != v1alpha1.CRDCreateReplace || flux.CRDPolicy(live) != v1alpha1.CRDCreate {
		return release, nil
	}
	if settled {
		return release, c.disown(ctx, release)
	}
	return sparing(release), nil
}

// sparing is a release as it is written while CRDs leave its templates. Helm could not roll back: it refuses to make anew what is there.
func sparing(release addons.Release) addons.Release {
	release.CRDs, release.OnFailure = v1alpha1.CRDCreate, v1alpha1.FailureRetry
	return release
}

// protect keeps the CRDs of the release's templates, whatever becomes of these. Those that stay among them only keep the annotation, which
// matters to no uninstall: for that, Helm goes by what the chart says.
func (c *Charts) protect(ctx context.Context, release addons.Release) (addons.Release, error) {
	templated, err := c.templatedCRDs(ctx, release)
	if err != nil || len(templated) == 0 {
		return release, err
	}
	chart, _, err := c.chart(ctx, release)
	if err != nil {
		return release, err
	}
	spare := chart == nil
	for i := range templated {
		leaving := chart != nil && !chart.Templates(templated[i].Name)
		spare = spare || leaving || chart.Brings(templated[i].Name)
		if err := c.keepCRD(ctx, release, &templated[i], leaving); err != nil {
			return release, err
		}
	}
	if !spare || release.CRDs != v1alpha1.CRDCreateReplace {
		return release, nil
	}
	return sparing(release), c.replaceCRDs(ctx, chart)
}

// templatedCRDs lists the CRDs that the release has among its templates.
func (c *Charts) templatedCRDs(ctx context.Context, release addons.Release) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(crdKind.GroupVersion().WithKind("CustomResourceDefinitionList"))
	if err := c.Live.List(ctx, list, client.MatchingLabels{v1alpha1.LabelManagedBy: managedByHelm}); err != nil {
		return nil, fmt.Errorf("listing the CRDs of release %s: %w", release.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(crd metav1.PartialObjectMetadata) bool {
		return crd.Annotations[annotationHelmRelease] != release.Name || crd.Annotations[annotationHelmNamespace] != release.Namespace
	}), nil
}

// keepCRD makes Helm keep a CRD at upgrades. One that leaves the templates is marked, to be disowned afterwards.
func (c *Charts) keepCRD(ctx context.Context, release addons.Release, crd *metav1.PartialObjectMetadata, leaving bool) error {
	annotations := map[string]string{annotationPolicy: policyKeep}
	if leaving {
		annotations[annotationKept] = release.Namespace + "/" + release.Name
		logf.FromContext(ctx).Info("Keeping a CRD that the upgrade would delete with all objects of its kind", "release", release.Name, "crd", crd.Name)
	}
	if contains(crd.Annotations, annotations) {
		return nil
	}
	return c.patchCRD(ctx, crd.Name, types.MergePatchType, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// replaceCRDs gives the chart's CRDs that exist the specs that the chart has for them, as Flux would.
func (c *Charts) replaceCRDs(ctx context.Context, chart *flux.Chart) error {
	if chart == nil {
		return nil
	}
	for _, crd := range chart.CRDs {
		patch := []map[string]any{{"op": "replace", "path": "/spec", "value": crd.Spec}}
		if err := c.patchCRD(ctx, crd.Name, types.JSONPatchType, patch); err != nil {
			return err
		}
	}
	return nil
}

// disown makes the CRDs that have left the release's templates what they would be had they never been there.
func (c *Charts) disown(ctx context.Context, release addons.Release) error {
	templated, err := c.templatedCRDs(ctx, release)
	if err != nil {
		return err
	}
	patch := map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{annotationHelmRelease: nil, annotationHelmNamespace: nil, annotationKept: nil},
		"labels":      map[string]any{v1alpha1.LabelManagedBy: nil, labelFluxName: release.Name, labelFluxNamespace: v1alpha1.Namespace},
	}}
	for i := range templated {
		if templated[i].Annotations[annotationKept] != release.Namespace+"/"+release.Name {
			continue
		}
		if err := c.patchCRD(ctx, templated[i].Name, types.MergePatchType, patch); err != nil {
			return err
		}
	}
	return nil
}

// patchCRD changes a CRD if it exists.
func (c *Charts) patchCRD(ctx context.Context, name string, kind types.PatchType, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("changing CRD %s: %w", name, err)
	}
	crd := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	crd.SetGroupVersionKind(crdKind)
	if err := c.Client.Patch(ctx, crd, client.RawPatch(kind, body), client.FieldOwner(requestManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing CRD %s: %w", name, err)
	}
	return nil
}

// storedVersions are the versions in which objects of a CRD may be stored; none if there is no such CRD.
func (c *Charts) storedVersions(ctx context.Context, name string) ([]string, error) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	if err := c.Live.Get(ctx, client.ObjectKey{Name: name}, crd); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading CRD %s: %w", name, err)
	}
	stored, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if err != nil {
		return nil, fmt.Errorf("reading CRD %s: %w", name, err)
	}
	return stored, nil
}
