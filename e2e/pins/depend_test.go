package pins

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/addons"
)

// A release waits for one that it depends on, which does not even exist yet, and keeps waiting once that is settled, until Flux's 30 s
// are over; a poke sent at the moment when flux.Observe first calls it settled starts the dependent at once.
func TestPokeStartsTheDependentAtOnce(t *testing.T) {
	w := share(t)
	dependent := w.release(t, "dependent", "tiny", "1.0.0", "")
	dependent.DependsOn = []string{"dependency"}
	after := w.start(t, dependent)
	waiting := func(m moment) bool { return m.seen.Phase == addons.PhaseWaiting }
	m := after.await(t, "waiting", waiting)
	assert.Equal(t, helmv2.DependencyNotReadyReason, m.condition("Ready").Reason)
	assert.Equal(t, "unable to get 'kurl-addons/dependency' dependency: helmreleases.helm.toolkit.fluxcd.io \"dependency\" not found", m.seen.Message)
	assert.NotNil(t, m.sources.Chart, "its chart is fetched meanwhile")

	before := w.start(t, w.release(t, "dependency", "hooks", "1.0.0", hold))
	before.awaitHeld(t)
	after.awaitHandled(t, after.poke(t))
	m = after.await(t, "waiting", waiting)
	assert.Equal(t, "dependency 'kurl-addons/dependency' is not ready", m.seen.Message)

	before.unhold(t)
	before.awaitSettled(t)
	poked := time.Now()
	after.poke(t)
	after.await(t, "started", func(m moment) bool { return m.Status.LastAttemptedReleaseAction == helmv2.ReleaseActionInstall })
	assert.Less(t, time.Since(poked), 15*time.Second)
	t.Logf("started %s after the poke", time.Since(poked))
	after.awaitSettled(t)
}
