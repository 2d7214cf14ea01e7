package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

const (
	wantedSpace = "owners"
	otherSpace  = "owners-others"
)

func wantedRelease() addons.Release {
	release := next("2.0.0")
	release.Namespace = wantedSpace
	return release
}

func (s *stage) make(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		if object.GetNamespace() != "" && object.GetNamespace() != v1alpha1.Namespace {
			space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
			require.NoError(s, client.IgnoreAlreadyExists(s.api.Create(s.ctx, space)))
		}
		require.NoError(s, s.api.Create(s.ctx, object))
		s.Cleanup(func() { require.NoError(s, client.IgnoreNotFound(s.api.Delete(context.Background(), object))) })
	}
}

// record is Helm's of a revision.
func record(revision int, status string) *corev1.Secret {
	return &corev1.Secret{
		Type: "helm.sh/release.v1",
		ObjectMeta: metav1.ObjectMeta{
			Namespace: wantedSpace, Name: fmt.Sprintf("sh.helm.release.v1.app.v%d", revision),
			Labels: map[string]string{"owner": "helm", "name": "app", "status": status, "version": fmt.Sprint(revision), "modifiedAt": "1767225600"},
		},
	}
}

// part is an object that a chart made; made by Flux if fluxes are given.
func part(name string, fluxes ...string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: wantedSpace, Name: name,
		Labels:      map[string]string{v1alpha1.LabelManagedBy: managedByHelm},
		Annotations: map[string]string{annotationHelmRelease: "app", annotationHelmNamespace: wantedSpace},
	}}
	for _, flux := range fluxes {
		object.Labels[labelFluxNamespace], object.Labels[labelFluxName], _ = strings.Cut(flux, "/")
	}
	return object
}

// theirs is a HelmRelease of somebody else for the wanted release.
func theirs(namespace, name string, change ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	hr := flux.HelmRelease(wantedRelease())
	hr.Namespace, hr.Name, hr.Labels, hr.Finalizers, hr.Spec.Chart.ObjectMeta = namespace, name, nil, nil, nil
	for _, apply := range change {
		apply(hr)
	}
	return hr
}

func TestOwnersOfAWantedRelease(t *testing.T) {
	const letGoOther = `kubectl -n owners-others patch helmrelease web --type=merge -p '{"spec":{"suspend":true}}' && kubectl -n owners-others delete helmrelease web`
	deployed := []client.Object{record(1, "superseded"), record(10, "deployed"), record(9, "superseded"), part("a"), part("b")}
	with := func(more ...client.Object) []client.Object { return append(clone(deployed), more...) }
	tests := map[string]struct {
		objects       []client.Object
		taken, fought []string
	}{
		"nobody":                  {},
		"Helm, which uninstalled": {objects: []client.Object{record(3, "uninstalled")}},
		"Helm": {objects: deployed, taken: []string{
			"Helm release owners/app is there already: revision 10, deployed since 2026-01-01T00:00:00Z, managed by nobody but Helm",
			"it consists of 2 configmaps (a, b)", "Flux would upgrade it to chart app 2.0.0 with the values of add-on app, as revision 11", "nothing is uninstalled",
		}},
		"Helm, halfway": {objects: []client.Object{record(2, "pending-upgrade")}, taken: []string{"revision 2, pending-upgrade", "no objects that can be found"}},
		"a HelmRelease of the same name": {
			objects: with(theirs(v1alpha1.Namespace, "app")),
			taken:   []string{"managed by HelmRelease kurl-addons/app", "HelmRelease kurl-addons/app is there already, and was not made by this operator", "upgrade it"},
		},
		"a HelmRelease of the same name that has installed nothing": {
			objects: []client.Object{theirs(v1alpha1.Namespace, "app")},
			taken:   []string{"HelmRelease kurl-addons/app is there already", "Flux would install it"},
		},
		"our own HelmRelease": {objects: []client.Object{flux.HelmRelease(wantedRelease())}},
		"another add-on's HelmRelease": {
			objects: []client.Object{theirs(v1alpha1.Namespace, "app", func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{v1alpha1.LabelAddon: "other"} })},
			taken:   []string{"HelmRelease kurl-addons/app is there already"},
			fought:  []string{`belongs to add-on "other"`, "AddonDefinition of app"},
		},
		"a HelmRelease of the same name for another namespace": {
			objects: []client.Object{theirs(v1alpha1.Namespace, "app", func(hr *helmv2.HelmRelease) { hr.Spec.TargetNamespace = otherSpace })},
			taken:   []string{"HelmRelease kurl-addons/app is there already"},
			fought:  []string{"manages Helm release owners-others/app", "Flux would uninstall that", "kubectl -n kurl-addons patch helmrelease app"},
		},
		"a HelmRelease of the same name that Git keeps": {
			objects: []client.Object{theirs(v1alpha1.Namespace, "app", func(hr *helmv2.HelmRelease) {
				hr.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "fleet", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
			})},
			taken:  []string{"HelmRelease kurl-addons/app is there already"},
			fought: []string{"Flux's Kustomization flux-system/fleet"},
		},
		"a HelmRelease elsewhere": {
			objects: with(theirs(otherSpace, "web")),
			taken:   []string{"managed by HelmRelease owners-others/web"},
			fought:  []string{"HelmRelease owners-others/web manages the Helm release owners/app", letGoOther},
		},
		"a HelmRelease elsewhere for another cluster": {
			objects: []client.Object{theirs(otherSpace, "web", func(hr *helmv2.HelmRelease) {
				hr.Spec.KubeConfig = &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "remote"}}
			})},
		},
		"a HelmRelease of the same name that is suspended": {
			objects: []client.Object{theirs(v1alpha1.Namespace, "app", func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })},
			taken:   []string{"HelmRelease kurl-addons/app is there already"},
			fought:  []string{"flux resume helmrelease app -n kurl-addons"},
		},
		"our own, whose HelmRelease was deleted": {objects: []client.Object{record(1, "deployed"), part("a", v1alpha1.Namespace+"/app")}},
		"a HelmRelease that was deleted": {
			objects: []client.Object{record(1, "deployed"), part("a", otherSpace+"/web")},
			taken:   []string{"managed by HelmRelease owners-others/web until that was deleted"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.make(clone(test.objects)...)
			finding, err := s.addon.Owners.Find(s.ctx, wantedRelease())
			require.NoError(t, err)
			requireSaid(t, finding.Taken, test.taken)
			requireSaid(t, finding.Fought, test.fought)
			again, err := s.addon.Owners.Find(s.ctx, wantedRelease())
			require.NoError(t, err)
			assert.Equal(t, finding, again)
		})
	}
}

// clone copies objects, so that each test makes its own.
func clone(objects []client.Object) []client.Object {
	copies := make([]client.Object, 0, len(objects))
	for _, object := range objects {
		copies = append(copies, object.DeepCopyObject().(client.Object))
	}
	return copies
}

func requireSaid(t *testing.T, said string, parts []string) {
	t.Helper()
	require.Equal(t, len(parts) == 0, said == "", said)
	for _, part := range parts {
		assert.Contains(t, said, part)
	}
	assert.NotContains(t, said, "\n")
}

// Where the operator may not look, it goes by the marks on the objects.
func TestAHelmReleaseThatMayNotBeSeenIsFeared(t *testing.T) {
	s := newStage(t)
	s.make(record(1, "deployed"), part("a", otherSpace+"/web"))
	watching, err := client.NewWithWatch(config, client.Options{Scheme: s.api.Scheme()})
	require.NoError(t, err)
	s.addon.Owners.Live = interceptor.NewClient(watching, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			all := client.ListOptions{}
			all.ApplyOptions(options)
			if _, ok := list.(*helmv2.HelmReleaseList); ok && all.Namespace == "" {
				return apierrors.NewForbidden(sourcev1.GroupVersion.WithResource("helmreleases").GroupResource(), "", nil)
			}
			return c.List(ctx, list, options...)
		},
	})
	finding, err := s.addon.Owners.Find(s.ctx, wantedRelease())
	require.NoError(t, err)
	assert.Contains(t, finding.Fought, "HelmRelease owners-others/web made the objects of Helm release owners/app and may still be there")
	assert.Contains(t, finding.Fought, "list helmreleases.helm.toolkit.fluxcd.io")
}

func TestAPreviewIsBounded(t *testing.T) {
	s := newStage(t)
	s.make(record(1, "deployed"))
	for i := range 30 {
		s.make(part(fmt.Sprintf("%s-%02d", strings.Repeat("long", 50), i)))
	}
	finding, err := s.addon.Owners.Find(s.ctx, wantedRelease())
	require.NoError(t, err)
	assert.Contains(t, finding.Taken, "30 configmaps (")
	assert.Less(t, len(finding.Taken), 1500)
}
