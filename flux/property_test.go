package flux

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/addons"
)

// disturbances are what may differ from a settled world, each at random.
var disturbances = []func(*rapid.T, *world){
	func(t *rapid.T, w *world) {
		w.hr.Status.ObservedGeneration = rapid.Int64Range(-1, generation).Draw(t, "observed")
	},
	func(t *rapid.T, w *world) {
		w.hr.Status.LastAttemptedGeneration = rapid.Int64Range(-1, generation).Draw(t, "attempted")
	},
	func(_ *rapid.T, w *world) { w.hr.Spec.Suspend = true },
	func(_ *rapid.T, w *world) { w.hr.DeletionTimestamp = new(metav1.NewTime(time.Unix(1700000000, 0))) },
	func(_ *rapid.T, w *world) { w.hr.Spec.Chart = nil },
	func(t *rapid.T, w *world) {
		w.hr.Status.History = rapid.SliceOfN(rapid.Custom(drawSnapshot), 0, 3).Draw(t, "history")
	},
	func(t *rapid.T, w *world) {
		w.hr.Status.LastAttemptedConfigDigest = rapid.SampledFrom([]string{"sha256:other", "sha256:other", ""}).Draw(t, "digest")
	},
	func(t *rapid.T, w *world) {
		w.hr.Status.Conditions = rapid.SliceOfN(rapid.Custom(drawCondition), 0, 6).Draw(t, "conditions")
	},
	func(t *rapid.T, w *world) { w.hr.Status.Conditions[0] = drawCondition(t) },
	func(t *rapid.T, w *world) { w.hr.Status.Conditions = append(w.hr.Status.Conditions, drawCondition(t)) },
	func(_ *rapid.T, w *world) {
		w.set(meta.StalledCondition, metav1.ConditionTrue, "RetriesExceeded", "gave up")
	},
	func(t *rapid.T, w *world) {
		w.reconciling(rapid.SampledFrom([]string{upgrading, prerequisites, ""}).Draw(t, "reconciling"))
	},
	func(t *rapid.T, w *world) {
		w.hooks(drawStatus(t), nil)
		w.hr.Status.History[0] = drawSnapshot(t)
	},
	func(t *rapid.T, w *world) {
		w.hooks(metav1.ConditionTrue, map[string]string{"web-test": drawPhase(t), "web-login": drawPhase(t)})
	},
	func(t *rapid.T, w *world) { w.chart = drawChart(t, w.chart) },
	func(t *rapid.T, w *world) { w.repository = drawRepository(t, w.repository) },
}

// drawWorld draws a HelmRelease in a state that Flux may or may not ever leave it in. Few things differ from a settled one at a
// time, so that each counts.
func drawWorld(t *rapid.T) *world {
	w := settledWorld()
	for _, disturb := range rapid.SliceOfN(rapid.SampledFrom(disturbances), 0, 3).Draw(t, "disturbances") {
		if len(w.hr.Status.History) > 0 && w.hr.Status.History[0] != nil && len(w.hr.Status.Conditions) > 0 {
			disturb(t, w)
		}
	}
	return w
}

func drawStatus(t *rapid.T) metav1.ConditionStatus {
	return rapid.SampledFrom([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}).Draw(t, "status")
}

func drawPhase(t *rapid.T) string {
	return rapid.SampledFrom([]string{"Succeeded", "Succeeded", "Failed", "Running", ""}).Draw(t, "phase")
}

func drawCondition(t *rapid.T) metav1.Condition {
	return metav1.Condition{
		Type: rapid.SampledFrom([]string{
			meta.ReadyCondition, meta.ReconcilingCondition, meta.StalledCondition, helmv2.ReleasedCondition, helmv2.TestSuccessCondition, helmv2.RemediatedCondition,
		}).Draw(t, "type"),
		Status: drawStatus(t),
		Reason: rapid.SampledFrom([]string{
			"Progressing", "ProgressingWithRetry", "RetryAfterInterval", "DependencyNotReady", "SourceNotReady", "ArtifactFailed", "UpgradeFailed",
			"RollbackSucceeded", "UninstallFailed", "TestFailed", "ValuesError", "",
		}).Draw(t, "reason"),
		Message:            rapid.SampledFrom([]string{"", prerequisites, upgrading, "cause"}).Draw(t, "message"),
		ObservedGeneration: generation + rapid.SampledFrom([]int64{0, 0, 0, -1}).Draw(t, "generation"),
	}
}

func drawSnapshot(t *rapid.T) *helmv2.Snapshot {
	if rapid.IntRange(0, 9).Draw(t, "nil") == 0 {
		return nil
	}
	s := snapshot(rapid.IntRange(1, 5).Draw(t, "revision"),
		rapid.SampledFrom([]string{"deployed", "deployed", "failed", "superseded", "pending-upgrade", ""}).Draw(t, "status"),
		rapid.SampledFrom([]string{"1.0.0", "1.0.0", "0.9.0", "v1.0.0+build", ""}).Draw(t, "version"))
	if rapid.Bool().Draw(t, "tested") {
		hook := rapid.Custom(func(t *rapid.T) helmv2.TestHookStatus { return helmv2.TestHookStatus{Phase: drawPhase(t)} })
		s.TestHooks = new(rapid.MapOfN(rapid.StringN(1, 3, 3), rapid.Ptr(hook, true), 0, 2).Draw(t, "hooks"))
	}
	return s
}

func readiness(t *rapid.T) metav1.Condition {
	c := drawCondition(t)
	c.Type = meta.ReadyCondition
	return c
}

func drawChart(t *rapid.T, chart *sourcev1.HelmChart) *sourcev1.HelmChart {
	if chart == nil || rapid.IntRange(0, 9).Draw(t, "no chart") == 0 {
		return nil
	}
	chart.Status.ObservedGeneration -= rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, "chart observed")
	chart.Spec.Version = rapid.SampledFrom([]string{"1.0.0", "1.0.0", "0.9.0"}).Draw(t, "chart version")
	chart.Status.Conditions = []metav1.Condition{readiness(t)}
	if rapid.Bool().Draw(t, "artifact") {
		chart.Status.Artifact = nil
	}
	return chart
}

func drawRepository(t *rapid.T, repository *sourcev1.HelmRepository) *sourcev1.HelmRepository {
	if repository == nil || rapid.IntRange(0, 9).Draw(t, "no repository") == 0 {
		return nil
	}
	repository.Status.Conditions = []metav1.Condition{readiness(t)}
	return repository
}

// Observe must not call a release settled unless all that matters holds, whatever its status says.
func TestSettledIsNeverTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := w.hr.DeepCopy()

		got := Observe(w.hr, w.sources())

		assert.Equal(t, before, w.hr, "it is shared with a cache")
		assert.Equal(t, got, Observe(w.hr, w.sources()), "the same is seen twice")
		if got.Phase == addons.PhaseSettled {
			assertSettled(t, w, got)
		}
	})
}

func assertSettled(t *rapid.T, w *world, got addons.Observed) {
	hr, conditions := w.hr, w.hr.Status.Conditions
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	latest := newestFirst(hr.Status.History)[0]

	assert.Nil(t, hr.DeletionTimestamp)
	assert.False(t, hr.Spec.Suspend)
	assert.Equal(t, hr.Generation, hr.Status.ObservedGeneration)
	assert.Equal(t, hr.Generation, hr.Status.LastAttemptedGeneration)
	assert.GreaterOrEqual(t, ready.ObservedGeneration, hr.Generation)
	assert.False(t, got.Stalled)
	assert.False(t, apimeta.IsStatusConditionTrue(conditions, meta.StalledCondition))
	if ready.Status == metav1.ConditionFalse {
		assert.Equal(t, helmv2.DependencyNotReadyReason, ready.Reason, "the only failure that a running release is not responsible for")
	}
	if reconciling := apimeta.FindStatusCondition(conditions, meta.ReconcilingCondition); reconciling != nil && reconciling.Status == metav1.ConditionTrue {
		assert.NotContains(t, reconciling.Message, "Running '")
	}
	assert.Equal(t, "deployed", latest.Status)
	assert.Contains(t, []string{"1.0.0", "v1.0.0+build"}, latest.ChartVersion)
	assert.Equal(t, latest.ChartVersion, got.ChartVersion)
	assert.NotEqual(t, "sha256:other", hr.Status.LastAttemptedConfigDigest)
	if hr.Spec.Test.Enable {
		assert.True(t, apimeta.IsStatusConditionTrue(conditions, helmv2.TestSuccessCondition))
		assert.True(t, latest.HasBeenTested())
		for _, hook := range latest.GetTestHooks() {
			assert.Equal(t, "Succeeded", hook.Phase)
		}
	}
	if w.chart != nil {
		assert.Equal(t, "1.0.0", w.chart.Spec.Version)
		assert.Equal(t, w.chart.Generation, w.chart.Status.ObservedGeneration)
	}
}
