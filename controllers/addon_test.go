package controllers

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAnInstallerBecomesReadyAddOns(t *testing.T) {
	s := newStage(t, definition("base", nil, "base-crds", "base"), definition("app", []string{"base"}, "app"))
	s.apply(installer("default", wanted("app", ""), wanted("base", "1.0.0")))
	s.settle()

	crds, base, app := get(s, "base-crds", &helmv2.HelmRelease{}), get(s, "base", &helmv2.HelmRelease{}), get(s, "app", &helmv2.HelmRelease{})
	assert.Empty(t, crds.Spec.DependsOn)
	assert.Equal(t, "base-crds", base.Spec.DependsOn[0].Name)
	assert.Equal(t, "base", app.Spec.DependsOn[0].Name)
	assert.Equal(t, "1.0.0", base.Spec.Chart.Spec.Version)
	assert.Equal(t, "1.1.0", app.Spec.Chart.Spec.Version, "an absent version means the newest")
	assert.Equal(t, v1alpha1.FieldManager, app.ManagedFields[0].Manager)
	assert.Contains(t, get(s, "default", &v1alpha1.Installer{}).Finalizers, v1alpha1.FinalizerUninstall)

	s.playFlux("base-crds", "base", "app")
	s.settle()
	assert.Equal(t, v1alpha1.StateReady, s.state("base"))
	assert.Equal(t, v1alpha1.StateReady, s.state("app"))
	ready := apimeta.FindStatusCondition(get(s, "default", &v1alpha1.Installer{}).Status.Conditions, v1alpha1.ConditionReady)
	assert.Equal(t, metav1.ConditionTrue, ready.Status)
	assert.Equal(t, "2 add-ons are ready", ready.Message)
}

func TestAHandEditedHelmReleaseIsPutBack(t *testing.T) {
	for name, edit := range map[string]func(*helmv2.HelmRelease){
		"a changed field":  func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = "9.9.9" },
		"an added field":   func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "mine" },
		"an added value":   func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"mine":true}`) },
		"a removed field":  func(hr *helmv2.HelmRelease) { hr.Spec.MaxHistory = nil },
		"a removed label":  func(hr *helmv2.HelmRelease) { delete(hr.Labels, v1alpha1.LabelProtected) },
		"another's label":  func(hr *helmv2.HelmRelease) { hr.Labels[v1alpha1.LabelAddon] = "other" },
		"no labels":        func(hr *helmv2.HelmRelease) { hr.Labels = nil },
		"added references": func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "other"}} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, definition("app", nil, "app"))
			s.apply(installer("default", wanted("app", "1.0.0")))
			s.settle()
			intended := get(s, "app", &helmv2.HelmRelease{})
			edited := intended.DeepCopy()
			edit(edited)
			require.NoError(t, s.api.Update(s.ctx, edited, client.FieldOwner("kubectl-edit")))
			s.settle()
			now := get(s, "app", &helmv2.HelmRelease{})
			assert.Equal(t, intended.Spec, now.Spec)
			assert.Equal(t, intended.Labels, now.Labels)
		})
	}
}

func TestASuspendedHelmReleaseIsLeftAloneUntilItIsResumed(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	s.playFlux("app")
	s.settle()

	suspend := func(on bool) {
		hr := get(s, "app", &helmv2.HelmRelease{})
		before := hr.DeepCopy()
		hr.Spec.Suspend = on
		require.NoError(t, s.api.Patch(s.ctx, hr, client.MergeFrom(before), client.FieldOwner("flux")))
	}
	suspend(true)
	s.apply(installer("default", wanted("app", "1.1.0")))
	s.settle()
	addon := get(s, "app", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateSuspended, addon.Status.State)
	assert.Contains(t, readyMessage(addon), `suspended by "flux"`)
	assert.Equal(t, "1.0.0", get(s, "app", &helmv2.HelmRelease{}).Spec.Chart.Spec.Version)

	suspend(false)
	s.playFlux("app")
	s.settle()
	assert.Equal(t, "1.1.0", get(s, "app", &helmv2.HelmRelease{}).Spec.Chart.Spec.Version)
}

func TestRemovalGoesInReverseOrderAndLeavesNothingOfOurs(t *testing.T) {
	s := newStage(t, definition("base", nil, "base-crds", "base"), definition("app", []string{"base"}, "app"))
	s.apply(installer("default", wanted("app", ""), wanted("base", "")))
	s.settle()
	s.playFlux("base-crds", "base", "app")
	s.deleteInstaller("default")

	for _, next := range []string{"app", "base", "base-crds"} {
		s.settle()
		for _, name := range []string{"app", "base", "base-crds"} {
			if hr := (&helmv2.HelmRelease{}); !s.missing(name, hr) && len(hr.Status.History) > 0 {
				assert.Equal(t, name == next, hr.DeletionTimestamp != nil, "%s is being deleted while it is the turn of %s", name, next)
			}
		}
		s.playUninstall(next)
	}
	for range 4 {
		require.NoError(t, s.pass())
	}
	assert.Empty(t, s.versions(s.api), "Addons, HelmReleases, HelmRepositories, ConfigMaps and the Installer are gone")
}

func TestAnAddonDeletedByHandComesBackWithoutAnUninstall(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	before := get(s, "app", &helmv2.HelmRelease{})
	require.NoError(t, s.api.Delete(s.ctx, get(s, "app", &v1alpha1.Addon{})))
	s.settle()
	after := get(s, "app", &helmv2.HelmRelease{})
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Generation, after.Generation)
	assert.False(t, s.missing("app", &v1alpha1.Addon{}))
}

func TestAForeignHelmReleaseOfTheSameNameIsNotTouched(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	foreign := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "app"},
		Spec: helmv2.HelmReleaseSpec{Interval: metav1.Duration{Duration: 60e9}, Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "other", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: "other"},
		}}},
	}
	require.NoError(t, s.api.Create(s.ctx, foreign))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	addon := get(s, "app", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateBlocked, addon.Status.State)
	assert.Contains(t, readyMessage(addon), "set adopt: true for app in Installer default")
	assert.Equal(t, foreign.ResourceVersion, get(s, "app", &helmv2.HelmRelease{}).ResourceVersion)
}

func TestTheFirstInstallerKeepsAnAddOnAndHandsItOverWithoutAnUninstall(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("first", wanted("app", "1.0.0")))
	s.settle()
	s.apply(installer("second", wanted("app", "1.1.0")))
	s.settle()
	assert.Equal(t, "first", get(s, "app", &v1alpha1.Addon{}).Spec.Installer)
	resolved := apimeta.FindStatusCondition(get(s, "second", &v1alpha1.Installer{}).Status.Conditions, v1alpha1.ConditionResolved)
	assert.Contains(t, resolved.Message, `belongs to Installer "first"`)
	before := get(s, "app", &helmv2.HelmRelease{})
	s.playFlux("app")

	first := get(s, "first", &v1alpha1.Installer{})
	first.Spec.Addons = nil
	require.NoError(t, s.api.Update(s.ctx, first))
	s.settle()
	assert.Equal(t, "second", get(s, "app", &v1alpha1.Addon{}).Spec.Installer)
	assert.Equal(t, before.UID, get(s, "app", &helmv2.HelmRelease{}).UID)
}

func TestARequestOnTheInstallerOrAnAddonStartsReleasesAfreshOnce(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "1.0.0")))
	s.settle()
	ask := func(object client.Object, token string) {
		before := object.DeepCopyObject().(client.Object)
		object.SetAnnotations(map[string]string{meta.ReconcileRequestAnnotation: token})
		require.NoError(t, s.api.Patch(s.ctx, object, client.MergeFrom(before)))
		s.settle()
	}
	requested := func() []string {
		annotations := get(s, "app", &helmv2.HelmRelease{}).Annotations
		return []string{annotations[meta.ReconcileRequestAnnotation], annotations[helmv2.ResetRequestAnnotation]}
	}

	ask(get(s, "default", &v1alpha1.Installer{}), "first")
	assert.Equal(t, []string{"first", "first"}, requested())
	assert.Equal(t, "first", get(s, "default", &v1alpha1.Installer{}).Status.LastHandledReconcileAt)
	assert.Equal(t, "first", get(s, "app", &v1alpha1.Addon{}).Status.LastHandledReconcileAt)

	ask(get(s, "app", &v1alpha1.Addon{}), "second")
	assert.Equal(t, []string{"second", "second"}, requested(), "the Installer's old request is not passed on again")
}
