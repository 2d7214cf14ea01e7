package controllers

import (
	"context"
	"errors"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func (s *stage) ask(object client.Object, token string) {
	s.Helper()
	before := object.DeepCopyObject().(client.Object)
	object.SetAnnotations(map[string]string{meta.ReconcileRequestAnnotation: token})
	require.NoError(s, s.api.Patch(s.ctx, object, client.MergeFrom(before)))
}

func TestARequestIsPassedOnWhileThePlanWaits(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	suspended := installer("default", wanted("app", "1.1.0"))
	suspended.Spec.Suspend = true
	s.apply(suspended)
	s.ask(get(s, "default", &v1alpha1.Installer{}), "now")
	s.settle()
	hr := get(s, "app", &helmv2.HelmRelease{})
	assert.Equal(t, "1.0.0", hr.Spec.Chart.Spec.Version)
	assert.Equal(t, "now", hr.Annotations[helmv2.ResetRequestAnnotation])
}

func TestARequestOutlivesAPassThatFails(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	s.apply(installer("default", wanted("app", "1.1.0")))
	s.playFlux("app")
	s.settle()
	s.ask(get(s, "app", &v1alpha1.Addon{}), "now")

	away := errors.New("the API server is away")
	working := s.addon.Client
	s.addon.Client = interceptor.NewClient(s.cached, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if object.GetObjectKind().GroupVersionKind().Kind == helmv2.HelmReleaseKind {
				return away
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	require.ErrorIs(t, s.pass(), away)
	assert.Empty(t, get(s, "app", &v1alpha1.Addon{}).Status.LastHandledReconcileAt)
	assert.Empty(t, get(s, "app", &helmv2.HelmRelease{}).Annotations[meta.ReconcileRequestAnnotation])

	s.addon.Client = working
	s.settle()
	assert.Equal(t, "now", get(s, "app", &v1alpha1.Addon{}).Status.LastHandledReconcileAt)
	assert.Equal(t, "now", get(s, "app", &helmv2.HelmRelease{}).Annotations[meta.ReconcileRequestAnnotation])
}

// A chart that could not be fetched is fetched at once; what is there is left alone.
func TestARequestFetchesWhatIsMissing(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	repository := func() *sourcev1.HelmRepository {
		return get(s, get(s, "app", &helmv2.HelmRelease{}).Spec.Chart.Spec.SourceRef.Name, &sourcev1.HelmRepository{})
	}
	s.ask(get(s, "app", &v1alpha1.Addon{}), "one")
	s.settle()
	assert.Equal(t, "one", repository().Annotations[meta.ReconcileRequestAnnotation])

	s.playFlux("app")
	s.settle()
	s.ask(get(s, "app", &v1alpha1.Addon{}), "two")
	s.settle()
	assert.Equal(t, "one", repository().Annotations[meta.ReconcileRequestAnnotation])
	assert.Equal(t, "two", get(s, "app", &helmv2.HelmRelease{}).Annotations[meta.ReconcileRequestAnnotation])
}
