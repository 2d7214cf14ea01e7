package controllers

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// workOnApp lets the Addon app be worked on, and returns when it is to be looked at again.
func (s *stage) workOnApp() time.Duration {
	s.Helper()
	s.catchUp()
	result, err := s.addon.Reconcile(s.ctx, get(s, "app", &v1alpha1.Addon{}))
	require.NoError(s, err)
	return result.RequeueAfter
}

func (s *stage) appSays() string {
	s.Helper()
	return readyMessage(get(s, "app", &v1alpha1.Addon{}))
}

func TestAnAddonSaysWhenFluxIsLate(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("other", nil, "other"))
	s.apply(installer("default", wanted("app", "1.0.0"), wanted("other", "1.0.0")))
	s.settle()
	s.clock.SetTime(time.Now())
	again := s.workOnApp()
	assert.Greater(t, again, time.Minute, "it is looked at when it may be late")
	assert.LessOrEqual(t, again, 2*time.Minute)
	assert.Equal(t, v1alpha1.StateInstalling, s.state("app"))

	s.playWork("other", "Running 'install' action with timeout of 5m0s")
	s.clock.Step(3 * time.Minute)
	assert.Equal(t, time.Minute, s.workOnApp())
	assert.Equal(t, v1alpha1.StateInstalling, s.state("app"))
	assert.Contains(t, s.appSays(), "queued in helm-controller")

	s.playWork("other", "Fulfilling prerequisites")
	s.clock.Step(progressInterval)
	assert.Zero(t, s.workOnApp(), "nothing but news changes it")
	assert.Equal(t, v1alpha1.StateFailed, s.state("app"))
	assert.Contains(t, s.appSays(), "kubectl logs -n flux-system deployment/helm-controller")
	written := get(s, "app", &v1alpha1.Addon{}).ResourceVersion
	s.clock.Step(time.Hour)
	s.workOnApp()
	assert.Equal(t, written, get(s, "app", &v1alpha1.Addon{}).ResourceVersion, "it is said once")

	s.playFlux("app")
	assert.Zero(t, s.workOnApp())
	assert.Equal(t, v1alpha1.StateReady, s.state("app"))
}

// playWork plays helm-controller at work on a release.
func (s *stage) playWork(name, message string) {
	s.Helper()
	hr := get(s, name, &helmv2.HelmRelease{})
	apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
		Type: meta.ReconcilingCondition, Status: metav1.ConditionTrue, Reason: meta.ProgressingReason, Message: message, ObservedGeneration: hr.Generation,
	})
	require.NoError(s, s.api.Status().Update(s.ctx, hr))
}

func TestARemovalSaysWhenFluxIsLate(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("other", nil, "other"), definition("third", nil, "third"))
	s.apply(installer("default", wanted("app", "1.0.0"), wanted("other", "1.0.0"), wanted("third", "1.0.0")))
	s.settle()
	s.playFlux("app", "other", "third")
	s.settle()
	s.apply(installer("default", wanted("other", "1.0.0"), wanted("third", "1.0.0")))
	s.settle()
	s.clock.SetTime(time.Now())
	assert.Greater(t, s.workOnApp(), 11*time.Minute)
	s.clock.Step(12 * time.Minute)
	assert.Zero(t, s.workOnApp())
	assert.Equal(t, v1alpha1.StateRemoving, s.state("app"))
	assert.Contains(t, s.appSays(), "kubectl describe helmrelease app -n kurl-addons")
}
