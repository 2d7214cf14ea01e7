package pins

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/addons"
)

// force asks for an upgrade, and for fresh counters of failures, even where nothing has changed.
func force(token string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		annotate(hr, meta.ReconcileRequestAnnotation, token)
		annotate(hr, helmv2.ForceRequestAnnotation, token)
		annotate(hr, helmv2.ResetRequestAnnotation, token)
	}
}

// A change of commonMetadata or postRenderers alone is never applied by 1.4.0, though Flux calls its generation observed, attempted and
// Ready; a forced upgrade applies it.
func TestMetadataAndPatchesAloneAreNotApplied(t *testing.T) {
	w := share(t)
	changes := map[string]func(*helmv2.HelmRelease){
		"metadata": func(hr *helmv2.HelmRelease) {
			hr.Spec.CommonMetadata = &helmv2.CommonMetadata{Labels: map[string]string{"pin": "changed"}}
		},
		"renderers": func(hr *helmv2.HelmRelease) {
			hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{
				Target: &kustomize.Selector{Kind: "ConfigMap"},
				Patch:  `[{"op": "add", "path": "/metadata/labels/pin", "value": "changed"}]`,
			}}}}}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := w.release(t, "alone-"+name, "tiny", "1.0.0", "")
			s := w.start(t, release)
			s.awaitSettled(t)

			s.apply(t, release, change)
			generation := s.get(t).Generation
			require.Equal(t, int64(2), generation)
			m := s.await(t, "Ready", func(m moment) bool { return m.observed() && m.Generation == generation && m.ready() == "True" })
			assert.Equal(t, generation, m.Status.LastAttemptedGeneration)
			m = s.awaitHandled(t, s.poke(t))
			assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
			config := s.config()
			require.False(t, s.gone(t, config))
			assert.NotContains(t, config.Labels, "pin")

			s.patch(t, force("forced"))
			m = s.awaitHandled(t, "forced")
			assert.Equal(t, "forced", m.Status.LastHandledForceAt)
			assert.Equal(t, "v2 deployed 1.0.0", m.history()[0])
			require.False(t, s.gone(t, config))
			assert.Equal(t, "changed", config.Labels["pin"])
		})
	}
}

// A force or reset asked for while a release is suspended, or waits for another, is used up without effect: lastHandledReconcileAt takes
// the token and lastHandledForceAt and lastHandledResetAt do not, until the next check that is free notes it in those too, without an
// upgrade.
func TestForceIsLostWhereFluxDoesNotGetToIt(t *testing.T) {
	w := share(t)
	cases := map[string]struct{ block, free func(*helmv2.HelmRelease) }{
		"suspended": {
			block: func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true },
			free:  func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false },
		},
		"waiting": {
			block: func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "lost-nobody"}} },
			free:  func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = nil },
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := w.start(t, w.release(t, "lost-"+name, "tiny", "1.0.0", ""))
			s.awaitSettled(t)
			s.patch(t, test.block)
			s.patch(t, force("wasted"))
			m := s.awaitHandled(t, "wasted")
			assert.Empty(t, m.Status.LastHandledForceAt)
			assert.Empty(t, m.Status.LastHandledResetAt)

			s.patch(t, test.free)
			m = s.awaitSettled(t)
			assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
			assert.Equal(t, "wasted", m.Status.LastHandledForceAt)
			m = s.awaitHandled(t, s.poke(t))
			assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())

			s.patch(t, force("fresh"))
			m = s.await(t, "upgraded", func(m moment) bool {
				return m.Status.LastHandledReconcileAt == "fresh" && m.seen.Phase == addons.PhaseSettled
			})
			assert.Equal(t, "v2 deployed 1.0.0", m.history()[0])
		})
	}
}
