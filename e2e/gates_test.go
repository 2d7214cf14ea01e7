package e2e

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAnInstallGateHoldsTheFirstInstall(t *testing.T) {
	s := beside(t, "enter")
	s.define("enter-a", "tiny", inNamespace("enter-space"), gated(v1alpha1.MomentInstall, switchboard("enter")))
	s.define("enter-b", "tiny", requires("enter-a"))
	s.install(`{addons: [{name: enter-a}, {name: enter-b}]}`)
	s.says("enter-a", v1alpha1.StateBlocked, "it is not installed while its gate switched-on is closed: switch it on with: kubectl create configmap enter")
	s.says("enter-b", v1alpha1.StateBlocked, `waits for add-on "enter-a"`, "switch it on with")
	s.eventually("the chain ends at the gate", func(t *assert.CollectT) {
		chain := s.addon(t, "enter-b").Status.BlockedBy
		require.Len(t, chain, 2)
		assert.Equal(t, []string{"Addon", "enter-a", "Gate", "switched-on"}, []string{chain[0].Kind, chain[0].Name, chain[1].Kind, chain[1].Name})
	})
	s.notThere(&corev1.Namespace{}, "enter-space")
	s.notThere(&helmv2.HelmRelease{}, "enter-a")

	s.advised("kubectl", message(s.addon(t, "enter-a").Status.Conditions))
	opened := time.Now()
	s.ready("enter-a", "enter-b")
	t.Logf("ready %s after the gate had opened", time.Since(opened).Round(time.Second))
	assert.Empty(t, s.addon(t, "enter-a").Status.Gates)
	assert.Empty(t, s.addon(t, "enter-a").Status.BlockedBy)
	s.turn("enter", "off")
	s.lookAgain("enter-a")
	s.ready("enter-a", "enter-b")
}

func (s *story) notThere(object client.Object, name string) {
	s.t.Helper()
	key := key(object, name)
	if _, ok := object.(*corev1.Namespace); ok {
		key.Namespace = ""
	}
	err := s.api.Get(s.t.Context(), key, object)
	assert.True(s.t, apierrors.IsNotFound(err), "%T %s: %v", object, name, err)
}

func TestAnUpgradeGateHoldsAHop(t *testing.T) {
	s := beside(t, "ascend")
	s.define("ascend-a", "tiny", versions("1.0.0", "1.1.0"), gated(v1alpha1.MomentUpgrade, switchboard("ascend")))
	s.install(`{addons: [{name: ascend-a, version: 1.0.0}]}`)
	s.installerReady()
	before := s.identity("ascend-a")

	s.install(`{addons: [{name: ascend-a, version: 1.1.0}]}`)
	s.says("ascend-a", v1alpha1.StateBlocked, "it is not upgraded while its gate switched-on is closed: switch it on")
	assert.Equal(t, before, s.identity("ascend-a"))
	assert.Equal(t, "1.0.0", s.addon(t, "ascend-a").Status.Version)
	s.advised("kubectl", message(s.addon(t, "ascend-a").Status.Conditions))
	opened := time.Now()
	s.ready("ascend-a")
	t.Logf("ready %s after the gate had opened", time.Since(opened).Round(time.Second))
	assert.Equal(t, "1.1.0", s.rendered(t, "ascend-a").Data["version"])
	assert.Len(t, s.helmStorage("ascend-a"), 2)
}

func TestHealthHoldsDependentsBackAtFirstAndNotLater(t *testing.T) {
	s := beside(t, "pulse")
	s.define("pulse-base", "tiny", healthy(switchboard("pulse")))
	s.define("pulse-app", "tiny", requires("pulse-base"))
	s.install(`{addons: [{name: pulse-base}, {name: pulse-app}]}`)
	s.says("pulse-base", v1alpha1.StateInstalling, "running 1.0.0, but not healthy: switched-on: switch it on")
	s.says("pulse-app", v1alpha1.StateBlocked, `waits for add-on "pulse-base", which runs but is not healthy: switched-on: switch it on`)
	s.notThere(&helmv2.HelmRelease{}, "pulse-app")
	assert.Equal(t, "False", status(s.addon(t, "pulse-base").Status.Conditions, v1alpha1.ConditionHealthy))

	s.turn("pulse", "on")
	opened := time.Now()
	s.ready("pulse-base", "pulse-app")
	t.Logf("ready %s after it was healthy", time.Since(opened).Round(time.Second))
	assert.Equal(t, "True", status(s.addon(t, "pulse-base").Status.Conditions, v1alpha1.ConditionHealthy))
	before := s.identity("pulse-base", "pulse-app")

	s.turn("pulse", "off")
	s.eventually("it is not ready any more", func(t *assert.CollectT) {
		s.ask(t, "addon", "pulse-base") // facts that it has read some seconds ago may serve once more
		addon := s.addon(t, "pulse-base")
		assert.Equal(t, v1alpha1.StateDegraded, addon.Status.State)
		assert.Equal(t, "False", status(addon.Status.Conditions, v1alpha1.ConditionReady))
	})
	s.says("pulse-base", v1alpha1.StateDegraded, "running 1.0.0, but not healthy: switched-on: switch it on")
	s.installerSays(v1alpha1.ConditionReady, "pulse-base is Degraded", "not healthy")
	s.lookAgain("pulse-app")
	s.ready("pulse-app")
	assert.Equal(t, before, s.identity("pulse-base", "pulse-app"))

	s.turn("pulse", "on")
	s.ready("pulse-base")
	s.installerReady()
	assert.Equal(t, before, s.identity("pulse-base", "pulse-app"))
}

func TestTheChainOfARemovalEndsAtItsRootCause(t *testing.T) {
	s := beside(t, "links")
	s.define("links-base", "tiny")
	s.define("links-mid", "tiny", requires("links-base"))
	s.define("links-top", "tiny", requires("links-mid"), gated(v1alpha1.MomentRemove, switchboard("links")))
	s.install(`{addons: [{name: links-base}, {name: links-mid}, {name: links-top}]}`)
	s.installerReady()
	before := s.identity("links-base", "links-mid", "links-top")

	s.install(`{addons: []}`)
	s.approve()
	s.says("links-base", v1alpha1.StateBlocked, "it stays until what depends on it is gone: links-mid; links-mid is held: switch it on with")
	s.eventually("everybody sees the whole chain", func(t *assert.CollectT) {
		chain := s.addon(t, "links-base").Status.BlockedBy
		var links []string
		for _, link := range chain {
			assert.NotNil(t, link.Since)
			links = append(links, link.Kind+" "+link.Name)
		}
		assert.Equal(t, []string{"Addon links-mid", "Addon links-top", "Gate switched-on"}, links)
		for _, summary := range s.installer(t).Status.Addons {
			if summary.Name == "links-base" {
				assert.Equal(t, chain, summary.BlockedBy)
			}
		}
	})
	assert.Equal(t, before, s.identity("links-base", "links-mid", "links-top"))
	s.turn("links", "on")
	s.gone("links-top", "links-mid", "links-base")
}
