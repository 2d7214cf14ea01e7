package controllers

import (
	"context"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// empty takes everything out of the Installer's list.
func (s *stage) empty() {
	s.Helper()
	now := get(s, "default", &v1alpha1.Installer{})
	now.Spec.Addons = nil
	require.NoError(s, s.api.Update(s.ctx, now))
}

// approve approves the plan that the Installer shows.
func (s *stage) approve() {
	s.Helper()
	now := get(s, "default", &v1alpha1.Installer{})
	require.NotNil(s, now.Status.Plan, "there is nothing to approve")
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, v1alpha1.AnnotationApprovedPlan, now.Status.Plan.Digest)
	require.NoError(s, s.api.Update(s.ctx, now))
}

func (s *stage) condition(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(get(s, "default", &v1alpha1.Installer{}).Status.Conditions, kind)
}

func TestAnEmptyListRemovesNothingUntilItIsApproved(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("web", nil, "web"))
	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.settle()
	s.playFlux("app", "web")
	s.settle()
	before := s.specs()
	s.empty()
	s.settle()

	assert.Equal(t, v1alpha1.Present, get(s, "app", &v1alpha1.Addon{}).Spec.State)
	now := get(s, "default", &v1alpha1.Installer{})
	approved := s.condition(v1alpha1.ConditionApproved)
	assert.Equal(t, metav1.ConditionFalse, approved.Status)
	assert.Contains(t, approved.Message, "every add-on of Installer default would be removed: app, web")
	assert.Contains(t, approved.Message, "kubectl annotate --overwrite installer default addons.kurl.sh/approved-plan="+now.Status.Plan.Digest)
	assert.Equal(t, v1alpha1.ReasonApprovalRequired, s.condition(v1alpha1.ConditionStalled).Reason)
	require.Len(t, now.Status.Plan.Changes, 2)

	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.settle()
	assert.Equal(t, before, s.specs(), "put back, nothing has happened")
	assert.Nil(t, s.condition(v1alpha1.ConditionApproved))

	s.empty()
	s.settle()
	s.approve()
	s.settle()
	assert.Equal(t, v1alpha1.Absent, get(s, "app", &v1alpha1.Addon{}).Spec.State)
	assert.Equal(t, v1alpha1.Absent, get(s, "web", &v1alpha1.Addon{}).Spec.State)
	assert.NotNil(t, get(s, "app", &helmv2.HelmRelease{}).DeletionTimestamp)
	assert.Nil(t, get(s, "default", &v1alpha1.Installer{}).Status.Approved, "the record is struck out once the plan is carried out")
}

// The operator is away while the list is emptied and approved, put back, and emptied again.
func TestAnApprovalIsForOneEditOfTheList(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("web", nil, "web"))
	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.settle()
	s.empty()
	s.settle()
	s.approve()
	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.empty()
	s.settle()
	assert.Equal(t, v1alpha1.Present, get(s, "app", &v1alpha1.Addon{}).Spec.State)
	assert.Equal(t, metav1.ConditionFalse, s.condition(v1alpha1.ConditionApproved).Status)

	s.approve()
	s.settle()
	assert.True(t, s.missing("app", &v1alpha1.Addon{}))
}

// An approval outlives the operator's death after any write of what was approved.
func TestAnApprovedRemovalIsApprovedWhole(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{definition("app", nil, "app"), definition("base", nil, "base"), definition("web", nil, "web")}
	for after := 1; ; after++ {
		s := newStage(t, definitions...)
		s.apply(installer("default", wanted("app", ""), wanted("base", ""), wanted("web", "")))
		s.settle()
		s.playFlux("app", "base", "web")
		s.settle()
		s.empty()
		s.settle()
		s.approve()
		s.catchUp()
		writes := 0
		s.work(dying(s.cached, &writes, after), definitions)
		_, killed := s.installer.Reconcile(s.ctx, get(s, "default", &v1alpha1.Installer{}))
		s.work(s.cached, definitions)
		s.settle()
		for _, name := range []string{"app", "base", "web"} {
			assert.Equal(t, v1alpha1.Absent, get(s, name, &v1alpha1.Addon{}).Spec.State, "%s, killed after write %d", name, after)
		}
		if killed == nil {
			assert.Greater(t, after, 4, "the record and three Addons were written")
			return
		}
	}
}

func TestADeletionThatNobodyConfirmedRemovesNothing(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"))
	s.apply(installer("default", wanted("app", "")))
	s.settle()
	s.playFlux("app")
	s.settle()
	require.NoError(t, s.api.Delete(s.ctx, get(s, "default", &v1alpha1.Installer{})))
	s.settle()
	assert.Equal(t, v1alpha1.Present, get(s, "app", &v1alpha1.Addon{}).Spec.State)
	assert.Nil(t, get(s, "app", &helmv2.HelmRelease{}).DeletionTimestamp)
	assert.Contains(t, s.condition(v1alpha1.ConditionReady).Message, "kubectl annotate installer default addons.kurl.sh/confirm-delete=default")

	now := get(s, "default", &v1alpha1.Installer{})
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, v1alpha1.AnnotationConfirmDelete, "default")
	require.NoError(t, s.api.Update(s.ctx, now))
	s.settle()
	assert.NotNil(t, get(s, "app", &helmv2.HelmRelease{}).DeletionTimestamp)
}

// gated has a gate that is closed while there is a ConfigMap of its name.
func gated(def v1alpha1.AddonDefinition, when v1alpha1.Moment) v1alpha1.AddonDefinition {
	def.Spec.Gates = []v1alpha1.Gate{{When: when, Check: v1alpha1.Check{
		Name:       "nothing-left",
		Resources:  map[string]v1alpha1.ResourceQuery{"left": {APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: def.Name}},
		Expression: "left.size() == 0",
		Message:    `"in use: " + left[0].metadata.name`,
	}}}
	return def
}

// close closes the gate of an add-on until the returned function is called.
func (s *stage) close(addon string) (open func()) {
	s.Helper()
	lock := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: addon}}
	require.NoError(s, s.api.Create(s.ctx, lock))
	s.Cleanup(func() { require.NoError(s, client.IgnoreNotFound(s.api.Delete(context.Background(), lock))) })
	return func() { require.NoError(s, s.api.Delete(s.ctx, lock)) }
}

func TestAClosedGateHoldsARemovalThatCanBeTakenBack(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{gated(definition("base", nil, "base"), v1alpha1.MomentRemove), definition("app", nil, "app"), definition("web", nil, "web")}
	s := newStage(t, definitions...)
	all := installer("default", wanted("app", ""), wanted("base", ""), wanted("web", ""))
	s.apply(all)
	s.settle()
	s.playFlux("app", "base", "web")
	s.settle()
	before := s.specs()
	open := s.close("base")

	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.settle()
	addon := get(s, "base", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateBlocked, addon.Status.State)
	assert.Equal(t, "it is not removed while its gate nothing-left is closed: in use: base", readyMessage(addon))
	require.Len(t, addon.Status.Gates, 1)
	assert.False(t, addon.Status.Gates[0].Passed)
	assert.NotNil(t, addon.Status.Gates[0].Since)
	require.Len(t, addon.Status.BlockedBy, 1)
	assert.Equal(t, v1alpha1.BlockerGate, addon.Status.BlockedBy[0].Kind)
	assert.True(t, apimeta.IsStatusConditionFalse(addon.Status.Conditions, v1alpha1.ConditionGatesPassed))
	assert.Nil(t, get(s, "base", &helmv2.HelmRelease{}).DeletionTimestamp)

	s.apply(all)
	s.settle()
	assert.Equal(t, before, s.specs(), "put back, nothing has happened")
	assert.Equal(t, v1alpha1.StateReady, s.state("base"))
	assert.Empty(t, get(s, "base", &v1alpha1.Addon{}).Status.Gates)

	open()
	s.apply(installer("default", wanted("app", ""), wanted("web", "")))
	s.work(s.cached, definitions) // an operator that remembers nothing: the shared facts are some seconds old
	s.settle()
	assert.NotNil(t, get(s, "base", &helmv2.HelmRelease{}).DeletionTimestamp)
}

func TestAClosedGateHoldsAnInstall(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{gated(definition("base", nil, "base"), v1alpha1.MomentInstall), definition("app", []string{"base"}, "app")}
	s := newStage(t, definitions...)
	open := s.close("base")
	s.apply(installer("default", wanted("app", ""), wanted("base", "")))
	s.settle()
	assert.Equal(t, v1alpha1.StateBlocked, s.state("base"))
	assert.True(t, s.missing("base", &helmv2.HelmRelease{}))
	open()
	s.work(s.cached, definitions)
	s.settle()
	assert.False(t, s.missing("base", &helmv2.HelmRelease{}))
}

// Somebody deletes an Addon past the operator, which lets it go, and before it is made anew its entry leaves the list.
func TestReleasesWhoseAddonWasDeletedByHandAreRemovedToo(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"its entry leaves the list": func(s *stage) { s.apply(installer("default", wanted("web", ""))) },
		"its Installer is deleted":  func(s *stage) { s.deleteInstaller("default") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, definition("app", nil, "app"), definition("web", nil, "web"))
			s.apply(installer("default", wanted("app", ""), wanted("web", "")))
			s.settle()
			s.playFlux("app", "web")
			s.settle()
			require.NoError(t, s.api.Delete(s.ctx, get(s, "app", &v1alpha1.Addon{})))
			s.catchUp()
			_, err := s.addon.Reconcile(s.ctx, get(s, "app", &v1alpha1.Addon{}))
			require.NoError(t, err)
			require.True(t, s.missing("app", &v1alpha1.Addon{}))

			end(s)
			s.settle()
			assert.Equal(t, v1alpha1.Absent, get(s, "app", &v1alpha1.Addon{}).Spec.State)
			s.playUninstall("app")
			s.settle()
			assert.True(t, s.missing("app", &helmv2.HelmRelease{}))
			assert.True(t, s.missing("app", &v1alpha1.Addon{}))
		})
	}
}

// The operator dies between the receipt and the Addon, which is then put back. A later removal has to be looked into by itself.
func TestAnEarlierReceiptDoesNotStandForALaterRemoval(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("web", nil, "web"))
	all := installer("default", wanted("app", ""), wanted("web", ""))
	s.apply(all)
	s.settle()
	s.playFlux("app", "web")
	s.settle()
	now := get(s, "default", &v1alpha1.Installer{})
	addon := get(s, "app", &v1alpha1.Addon{})
	now.Status.Removed = []v1alpha1.Receipt{{
		Name: "app", UID: addon.UID, Generation: addon.Generation, Result: v1alpha1.OutcomeRemoved, At: metav1.NewTime(s.clock.Now()),
	}}
	require.NoError(t, s.api.Status().Update(s.ctx, now))

	s.apply(installer("default", wanted("web", "")))
	s.settle()
	s.playUninstall("app")
	s.settle()
	assert.Len(t, get(s, "default", &v1alpha1.Installer{}).Status.Removed, 2)
}
