package flux

import (
	"fmt"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

const (
	statusDeployed      = "deployed" // Helm's word for a release that runs
	testPhaseSucceeded  = "Succeeded"
	reasonSourceUnready = "SourceNotReady"     // literals in helm-controller, without a constant in its API
	reasonRetryLater    = "RetryAfterInterval" // hides the failure that Released still shows
)

// Sources are what a release's chart comes from. Either may be nil: not made yet, or gone.
type Sources struct {
	Chart      *sourcev1.HelmChart
	Repository *sourcev1.HelmRepository
}

// Observe reads what a HelmRelease really says. Its Ready condition alone does not tell: it may speak of an older spec or chart version,
// it turns Unknown at every check with helm-controller 1.4.0, and False for reasons that leave the release running as it should.
func Observe(hr *helmv2.HelmRelease, sources Sources) addons.Observed {
	o := addons.Observed{
		Name:        hr.Name,
		Namespace:   hr.Spec.TargetNamespace,
		SuspendedBy: suspendedBy(hr),
		Requested:   hr.Annotations[meta.ReconcileRequestAnnotation],
	}
	if hr.Spec.Chart != nil {
		o.AskedVersion = hr.Spec.Chart.Spec.Version
	}
	for _, dependency := range hr.Spec.DependsOn {
		o.DependsOn = append(o.DependsOn, dependency.Name)
	}
	if snapshot := deployed(hr); snapshot != nil {
		o.ChartVersion, o.Revision = snapshot.ChartVersion, int64(snapshot.Version)
	}
	o.Token = fmt.Sprintf("%d.%d", hr.Generation, o.Revision)
	o.Phase, o.Message = phase(hr, sources)
	o.Stalled = o.Phase == addons.PhaseFailing && apimeta.IsStatusConditionTrue(hr.Status.Conditions, meta.StalledCondition)
	return o
}

// deployed is the newest snapshot of a release that Helm calls deployed; a failed upgrade leaves the one before it so.
func deployed(hr *helmv2.HelmRelease) *helmv2.Snapshot {
	for _, snapshot := range hr.Status.History {
		if snapshot.Status == statusDeployed {
			return snapshot
		}
	}
	return nil
}

func phase(hr *helmv2.HelmRelease, sources Sources) (addons.Phase, string) {
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, meta.ReadyCondition)
	switch {
	case hr.DeletionTimestamp != nil:
		return addons.PhaseDeleting, messageOf(ready, "waiting for Flux to uninstall it")
	case ready == nil || ready.ObservedGeneration < hr.Generation:
		return addons.PhaseProgressing, "waiting for Flux to look at it"
	case runsAsAsked(hr):
		return phaseOfRunning(hr, ready, sources)
	default:
		return phaseOfChanging(hr, ready, sources)
	}
}

// runsAsAsked says whether exactly what the spec asks for was attempted, and is deployed.
func runsAsAsked(hr *helmv2.HelmRelease) bool {
	if hr.Status.ObservedGeneration != hr.Generation || hr.Status.LastAttemptedGeneration != hr.Generation || len(hr.Status.History) == 0 {
		return false
	}
	latest := hr.Status.History[0]
	return latest.Status == statusDeployed && hr.Spec.Chart != nil &&
		addons.SameChartVersion(latest.ChartVersion, hr.Spec.Chart.Spec.Version) &&
		latest.Name == hr.Spec.ReleaseName && latest.Namespace == hr.Spec.TargetNamespace
}

func phaseOfRunning(hr *helmv2.HelmRelease, ready *metav1.Condition, sources Sources) (addons.Phase, string) {
	switch {
	case !testsPassed(hr):
		return phaseOfTests(hr, ready)
	case ready.Status == metav1.ConditionTrue:
		if apimeta.IsStatusConditionTrue(hr.Status.Conditions, meta.ReconcilingCondition) {
			return addons.PhaseProgressing, messageOf(ready, "Flux is working on it")
		}
		return addons.PhaseSettled, ready.Message
	case ready.Status == metav1.ConditionUnknown && !runsAction(ready):
		return addons.PhaseSettled, "Flux is checking it" // what 1.4.0 says at the start of every check
	case ready.Status == metav1.ConditionUnknown:
		return addons.PhaseProgressing, ready.Message
	case ready.Reason == helmv2.DependencyNotReadyReason:
		return addons.PhaseSettled, "runs; Flux checks it again once what it depends on is ready"
	case ready.Reason == reasonSourceUnready || ready.Reason == helmv2.ArtifactFailedReason:
		return addons.PhaseDegraded, orElse(sourceFailure(hr, sources), ready.Message)
	default:
		return addons.PhaseFailing, failureMessage(hr, ready)
	}
}

// runsAction tells a Helm action apart from the check that precedes it.
func runsAction(ready *metav1.Condition) bool { return strings.HasPrefix(ready.Message, "Running ") }

// testsPassed is true when tests are off. When they are on, it reads the hooks' phases rather than the summary: 1.4.0 counts tests
// that never ran as passed.
func testsPassed(hr *helmv2.HelmRelease) bool {
	if !hr.GetTest().Enable {
		return true
	}
	hooks := hr.Status.History[0].GetTestHooks()
	for _, hook := range hooks {
		if hook.Phase != testPhaseSucceeded {
			return false
		}
	}
	return hr.Status.History[0].HasBeenTested() && (len(hooks) == 0 || apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.TestSuccessCondition))
}

func phaseOfTests(hr *helmv2.HelmRelease, ready *metav1.Condition) (addons.Phase, string) {
	if test := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.TestSuccessCondition); test != nil && test.Status == metav1.ConditionFalse {
		return addons.PhaseFailing, test.Message
	}
	if ready.Status == metav1.ConditionFalse {
		return addons.PhaseFailing, failureMessage(hr, ready)
	}
	return addons.PhaseProgressing, "its Helm tests are running"
}

func phaseOfChanging(hr *helmv2.HelmRelease, ready *metav1.Condition, sources Sources) (addons.Phase, string) {
	switch {
	case ready.Status == metav1.ConditionTrue:
		return addons.PhaseProgressing, "waiting for Flux to look at it"
	case ready.Status == metav1.ConditionUnknown:
		return addons.PhaseProgressing, ready.Message
	case ready.Reason == helmv2.DependencyNotReadyReason:
		return addons.PhaseWaiting, ready.Message
	case ready.Reason == reasonSourceUnready || ready.Reason == helmv2.ArtifactFailedReason:
		if failure := sourceFailure(hr, sources); failure != "" {
			return addons.PhaseFailing, failure
		}
		return addons.PhaseProgressing, "waiting for its chart to be fetched"
	default:
		return addons.PhaseFailing, failureMessage(hr, ready)
	}
}

// failureMessage finds the cause of a failure: where Flux only says when it tries again, the Released condition has it.
func failureMessage(hr *helmv2.HelmRelease, ready *metav1.Condition) string {
	if ready.Reason == reasonRetryLater || ready.Reason == meta.ProgressingWithRetryReason {
		for _, kind := range []string{helmv2.TestSuccessCondition, helmv2.ReleasedCondition} {
			if c := apimeta.FindStatusCondition(hr.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
				return c.Message
			}
		}
	}
	return ready.Message
}

// sourceFailure says why a chart cannot be fetched, and from where; empty while there is no sign of a failure.
func sourceFailure(hr *helmv2.HelmRelease, sources Sources) string {
	if sources.Repository == nil || hr.Spec.Chart == nil {
		return ""
	}
	where := "repository " + sources.Repository.Spec.URL
	if ref := sources.Repository.Spec.SecretRef; ref != nil {
		where += fmt.Sprintf(" with the credentials in Secret %s/%s", sources.Repository.Namespace, ref.Name)
	}
	if c := apimeta.FindStatusCondition(sources.Repository.Status.Conditions, meta.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
		return fmt.Sprintf("%s: %s", where, c.Message)
	}
	if sources.Chart == nil || sources.Chart.Spec.Version != hr.Spec.Chart.Spec.Version {
		return ""
	}
	if c := apimeta.FindStatusCondition(sources.Chart.Status.Conditions, meta.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
		return fmt.Sprintf("chart %s %s from %s: %s", hr.Spec.Chart.Spec.Chart, hr.Spec.Chart.Spec.Version, where, c.Message)
	}
	return ""
}

func messageOf(condition *metav1.Condition, fallback string) string {
	if condition == nil {
		return fallback
	}
	return orElse(condition.Message, fallback)
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
