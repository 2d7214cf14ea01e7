package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// A new operator, with a catalogue that has grown, changes nothing of what runs as it should. Nothing else runs meanwhile: the operator is
// started anew here.
func TestAnUpgradeOfTheOperatorAloneChangesNothing(t *testing.T) {
	s := before(t, "calm")
	names := []string{"calm-a", "calm-b"}
	s.define("calm-a", stepwise, minors(4), gated(v1alpha1.MomentUpgrade, switchboard("calm")))
	s.define("calm-b", "tiny", requires("calm-a"), defaults(`{message: hi}`))
	s.install(`{addons: [{name: calm-a, version: 1.4.0}, {name: calm-b, values: {deployment: {enabled: true}}}]}`)
	s.installerReady()
	there, begin := s.identity(names...), time.Now()

	s.whileTheOperatorIsDead(func() {
		s.revise("calm-a", versions("1.5.0"), atVersion("1.4.0", func(v *v1alpha1.VersionDefinition) { v.Channels = []string{"stable"} }))
	})
	s.installerReady()
	requests := s.requests(begin)
	for _, name := range names {
		assert.Empty(t, writes(requests, name))
	}
	s.lookAgain(names...)
	assert.Equal(t, there, s.identity(names...), "no new generation, and no new revision of Helm")
}
