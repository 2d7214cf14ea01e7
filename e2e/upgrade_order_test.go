package e2e

import (
	"encoding/json"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// When both change in one edit, the dependency is still Ready from its old revision, and Flux would upgrade the dependent at once. Here it
// stays so, whatever helm-controller has found out by then: its status is forged while Helm is in the middle of the upgrade.
func TestADependencyThatIsReadyFromItsOldRevisionHoldsItsDependent(t *testing.T) {
	s := beside(t, "race")
	s.define("race-z", stepwise, minors(5), held("1.5.0"))
	s.define("race-a", stepwise, minors(5), requires("race-z"))
	s.install(`{addons: [{name: race-a, version: 1.4.0}, {name: race-z, version: 1.4.0}]}`)
	s.installerReady()
	before := s.identity("race-a")

	s.install(`{addons: [{name: race-a, version: 1.5.0}, {name: race-z, version: 1.5.0}]}`)
	s.hookRuns("race", "race-z-prepare")
	s.forgeReady("race-z")
	s.lookAgain("race-z", "race-a")
	s.says("race-a", v1alpha1.StateBlocked, `waits for add-on "race-z", which has not settled at 1.5.0`)
	assert.Equal(t, before, s.identity("race-a"))
	begin := time.Now()

	s.finishHook("race", "race-z-prepare")
	s.installerReady()
	s.requireRevisions("race-z", "1.4.0", "1.5.0")
	s.requireRevisions("race-a", "1.4.0", "1.5.0")
	requests := s.requests(begin)
	done, written := s.done(requests, "race-z", 2), writes(requests, "race-a")
	require.NotEmpty(t, written)
	assert.True(t, written[0].Received.After(done), "race-a was written at %s, and race-z was done only at %s", written[0].Received, done)
	t.Logf("race-a was written %s after race-z was done", written[0].Received.Sub(done).Round(time.Millisecond))
	assert.True(t, s.helmRecords("race-a")[2].Info.LastDeployed.After(done))
}

// forgeReady makes a HelmRelease say that it is ready with its present spec, while the newest revision is still the old one.
func (s *story) forgeReady(release string) {
	s.t.Helper()
	hr := s.helmRelease(s.t, release)
	require.Equal(s.t, "1.4.0", hr.Status.History.Latest().ChartVersion)
	hr.Status.ObservedGeneration, hr.Status.LastAttemptedGeneration = hr.Generation, hr.Generation
	hr.Status.Conditions = []metav1.Condition{{
		Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: helmv2.UpgradeSucceededReason, Message: "as it was",
		ObservedGeneration: hr.Generation, LastTransitionTime: metav1.Now(),
	}}
	status, err := json.Marshal(map[string]any{"status": hr.Status})
	require.NoError(s.t, err)
	_, err = s.kubectl("", "patch", "helmrelease", release, "-n", v1alpha1.Namespace, "--subresource=status", "--type=merge", "-p", string(status))
	require.NoError(s.t, err)
}
