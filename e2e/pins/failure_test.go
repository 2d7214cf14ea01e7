package pins

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
)

const fail = "hook: {fail: true}"

// notedFailure says whether Flux has ended an attempt that failed.
func notedFailure(m moment) bool {
	return m.condition(meta.ReadyCondition).Reason == "RetryAfterInterval"
}

// While Flux waits to retry, Ready says nothing but RetryAfterInterval, and never stalls: the cause is in Released, and flux.Observe
// shows it. An install is retried as an upgrade.
func TestRetryHidesTheCauseInReleased(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "retry", "hooks", "1.0.0", fail))
	m := s.await(t, "failed", notedFailure)
	assert.Equal(t, "False", m.ready())
	assert.Equal(t, "Will retry after 2m0s", m.condition(meta.ReadyCondition).Message)
	assert.Equal(t, metav1.ConditionStatus("absent"), m.condition(meta.StalledCondition).Status)
	assert.Equal(t, metav1.ConditionStatus("absent"), m.condition(meta.ReconcilingCondition).Status)
	released := m.condition(helmv2.ReleasedCondition)
	assert.Equal(t, metav1.ConditionFalse, released.Status)
	assert.Equal(t, helmv2.InstallFailedReason, released.Reason)
	assert.Equal(t, []string{"v1 failed 1.0.0"}, m.history())
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	assert.Equal(t, released.Message, m.seen.Message)
	assert.Empty(t, m.seen.ChartVersion)
	assert.False(t, m.seen.Stalled)

	s.poke(t)
	m = s.await(t, "tried again", func(m moment) bool { return len(m.Status.History) > 1 })
	assert.Equal(t, helmv2.ReleaseActionUpgrade, m.Status.LastAttemptedReleaseAction)
	assert.Equal(t, helmv2.UpgradeFailedReason, m.condition(helmv2.ReleasedCondition).Reason)
}

// Of a release whose upgrade failed, in the hook before it or while waiting for it, Helm and the history keep calling the last good
// revision deployed, and flux.Observe reports that one as running. The first failure of a new chart version is tried again at once,
// before the interval is over: the HelmChart's change has asked for another look while the first attempt ran. That of new values is not.
func TestFailedUpgradeLeavesTheOldRevisionDeployed(t *testing.T) {
	w := share(t)
	cases := map[string]struct {
		chart, good, bad, next string
		attempts               int // with one that is asked for at the end
	}{
		"hook":   {chart: "hooks", bad: fail, next: "2.0.0", attempts: 3},
		"wait":   {chart: "never-ready", good: "fixed: true", next: "1.1.0", attempts: 3},
		"values": {chart: "hooks", bad: fail, next: "1.0.0", attempts: 2},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := w.start(t, w.release(t, "upgrade-"+name, test.chart, "1.0.0", test.good))
			s.awaitSettled(t)
			bad := w.release(t, "upgrade-"+name, test.chart, test.next, test.bad)
			bad.Timeout = 3 * time.Second
			s.apply(t, bad)
			m := s.await(t, "failed", func(m moment) bool { return notedFailure(m) && m.observed() })
			assert.Equal(t, []string{"v2 failed " + test.next, "v1 deployed 1.0.0"}, m.history())
			assert.Subset(t, s.stored(t), []string{"v2 failed", "v1 deployed"})
			assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
			assert.Equal(t, "1.0.0", m.seen.ChartVersion)

			if test.attempts > 2 {
				s.await(t, "tried again", func(m moment) bool { return notedFailure(m) && len(m.Status.History) > 2 })
			}
			m = s.awaitHandled(t, s.poke(t))
			assert.Len(t, m.Status.History, test.attempts+1)
			assert.Equal(t, "v1 deployed 1.0.0", m.history()[test.attempts])
			assert.Equal(t, "1.0.0", m.seen.ChartVersion)
		})
	}
}

// A field that only a failed upgrade brought stays when the values that brought it are taken back: Helm compares with the deployed
// revision, which never had it. So a release can be stuck although its values are mended, until an upgrade with spec.upgrade.force
// replaces the object.
func TestFieldsOfAFailedUpgradeStay(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "stuck", "never-ready", "1.0.0", "fixed: true"))
	s.awaitSettled(t)
	release := w.release(t, "stuck", "never-ready", "1.1.0", "")
	release.Timeout = 2 * time.Second
	s.apply(t, release)
	s.await(t, "failed", notedFailure)

	mended := w.release(t, "stuck", "never-ready", "1.1.0", "fixed: true")
	mended.Timeout = release.Timeout
	s.apply(t, mended)
	generation := s.get(t).Generation
	m := s.await(t, "failed again", func(m moment) bool { return notedFailure(m) && m.Status.LastAttemptedGeneration == generation })
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	deployment := &appsv1.Deployment{}
	require.NoError(t, w.api.Get(t.Context(), client.ObjectKey{Namespace: target, Name: "stuck"}, deployment))
	assert.NotEmpty(t, deployment.Spec.Template.Spec.NodeSelector)

	mended.Timeout = addons.DefaultTimeout
	s.apply(t, mended, func(hr *helmv2.HelmRelease) { hr.Spec.Upgrade.Force = true })
	s.awaitSettled(t)
}

// When values that broke the rendering are taken back, Flux finds the release in sync, and still reports the failure, at every check,
// until it is forced to upgrade; flux.Observe calls the release degraded, and the failure stale.
func TestFailureOfValuesTakenBackStays(t *testing.T) {
	w := share(t)
	good, bad := w.release(t, "back", "broken-template", "1.0.0", "password: secret"), w.release(t, "back", "broken-template", "1.0.0", "")
	s := w.start(t, good)
	s.awaitSettled(t)
	s.apply(t, bad)
	m := s.await(t, "failed", notedFailure)
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
	assert.Equal(t, addons.PhaseFailing, m.seen.Phase)
	assert.Contains(t, m.seen.Message, "set password")

	s.apply(t, good)
	m = s.await(t, "in sync", func(m moment) bool { return m.Generation == 3 && m.observed() })
	mark := s.mark() - 1
	for range 2 {
		assert.Equal(t, "False", m.ready())
		assert.Equal(t, helmv2.UpgradeFailedReason, m.condition(meta.ReadyCondition).Reason)
		assert.Equal(t, addons.PhaseDegraded, m.seen.Phase)
		assert.True(t, m.seen.Stale)
		m = s.awaitHandled(t, s.poke(t))
	}
	for _, m := range s.since(mark) {
		assert.Equal(t, addons.PhaseDegraded, m.seen.Phase, m)
	}
	s.patch(t, force("forced"))
	m = s.await(t, "settled", func(m moment) bool { return m.seen.Phase == addons.PhaseSettled })
	assert.Equal(t, []string{"v2 deployed 1.0.0", "v1 superseded 1.0.0"}, m.history())
}
