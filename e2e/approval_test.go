package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAnEmptiedInstallerAsksFirst(t *testing.T) {
	s := beside(t, "emptied")
	names := []string{"emptied-a", "emptied-b", "emptied-c"}
	for _, name := range names {
		s.define(name, "tiny")
	}
	const all = `{addons: [{name: emptied-a}, {name: emptied-b}, {name: emptied-c}]}`
	s.install(all)
	s.installerReady()
	before, begin := s.identity(names...), time.Now()

	for _, spec := range []string{`{addons: []}`, `{suspend: false}`} {
		s.install(spec)
		s.asksForApproval("every add-on of Installer emptied would be removed: emptied-a, emptied-b, emptied-c", names...)
		assert.Equal(t, before, s.identity(names...))
		s.install(all)
		s.installerReady()
		assert.Empty(t, status(s.installer(t).Status.Conditions, v1alpha1.ConditionApproved))
		assert.Nil(t, s.installer(t).Status.Plan)
		assert.Equal(t, before, s.identity(names...), "put back: nothing has happened")
		assert.Empty(t, s.deletions(begin))
	}

	s.install(`{addons: [{name: emptied-c}]}`)
	s.asksForApproval("2 of 3 add-ons of Installer emptied would be removed: emptied-a, emptied-b", "emptied-a", "emptied-b")
	stale := s.installer(t).Status.Plan.Digest
	s.install(`{addons: []}`)
	s.asksForApproval("every add-on", names...)
	_, err := s.kubectl("", "annotate", "--overwrite", "installer", "emptied", v1alpha1.AnnotationApprovedPlan+"="+stale)
	require.NoError(t, err)
	token := s.ask(t, "installer", "emptied")
	s.eventually("the operator has looked at the approval of another plan", func(t *assert.CollectT) {
		assert.Equal(t, token, s.installer(t).Status.LastHandledReconcileAt)
	})
	s.asksForApproval("every add-on", names...)
	assert.Empty(t, s.deletions(begin))

	s.approve()
	s.gone(names...)
	s.installerReady()
	assert.Len(t, s.installer(t).Status.Removed, 3)

	s.install(all)
	s.installerReady()
	s.install(`{addons: []}`)
	s.asksForApproval("every add-on", names...)
	assert.NotEqual(t, s.installer(t).Annotations[v1alpha1.AnnotationApprovedPlan], s.installer(t).Status.Plan.Digest, "what was approved once is not approved for ever")
	s.identity(names...)
}

// asksForApproval waits until the Installer asks, and checks that its plan shows what would be done.
func (s *story) asksForApproval(what string, leaving ...string) {
	s.t.Helper()
	command := "kubectl annotate --overwrite installer " + s.name + " " + v1alpha1.AnnotationApprovedPlan + "=sha256:"
	s.installerSays(v1alpha1.ConditionApproved, what, "nothing is changed until", command, "put them back into spec.addons")
	s.installerSays(v1alpha1.ConditionReady, what, command)
	installer := s.installer(s.t)
	require.NotNil(s.t, installer.Status.Plan)
	var removed []string
	for _, change := range installer.Status.Plan.Changes {
		assert.Equal(s.t, v1alpha1.ActionRemove, change.Action)
		removed = append(removed, change.Addon)
	}
	assert.ElementsMatch(s.t, leaving, removed)
	assert.Contains(s.t, conditionMessage(installer.Status.Conditions, v1alpha1.ConditionApproved), installer.Status.Plan.Digest)
	s.event("Installer", s.name, v1alpha1.ReasonApprovalRequired, command)
}

func TestOneOfThreeGoesWithoutAsking(t *testing.T) {
	s := beside(t, "third")
	for _, name := range []string{"third-a", "third-b", "third-c"} {
		s.define(name, "tiny")
	}
	s.install(`{addons: [{name: third-a}, {name: third-b}, {name: third-c}]}`)
	s.installerReady()
	s.install(`{addons: [{name: third-a}, {name: third-b}]}`)
	s.gone("third-c")
	s.installerReady()
	assert.Empty(t, status(s.installer(t).Status.Conditions, v1alpha1.ConditionApproved))
	receipt := s.receipt("third-c")
	assert.Equal(t, v1alpha1.OutcomeRemoved, receipt.Result)
	assert.Empty(t, receipt.LeftBehind)
	assert.Empty(t, receipt.Message)
	assert.Len(t, s.identity("third-a", "third-b"), 2)
}
