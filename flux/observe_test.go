package flux

import (
	"maps"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

func TestObserveReportsTheSpec(t *testing.T) {
	w := settledWorld()
	w.hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "openebs"}, {Name: "cert-manager"}}
	w.hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "token"}
	w.hr.UID = "uid"
	w.hr.Status.LastHandledReconcileAt = "handled"

	assert.Equal(t, addons.Observed{
		Name: "web", UID: "uid", Namespace: "web-system", Phase: addons.PhaseSettled, Message: upgraded,
		AskedChart: "webapp", AskedVersion: "1.0.0", ChartVersion: "1.0.0", Revision: 3, ValuesDigest: "sha256:values", Token: "4.3",
		Requested: "token", Handled: "handled", Chart: "webapp", TargetNamespace: "web-system", DependsOn: []string{"openebs", "cert-manager"},
	}, Observe(w.hr, w.sources()))
}

// A release is settled only if all of these hold; in each case exactly one does not.
var settledConditions = map[string]observation{
	"1 being deleted": {
		change: func(w *world) { w.delete(); w.hr.Generation-- },
		phase:  addons.PhaseDeleting, message: "waiting for Flux to uninstall it",
	},
	"1 suspended": {
		change: func(w *world) { w.hr.Spec.Suspend = true },
		phase:  addons.PhaseProgressing, message: `suspended by "somebody"`,
	},
	"2 generation observed": {
		change: func(w *world) { w.hr.Status.ObservedGeneration-- },
		phase:  addons.PhaseProgressing, message: unnoticed,
	},
	"3 generation attempted": {
		change: func(w *world) { w.hr.Status.LastAttemptedGeneration-- },
		phase:  addons.PhaseProgressing, message: unnoticed,
	},
	"4 not ready": {
		change: func(w *world) { w.ready(metav1.ConditionFalse, "ValuesError", "could not find Secret") },
		phase:  addons.PhaseDegraded, message: "could not find Secret",
	},
	"4 no word of readiness": {
		change: func(w *world) { w.hr.Status.Conditions = nil },
		phase:  addons.PhaseProgressing, message: unnoticed,
	},
	"4 readiness of an older spec": {
		change: func(w *world) { w.hr.Status.Conditions[0].ObservedGeneration-- },
		phase:  addons.PhaseProgressing, message: unnoticed,
	},
	"4 an action runs": {
		change: func(w *world) { w.reconciling("Running 'correct-cluster-drift' action with timeout of 5m0s") },
		phase:  addons.PhaseProgressing, message: "correct-cluster-drift",
	},
	"4 stalled": {
		change: func(w *world) { w.set(meta.StalledCondition, metav1.ConditionTrue, "RetriesExceeded", "gave up") },
		phase:  addons.PhaseDegraded, stalled: true,
	},
	"5 not deployed": {
		change: func(w *world) { w.hr.Status.History[0].Status = "failed" },
		phase:  addons.PhaseProgressing,
	},
	"5 nothing deployed": {
		change: func(w *world) { w.hr.Status.History = nil },
		phase:  addons.PhaseProgressing,
	},
	"5 another chart version": {
		change: func(w *world) { w.hr.Status.History[0].ChartVersion = "0.9.0" },
		phase:  addons.PhaseProgressing,
	},
	"5 another namespace": {
		change: func(w *world) { w.hr.Status.History[0].Namespace = "elsewhere" },
		phase:  addons.PhaseProgressing,
	},
	"5 another release name": {
		change: func(w *world) { w.hr.Status.History[0].Name = "other" },
		phase:  addons.PhaseProgressing,
	},
	"6 other values": {
		change: func(w *world) { w.hr.Status.LastAttemptedConfigDigest = "sha256:newer" },
		phase:  addons.PhaseProgressing,
	},
	"7 not tested": {
		change: func(w *world) { w.hr.Spec.Test.Enable = true },
		phase:  addons.PhaseFailing, message: "tests did not run",
	},
	"8 another chart version is asked of the source": {
		change: func(w *world) { w.chart.Spec.Version = "0.9.0" },
		phase:  addons.PhaseProgressing, message: "waiting for its chart to be fetched",
	},
	"8 another repository": {
		change: func(w *world) { w.chart.Spec.SourceRef.Name = "mirror" },
		phase:  addons.PhaseProgressing, message: "waiting for its chart to be fetched",
	},
	"8 the source has not looked yet": {
		change: func(w *world) { w.chart.Generation++ },
		phase:  addons.PhaseProgressing, message: "waiting for its chart to be fetched",
	},
	"8 the new source fails": {
		change: func(w *world) {
			w.chart.Generation++
			w.chartReady(metav1.ConditionFalse, "ChartPullError", "no such chart")
		},
		phase: addons.PhaseDegraded, message: "no such chart",
	},
	"9 none fails": {
		change: func(*world) {},
		phase:  addons.PhaseSettled, message: upgraded,
	},
	"9 the chart is not known": {
		change: func(w *world) { w.chart = nil },
		phase:  addons.PhaseSettled, message: upgraded,
	},
}

func TestSettledNeedsEveryCondition(t *testing.T) { observeAll(t, settledConditions) }

// What Ready alone would get wrong.
var readinessTraps = map[string]observation{
	"a. spec changed together with suspend": {
		change: func(w *world) {
			w.respec()
			w.hr.Spec.Suspend = true
			w.hr.Status.ObservedGeneration = w.hr.Generation
		},
		phase: addons.PhaseProgressing, message: "suspended",
	},
	"a. and resumed, but not attempted": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.hr.Status.ObservedGeneration = w.hr.Generation
		},
		phase: addons.PhaseProgressing, message: unnoticed,
	},
	"b, c. old chart from a stale source, all generations current": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
			w.ready(metav1.ConditionTrue, helmv2.UpgradeSucceededReason, upgraded)
		},
		phase: addons.PhaseProgressing, message: unnoticed,
	},
	"c. new repository, same version, helm-controller went by the old chart": {
		change: func(w *world) { w.hr.Spec.Chart.Spec.SourceRef.Name = "mirror" },
		phase:  addons.PhaseProgressing, message: "waiting for its chart to be fetched",
	},
	"d. values changed behind a reference, upgrade about to start": {
		change: func(w *world) {
			w.hr.Status.LastAttemptedConfigDigest = "sha256:newer"
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseProgressing, message: prerequisites,
	},
	"e. Unknown at the start of each check": {
		change: func(w *world) {
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseSettled, message: "Flux is checking it",
	},
	"e. Reconciling at the start of each check, as since 1.4.1": {
		change: func(w *world) { w.reconciling(prerequisites) },
		phase:  addons.PhaseSettled, message: upgraded,
	},
	"f. dependency flaps under a running release": {
		change: func(w *world) {
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionFalse, helmv2.DependencyNotReadyReason, "dependency 'kurl-addons/openebs' is not ready")
		},
		phase: addons.PhaseSettled, message: "runs",
	},
	"f. dependency not ready before a change": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.ready(metav1.ConditionFalse, helmv2.DependencyNotReadyReason, "dependency 'kurl-addons/openebs' is not ready")
		},
		phase: addons.PhaseWaiting, message: "openebs",
	},
	"g. rolled back": {
		change: rolledBack,
		phase:  addons.PhaseFailing, message: "Helm upgrade failed for release web-system/web with chart webapp@1.1.0: timed out", stalled: true,
	},
	"g. rolled back, and asked to look again": {
		change: func(w *world) {
			rolledBack(w)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseFailing, message: "Helm upgrade failed for release web-system/web with chart webapp@1.1.0: timed out", stalled: true,
	},
}

func TestReadinessTraps(t *testing.T) { observeAll(t, readinessTraps) }

// rolledBack is what retries, used up with a rollback, leave.
func rolledBack(w *world) {
	w.ask("1.1.0")
	w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
	w.hr.Status.LastAttemptedRevision = "1.1.0"
	w.hr.Status.History = helmv2.Snapshots{snapshot(5, "deployed", "1.0.0"), snapshot(4, "failed", "1.1.0"), snapshot(3, "superseded", "1.0.0")}
	const rollback = "Helm rollback to previous release web-system/web.v3 with chart webapp@1.0.0 succeeded"
	w.ready(metav1.ConditionFalse, helmv2.RollbackSucceededReason, rollback)
	w.set(helmv2.RemediatedCondition, metav1.ConditionTrue, helmv2.RollbackSucceededReason, rollback)
	w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed for release web-system/web with chart webapp@1.1.0: timed out")
	w.set(meta.StalledCondition, metav1.ConditionTrue, "RetriesExceeded", "Failed to upgrade after 1 attempt(s)")
}

func TestRolledBackReleaseShowsWhatRuns(t *testing.T) {
	w := settledWorld()
	rolledBack(w)
	got := Observe(w.hr, w.sources())
	assert.Equal(t, "1.0.0", got.ChartVersion)
	assert.Equal(t, int64(5), got.Revision)
	assert.Equal(t, "1.1.0", got.AskedVersion)
	assert.Contains(t, got.Message, "rollback to previous release web-system/web.v3")
}

// What helm-controller tries for ever, and what kstatus therefore calls InProgress.
var neverStalling = map[string]observation{
	"first install not seen yet": {
		change: func(w *world) { w.hr.Status = helmv2.HelmReleaseStatus{ObservedGeneration: -1} },
		phase:  addons.PhaseProgressing, message: unnoticed,
	},
	"upgrade failed before Helm recorded anything": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
			w.ready(metav1.ConditionFalse, "RetryAfterInterval", "Will retry after 2m0s")
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: values don't meet the specifications of the schema")
		},
		phase: addons.PhaseFailing, message: "values don't meet the specifications",
	},
	"new values failed before Helm recorded anything": {
		change: func(w *world) {
			w.hr.Status.LastAttemptedConfigDigest = "sha256:bad"
			w.ready(metav1.ConditionFalse, "RetryAfterInterval", "Will retry after 2m0s")
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: template error")
		},
		phase: addons.PhaseFailing, message: "template error",
	},
	"new values failed, about to be tried again": {
		change: func(w *world) {
			w.hr.Status.LastAttemptedConfigDigest = "sha256:bad"
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseProgressing, message: prerequisites,
	},
	"upgrade failed in the cluster": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
			w.hr.Status.History = append(helmv2.Snapshots{snapshot(4, "failed", "1.1.0")}, w.hr.Status.History...)
			w.ready(metav1.ConditionFalse, "RetryAfterInterval", "Will retry after 2m0s")
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: context deadline exceeded")
		},
		phase: addons.PhaseFailing, message: "context deadline exceeded",
	},
	"the same as later versions of helm-controller put it": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, "retrying after 2m0s")
			w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: context deadline exceeded")
		},
		phase: addons.PhaseFailing, message: "context deadline exceeded",
	},
	"upgrade failed, about to be tried again": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
			w.hr.Status.History = append(helmv2.Snapshots{snapshot(4, "failed", "1.1.0")}, w.hr.Status.History...)
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: context deadline exceeded")
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseFailing, message: "context deadline exceeded",
	},
	"a fix after a failed upgrade": {
		change: func(w *world) {
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: context deadline exceeded")
			w.ask("1.1.1")
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		},
		phase: addons.PhaseProgressing, message: prerequisites,
	},
	"action under way": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.reconciling(upgrading)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, upgrading)
		},
		phase: addons.PhaseProgressing, message: upgrading,
	},
	"given up, nothing to roll back to": {
		change: func(w *world) {
			w.ask("1.1.0")
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
			w.set(meta.StalledCondition, metav1.ConditionTrue, "MissingRollbackTarget", "Failed to perform remediation: missing target release for rollback")
		},
		phase: addons.PhaseFailing, message: "missing target release", stalled: true,
	},
	"failure of a spec that has changed since": {
		change: func(w *world) {
			w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed")
			w.respec()
		},
		phase: addons.PhaseProgressing, message: unnoticed,
	},
}

func TestFailuresThatNeverStall(t *testing.T) {
	failing := func(reason, message string) func(*world) {
		return func(w *world) {
			w.ask("1.1.0")
			w.reconciling(prerequisites)
			w.ready(metav1.ConditionFalse, reason, message)
		}
	}
	cases := maps.Clone(neverStalling)
	for _, reason := range []string{
		"ValuesError", "ChartMutateError", "RESTClientError", "FactoryError", "StateError", "ReconcileError",
		"AccessDenied", helmv2.InstallFailedReason, helmv2.UpgradeFailedReason,
	} {
		cases[reason] = observation{change: failing(reason, "cause of "+reason), phase: addons.PhaseFailing, message: "cause of " + reason}
	}
	observeAll(t, cases)
}

// What is deployed is what was asked for: nothing of this makes it fail.
func TestRunningReleaseIsAtWorstDegraded(t *testing.T) {
	cases := map[string]observation{}
	for _, reason := range []string{
		"ValuesError", "ChartMutateError", "RESTClientError", "StateError", "ReconcileError", "RetryAfterInterval",
	} {
		cases[reason] = observation{
			change: func(w *world) { w.ready(metav1.ConditionFalse, reason, "cause of "+reason) },
			phase:  addons.PhaseDegraded, message: "cause of " + reason,
		}
	}
	cases["failure of values that were taken back"] = observation{
		change: func(w *world) {
			w.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: set password")
			w.respec()
			w.hr.Status.ObservedGeneration, w.hr.Status.LastAttemptedGeneration = w.hr.Generation, w.hr.Generation
			w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed: set password")
		},
		phase: addons.PhaseDegraded, message: "is made to upgrade once more: Helm upgrade failed: set password", stale: true,
	}
	observeAll(t, cases)
}
