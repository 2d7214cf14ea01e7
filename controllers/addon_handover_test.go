package controllers

import (
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// orphan has an Addon handed over. The Installer would take it back, so it no longer lists it.
func (r removal) orphan(name string) {
	r.Helper()
	addon := get(r.stage, name, &v1alpha1.Addon{})
	addon.Spec.State = v1alpha1.Orphaned
	require.NoError(r, r.api.Update(r.ctx, addon))
}

// finish lets the Addon controller alone work until the Addon has gone.
func (r removal) finish(name string) {
	r.Helper()
	for range 10 {
		r.catchUp()
		if r.missing(name, &v1alpha1.Addon{}) {
			return
		}
		_, err := r.addon.Reconcile(r.ctx, get(r.stage, name, &v1alpha1.Addon{}))
		require.NoError(r, err)
	}
	require.Fail(r, "the Addon never goes")
}

func TestAHandedOverAddOnRunsOnWithoutTheOperator(t *testing.T) {
	def := definition("app", nil, "app")
	def.Spec.Releases[0].NamespaceLabels = map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
	sharing := definition("sharing", nil, "sharing")
	sharing.Spec.Releases[0].Chart.Repository = "https://charts.example.com/stays"
	r := newRemoval(t, def, sharing)
	before := get(r.stage, "app", &helmv2.HelmRelease{})
	repository, defaults := before.Spec.Chart.Spec.SourceRef.Name, before.Spec.ValuesFrom[0].Name
	r.orphan("app")
	r.finish("app")

	after := get(r.stage, "app", &helmv2.HelmRelease{})
	assert.Empty(t, ourLabels(after))
	assert.Equal(t, []string{helmv2.HelmReleaseFinalizer}, after.Finalizers, "Flux's own")
	assert.Nil(t, after.DeletionTimestamp)
	want := before.DeepCopy().Spec
	want.Chart.ObjectMeta = nil
	assert.Equal(t, want, after.Spec)
	assert.Empty(t, addonOf(after))
	assert.Empty(t, ourLabels(get(r.stage, repository, &sourcev1.HelmRepository{})))
	assert.Empty(t, ourLabels(get(r.stage, defaults, &corev1.ConfigMap{})))
	namespace := r.namespace("ns-app")
	assert.Empty(t, ourLabels(namespace))
	assert.Equal(t, "privileged", namespace.Labels["pod-security.kubernetes.io/enforce"], "its pods still need that")
	assert.Equal(t, []v1alpha1.Receipt{{
		Name: "app", Version: "1.0.0", Result: v1alpha1.OutcomeOrphaned,
		Message:    "left running as asked: Flux goes on with it until somebody runs: kubectl delete helmrelease -n kurl-addons app",
		LeftBehind: []string{"configmaps/kurl-addons/" + defaults, "helmreleases/kurl-addons/app", "helmrepositories/kurl-addons/" + repository, "namespaces/ns-app"},
	}}, r.receipts())
	assert.Contains(t, fmt.Sprint(r.events()), "Normal Orphaned", "it is what was asked for")

	r.orphan("sharing")
	r.finish("sharing")
	shared := get(r.stage, "stays", &helmv2.HelmRelease{}).Spec.Chart.Spec.SourceRef.Name
	assert.Len(t, ourLabels(get(r.stage, shared, &sourcev1.HelmRepository{})), 2, "an add-on of ours still uses it")
	r.orphan("stays")
	r.finish("stays")
	assert.Empty(t, ourLabels(get(r.stage, shared, &sourcev1.HelmRepository{})))
}

func TestAnUninstallThatHasBegunCannotBeHandedOver(t *testing.T) {
	t.Run("of the only release", func(t *testing.T) {
		r := newRemoval(t, definition("app", nil, "app"))
		r.remove("app")
		r.orphan("app")
		r.catchUp()
		_, err := r.addon.Reconcile(r.ctx, get(r.stage, "app", &v1alpha1.Addon{}))
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.StateRemoving, r.state("app"))
		r.endUninstall("app", addons.UninstallDone)
		r.finish("app")
		assert.Equal(t, []v1alpha1.Receipt{{Name: "app", Version: "1.0.0", Result: v1alpha1.OutcomeRemoved}}, r.receipts())
		assert.Nil(t, r.namespace("ns-app"))
	})
	t.Run("of one of two releases", func(t *testing.T) {
		r := newRemoval(t, definition("app", nil, "app-crds", "app"))
		require.NoError(t, r.api.Delete(r.ctx, get(r.stage, "app", &helmv2.HelmRelease{})))
		r.orphan("app")
		r.endUninstall("app", addons.UninstallDone)
		r.finish("app")
		assert.True(t, r.missing("app", &helmv2.HelmRelease{}))
		assert.Empty(t, ourLabels(get(r.stage, "app-crds", &helmv2.HelmRelease{})))
		receipts := r.receipts()
		require.Len(t, receipts, 1)
		assert.Equal(t, v1alpha1.OutcomeOrphaned, receipts[0].Result)
		assert.Contains(t, receipts[0].Message, "Flux had ended it already: app")
		assert.Contains(t, receipts[0].LeftBehind, "helmreleases/kurl-addons/app-crds")
		assert.NotContains(t, receipts[0].LeftBehind, "helmreleases/kurl-addons/app")
	})
}

func TestWhatWasHandedOverHoldsNobodyBack(t *testing.T) {
	for name, leave := range map[string]func(removal){
		"from being handed over": func(r removal) { r.orphan("app") },
		"from being removed": func(r removal) {
			addon := get(r.stage, "app", &v1alpha1.Addon{})
			addon.Spec.State = v1alpha1.Absent
			require.NoError(r, r.api.Update(r.ctx, addon))
			r.catchUp()
			_, err := r.addon.Reconcile(r.ctx, get(r.stage, "app", &v1alpha1.Addon{}))
			require.NoError(r, err)
			r.endUninstall("app", addons.UninstallDone)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemoval(t, definition("app", nil, "app"), definition("dependent", []string{"app"}, "dependent"))
			r.orphan("dependent")
			r.finish("dependent")
			require.Equal(t, "app", get(r.stage, "dependent", &helmv2.HelmRelease{}).Spec.DependsOn[0].Name)
			leave(r)
			r.finish("app")
		})
	}
}
