package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAddonsThatLeaveTheListAreUninstalledInReverseOrder(t *testing.T) {
	s := beside(t, "leave")
	s.define("leave-a", "tiny")
	s.define("leave-b", "tiny", requires("leave-a"))
	s.define("leave-c", "tiny", requires("leave-b"))
	s.define("leave-not", "tiny")
	s.install(`{addons: [{name: leave-a}, {name: leave-b}, {name: leave-c}, {name: leave-not}]}`)
	s.installerReady()
	recorded := s.record()

	s.install(`{addons: [{name: leave-not}]}`)
	s.approve()
	s.gone("leave-a", "leave-b", "leave-c")
	s.requireSeen(recorded, "deleting leave-c", "gone leave-c", "deleting leave-b", "gone leave-b", "deleting leave-a", "gone leave-a")
	s.installerReady()
	for _, name := range []string{"leave-a", "leave-b", "leave-c"} {
		assert.Empty(t, s.helmStorage(name))
	}
	assert.Len(t, s.helmStorage("leave-not"), 1)
}

func TestAnAddonThatOthersRequireIsHeldAndCanBePutBack(t *testing.T) {
	s := beside(t, "needed")
	s.define("needed-base", "tiny")
	s.define("needed-app", "tiny", requires("needed-base"))
	s.install(`{addons: [{name: needed-base}, {name: needed-app}]}`)
	s.installerReady()
	before := s.helmRelease(t, "needed-base")

	s.install(`{addons: [{name: needed-app}]}`)
	s.installerSays(v1alpha1.ConditionResolved, "needed-app", "needed-base", "spec.addons")
	assert.Nil(t, s.helmRelease(t, "needed-base").DeletionTimestamp)

	s.install(`{addons: [{name: needed-app}, {name: needed-base}]}`)
	s.installerReady()
	after := s.helmRelease(t, "needed-base")
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Generation, after.Generation)
	assert.Len(t, s.helmStorage("needed-base"), 1)
	assert.Len(t, s.helmStorage("needed-app"), 1)
}

func TestAnOptionalRequirementLeavesOnlyAfterWhatDependsOnIt(t *testing.T) {
	s := beside(t, "optional")
	recorded := s.record()
	s.define("optional-base", "tiny")
	s.define("optional-app", "tiny", prefers("optional-base"))
	s.install(`{addons: [{name: optional-base}, {name: optional-app}]}`)
	s.installerReady()
	s.requireOrder(recorded, "optional-base", "optional-app")

	s.install(`{addons: [{name: optional-app}]}`)
	s.gone("optional-base")
	s.installerReady()
	assert.Len(t, s.helmStorage("optional-app"), 1, "what stays is not upgraded")
}

func TestDeletingTheInstallerRemovesAllInReverseOrder(t *testing.T) {
	s := beside(t, "delete")
	s.define("delete-a", "tiny")
	s.define("delete-b", "tiny", requires("delete-a"), following("delete-b-two", "webapp"), versions("1.0.0"))
	s.install(`{addons: [{name: delete-b}, {name: delete-a}]}`)
	s.installerReady()
	recorded := s.record()

	s.confirmAndDelete()
	s.gone("delete-a", "delete-b", "delete-b-two")
	s.requireSeen(recorded, "deleting delete-b-two", "uninstalled delete-b-two", "deleting delete-b", "uninstalled delete-b", "deleting delete-a", "uninstalled delete-a")
	s.requireSeen(recorded, "gone delete-b-two", "deleting delete-a", "gone delete-a")
	s.requireSeen(recorded, "gone delete-b", "deleting delete-a")
	err := s.api.Get(t.Context(), key(&v1alpha1.Installer{}, "delete"), &v1alpha1.Installer{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.Empty(t, s.defaultsLeft("delete-a", "delete-b"))
}
