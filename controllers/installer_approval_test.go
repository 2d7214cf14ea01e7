package controllers

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// manual is an Installer whose plans are to be approved.
func manual(entries ...v1alpha1.InstallerAddon) *v1alpha1.Installer {
	subject := installer("default", entries...)
	subject.Spec.Approval = v1alpha1.ApprovalManual
	return subject
}

func TestUnderManualNothingIsWrittenBeforeItIsApproved(t *testing.T) {
	s := newStage(t, definition("app", nil, "app"), definition("web", []string{"app"}, "web"))
	s.apply(manual(wanted("app", ""), wanted("web", "")))
	s.settle()
	assert.True(t, s.missing("app", &v1alpha1.Addon{}))
	assert.True(t, s.missing("app", &helmv2.HelmRelease{}))
	now := get(s, "default", &v1alpha1.Installer{})
	require.Len(t, now.Status.Plan.Changes, 2)
	assert.NotEmpty(t, now.Status.Plan.Changes[0].Definition)
	assert.Equal(t, v1alpha1.ReasonApprovalRequired, s.condition(v1alpha1.ConditionApproved).Reason)
	assert.Contains(t, s.condition(v1alpha1.ConditionReady).Message, "spec.approval is Manual, and this waits for it: install app 1.1.0; install web 1.1.0; nothing is changed until that is approved with: ")

	s.approve()
	s.settle()
	assert.Equal(t, now.Status.Plan.Changes[0].Definition, get(s, "app", &v1alpha1.Addon{}).Spec.Definition)
	assert.False(t, s.missing("web", &helmv2.HelmRelease{}))
	now = get(s, "default", &v1alpha1.Installer{})
	assert.Nil(t, now.Status.Plan)
	assert.Nil(t, now.Status.Approved, "what is approved has been written")
	assert.Nil(t, s.condition(v1alpha1.ConditionApproved))
}

// What runs is tied to its definition, until another one is approved.
func TestUnderManualADefinitionThatChangesIsNotWrittenBeforeItIsApproved(t *testing.T) {
	definitions := []v1alpha1.AddonDefinition{definition("app", nil, "app")}
	s := newStage(t, definitions...)
	s.apply(installer("default", wanted("app", "")))
	s.settle()
	s.playFlux("app")
	s.settle()
	s.apply(manual(wanted("app", "")))
	s.settle()
	pinned := get(s, "app", &v1alpha1.Addon{}).Spec.Definition
	require.NotEmpty(t, pinned)
	assert.Nil(t, s.condition(v1alpha1.ConditionApproved), "nothing changes by that")

	before := get(s, "app", &helmv2.HelmRelease{}).Generation
	definitions[0].Spec.Releases[0].Timeout = &metav1.Duration{Duration: 7 * 60e9}
	s.work(s.cached, definitions)
	s.settle()
	assert.Equal(t, before, get(s, "app", &helmv2.HelmRelease{}).Generation)
	addon := get(s, "app", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateBlocked, addon.Status.State)
	assert.Equal(t, "its AddonDefinition has changed since it was approved: approve the plan of Installer default, whose condition Approved has the command", readyMessage(addon))
	assert.Equal(t, v1alpha1.BlockerInstaller, addon.Status.BlockedBy[0].Kind)
	assert.Contains(t, s.condition(v1alpha1.ConditionApproved).Message, "this waits for it: reconfigure app;")

	s.approve()
	definitions[0].Spec.Releases[0].Timeout = &metav1.Duration{Duration: 8 * 60e9}
	s.work(s.cached, definitions)
	s.settle()
	assert.Equal(t, pinned, get(s, "app", &v1alpha1.Addon{}).Spec.Definition, "the approval was for another one")
	assert.Equal(t, []string{"the AddonDefinition of app has changed"}, get(s, "default", &v1alpha1.Installer{}).Status.Plan.Differences)
	assert.Contains(t, s.condition(v1alpha1.ConditionApproved).Message, "what was approved is void, since the AddonDefinition of app has changed; ")

	s.approve()
	s.settle()
	assert.Greater(t, get(s, "app", &helmv2.HelmRelease{}).Generation, before)
	s.playFlux("app")
	s.settle()
	assert.Equal(t, v1alpha1.StateReady, get(s, "app", &v1alpha1.Addon{}).Status.State)

	s.apply(installer("default", wanted("app", "")))
	s.settle()
	assert.Empty(t, get(s, "app", &v1alpha1.Addon{}).Spec.Definition, "from now on they count at once again")
}
