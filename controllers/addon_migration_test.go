package controllers

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// A hop makes its Migration, waits until that has finished, and takes it along when the add-on goes.
func TestAHopWaitsForItsMigration(t *testing.T) {
	def := definition("app", nil, "app")
	def.Spec.Migrations = []v1alpha1.MigrationDefinition{{
		Name: "rename", When: v1alpha1.MigrateUpgrade, To: ">=1.1.0", Approval: v1alpha1.MigrationRequired,
		Steps: []v1alpha1.MigrationStep{{Name: "drop", Delete: &v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "Service", Namespace: "ns-app", Name: "old"}}},
	}}
	r := newRemoval(t, def)
	r.apply(installer("default", wanted("app", "1.1.0"), wanted("stays", "1.0.0")))
	r.settle()
	var made v1alpha1.MigrationList
	require.NoError(t, r.api.List(r.ctx, &made))
	require.Len(t, made.Items, 1)
	migration := &made.Items[0]
	assert.Equal(t, "1.0.0", get(r.stage, "app", &helmv2.HelmRelease{}).Spec.Chart.Spec.Version)
	addon := get(r.stage, "app", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateMigrating, addon.Status.State)
	assert.Equal(t, "the upgrade to 1.1.0 waits for Migration "+migration.Name+": it waits for approval: kubectl patch migration "+migration.Name+
		` --type merge -p '{"spec":{"approved":true}}'`, readyMessage(addon))
	assert.True(t, apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionStalled))

	migration.Spec.Approved = true
	require.NoError(t, r.api.Update(r.ctx, migration))
	r.settle()
	addon = get(r.stage, "app", &v1alpha1.Addon{})
	assert.Equal(t, "the upgrade to 1.1.0 waits for Migration "+migration.Name+": it has not begun", readyMessage(addon))
	assert.True(t, apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionReconciling))

	apimeta.SetStatusCondition(&migration.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, Message: "done", ObservedGeneration: migration.Generation,
	})
	require.NoError(t, r.api.Status().Update(r.ctx, migration))
	r.settle()
	assert.Equal(t, "1.1.0", get(r.stage, "app", &helmv2.HelmRelease{}).Spec.Chart.Spec.Version)

	r.playFlux("app")
	r.settle()
	r.remove("app")
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	require.NoError(t, r.api.List(r.ctx, &made))
	assert.Empty(t, made.Items)
}
