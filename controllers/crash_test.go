package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

var errKilled = errors.New("killed")

// The operator is killed after each of its writes in turn: after the first, the second, and so on. Started anew, with no memory,
// it ends in the same state.
func TestKilledAfterAnyWriteItEndsInTheSameState(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{definition("base", nil, "base-crds", "base"), definition("app", []string{"base"}, "app")}
	var whole map[string]any
	for after := 1; ; after++ {
		s := newStage(t, definitions...)
		writes := 0
		s.work(dying(s.cached, &writes, after), definitions)
		s.apply(installer("default", wanted("app", "1.0.0"), wanted("base", "1.0.0")))
		var killed error
		for killed == nil && writes < after {
			before := writes
			if killed = s.pass(); writes == before {
				break // at rest: this many writes are all there are
			}
		}
		if killed != nil {
			require.ErrorIs(t, killed, errKilled)
		}
		s.work(s.cached, definitions)
		s.settle()
		s.playFlux("base-crds", "base", "app")
		s.settle()
		now := s.specs()
		if whole == nil {
			whole = now
		}
		require.Equal(t, whole, now, "killed after write %d", after)
		if killed == nil {
			assert.Greater(t, after, 8, "the writes were counted")
			return
		}
	}
}

// dying is a client whose owner dies right after a write: the write is made, and nobody learns of it.
func dying(c client.WithWatch, writes *int, after int) client.Client {
	count := func(err error) error {
		*writes++
		if err == nil && *writes >= after {
			return fmt.Errorf("write %d: %w", *writes, errKilled)
		}
		return err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return count(c.Apply(ctx, object, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return count(c.Update(ctx, object, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return count(c.Patch(ctx, object, patch, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return count(c.Delete(ctx, object, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return count(c.SubResource(sub).Patch(ctx, object, patch, opts...))
		},
	})
}

// specs are what the operator asks of Flux, and what it reports.
func (s *stage) specs() map[string]any {
	specs := map[string]any{}
	for _, object := range s.list(s.api, &helmv2.HelmReleaseList{}) {
		specs["HelmRelease "+object.GetName()] = object.(*helmv2.HelmRelease).Spec
	}
	for _, object := range s.list(s.api, &v1alpha1.AddonList{}) {
		specs["Addon "+object.GetName()] = object.(*v1alpha1.Addon).Spec
		specs["state of "+object.GetName()] = object.(*v1alpha1.Addon).Status.State
	}
	return specs
}

// A cache that has not seen what was just written must not make the operator let go of it.
func TestAStaleCacheOrphansNothing(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{definition("app", nil, "app")}
	s := newStage(t, definitions...)
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	blind := interceptor.NewClient(s.cached, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			switch list.(type) {
			case *helmv2.HelmReleaseList, *v1alpha1.AddonList:
				return nil
			default:
				return c.List(ctx, list, opts...)
			}
		},
	})
	s.work(blind, definitions)

	addon := get(s, "app", &v1alpha1.Addon{})
	addon.Spec.State = v1alpha1.Absent
	require.NoError(t, s.api.Update(s.ctx, addon))
	_, err := s.addon.Reconcile(s.ctx, get(s, "app", &v1alpha1.Addon{}))
	require.NoError(t, err)
	assert.Contains(t, get(s, "app", &v1alpha1.Addon{}).Finalizers, v1alpha1.FinalizerUninstall)

	require.NoError(t, s.api.Delete(s.ctx, get(s, "default", &v1alpha1.Installer{})))
	_, err = s.installer.Reconcile(s.ctx, get(s, "default", &v1alpha1.Installer{}))
	require.NoError(t, err)
	assert.Contains(t, get(s, "default", &v1alpha1.Installer{}).Finalizers, v1alpha1.FinalizerUninstall)
}
