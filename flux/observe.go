package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

const (
	statusDeployed     = "deployed" // Helm's word for a release that runs
	testPhaseSucceeded = "Succeeded"

	// What helm-controller writes without a constant in its API.
	reasonSourceUnready = "SourceNotReady"
	reasonRetryLater    = "RetryAfterInterval"
	reasonUnlocked      = "PendingRelease" // helm-controller goes on after its death in the middle of an action
	actionPrefix        = "Running '"

	unnoticed = "waiting for Flux to look at it"
	unfetched = "waiting for its chart to be fetched"
)

// Observe reads what a HelmRelease really says. Its Ready condition alone does not tell: it may speak of an older spec or chart version,
// it turns Unknown at every check with helm-controller 1.4.0, and False for reasons that leave the release running as it should.
func Observe(hr *helmv2.HelmRelease, sources Sources) addons.Observed {
	o := addons.Observed{
		Name:        hr.Name,
		UID:         string(hr.UID),
		Namespace:   hr.Spec.TargetNamespace,
		SuspendedBy: suspendedBy(hr),
		Requested:   hr.Annotations[meta.ReconcileRequestAnnotation],
		Handled:     hr.Status.LastHandledReconcileAt,
	}
	if hr.Spec.Chart != nil {
		o.AskedChart, o.AskedVersion = hr.Spec.Chart.Spec.Chart, hr.Spec.Chart.Spec.Version
		o.AskedByUs = askedByUs(hr)
	}
	for _, dependency := range hr.Spec.DependsOn {
		o.DependsOn = append(o.DependsOn, dependency.Name)
	}
	r := report{hr: hr, sources: sources, history: newestFirst(hr.Status.History)}
	o.ChartVersion, o.Revision = r.running()
	if snapshot := r.deployed(); snapshot != nil {
		o.ValuesDigest = snapshot.ConfigDigest
	}
	if len(r.history) > 0 {
		o.Chart, o.TargetNamespace = r.history[0].ChartName, r.history[0].Namespace
	}
	o.Token = fmt.Sprintf("%d.%d", hr.Generation, o.Revision)
	o.Uninstall = r.uninstall()
	o.Phase, o.Message = r.phase(o.SuspendedBy)
	o.Message = r.explainTimeout(o.Message)
	ready := r.condition(meta.ReadyCondition)
	o.Stale = o.Phase == addons.PhaseDegraded && ready.Status == metav1.ConditionFalse && r.failedBefore(ready)
	o.Stalled = (o.Phase == addons.PhaseFailing || o.Phase == addons.PhaseDegraded) && r.isTrue(meta.StalledCondition)
	o.RolledBack = o.Phase == addons.PhaseFailing && r.rolledBack()
	o.ResetLost = r.resetLost()
	o.Deadline, o.Late = r.deadline(o.Phase)
	return o
}

// report is a HelmRelease with what is needed to read it.
type report struct {
	hr      *helmv2.HelmRelease
	sources Sources
	history []*helmv2.Snapshot // newest first
}

// newestFirst sorts a copy: what is observed may be shared with a cache, and Flux's own accessors sort in place.
func newestFirst(history helmv2.Snapshots) []*helmv2.Snapshot {
	sorted := slices.DeleteFunc(slices.Clone(history), func(s *helmv2.Snapshot) bool { return s == nil })
	slices.SortStableFunc(sorted, func(a, b *helmv2.Snapshot) int { return cmp.Compare(b.Version, a.Version) })
	return sorted
}

// deployed is the newest snapshot of a release that Helm calls deployed; a failed upgrade leaves the one before it so.
func (r report) deployed() *helmv2.Snapshot {
	for _, snapshot := range r.history {
		if snapshot.Status == statusDeployed {
			return snapshot
		}
	}
	return nil
}

// running is the deployed chart version and its revision, as far as that is known; empty and 0 when none is.
func (r report) running() (chartVersion string, revision int64) {
	if snapshot := r.deployed(); snapshot != nil {
		return snapshot.ChartVersion, int64(snapshot.Version)
	}
	version, number := r.remembered()
	return version, int64(number)
}

func (r report) condition(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(r.hr.Status.Conditions, kind)
}

func (r report) isTrue(kind string) bool {
	return apimeta.IsStatusConditionTrue(r.hr.Status.Conditions, kind)
}

func (r report) phase(suspendedBy string) (addons.Phase, string) {
	ready := r.condition(meta.ReadyCondition)
	switch {
	case r.hr.DeletionTimestamp != nil:
		return addons.PhaseDeleting, r.deletionMessage(ready)
	case suspendedBy != "":
		return addons.PhaseProgressing, fmt.Sprintf("suspended by %q: Flux leaves it alone until it is resumed", suspendedBy)
	case ready == nil || ready.ObservedGeneration < r.hr.Generation:
		return addons.PhaseProgressing, unnoticed
	case !r.runsAsAsked():
		return r.phaseOfChanging(ready)
	case !r.testsPassed():
		return r.phaseOfTests(ready)
	default:
		return r.phaseOfRunning(ready)
	}
}

// runsAsAsked says whether exactly what the spec asks for was attempted, and is deployed. An attempt with new values can fail
// before Helm records a revision: then only the digest of the values tells that the deployed ones are older.
func (r report) runsAsAsked() bool {
	status := r.hr.Status
	if status.ObservedGeneration != r.hr.Generation || status.LastAttemptedGeneration != r.hr.Generation ||
		r.hr.Spec.Chart == nil || len(r.history) == 0 {
		return false
	}
	latest := r.history[0]
	return latest.Status == statusDeployed &&
		addons.SameChartVersion(latest.ChartVersion, r.hr.Spec.Chart.Spec.Version) &&
		latest.Name == r.hr.Spec.ReleaseName && latest.Namespace == r.hr.Spec.TargetNamespace &&
		sameDigest(latest.ConfigDigest, status.LastAttemptedConfigDigest)
}

// sameDigest cannot tell between two algorithms, and then believes Flux, which can.
func sameDigest(a, b string) bool {
	algorithmA, _, _ := strings.Cut(a, ":")
	algorithmB, _, _ := strings.Cut(b, ":")
	return a == b || algorithmA != algorithmB
}

func (r report) phaseOfRunning(ready *metav1.Condition) (addons.Phase, string) {
	switch action := r.action(); {
	case action != "":
		return addons.PhaseProgressing, action
	case r.isTrue(meta.StalledCondition):
		return addons.PhaseDegraded, r.failureMessage(ready)
	case ready.Status == metav1.ConditionTrue:
		return r.phaseOfSource(ready.Message)
	case r.failedBefore(ready):
		return addons.PhaseDegraded, "runs as asked, but Flux still reports an earlier attempt, and is made to upgrade once more: " +
			r.condition(helmv2.ReleasedCondition).Message
	case ready.Status == metav1.ConditionUnknown && !r.artifactLost():
		return r.phaseOfSource("Flux is checking it") // what 1.4.0 says at the start of every check
	case ready.Status == metav1.ConditionFalse && ready.Reason == helmv2.DependencyNotReadyReason:
		return r.phaseOfSource("runs; Flux checks it again once what it depends on is ready")
	case ready.Status == metav1.ConditionUnknown || awaitsSource(ready):
		return addons.PhaseDegraded, cmp.Or(r.sourceFailure(), unfetched)
	default:
		return addons.PhaseDegraded, r.failureMessage(ready)
	}
}

func awaitsSource(ready *metav1.Condition) bool {
	return ready.Reason == reasonSourceUnready || ready.Reason == helmv2.ArtifactFailedReason
}

// failedBefore says, of a release that runs as asked, that Flux reports an attempt with values that were taken back before Helm
// recorded a revision, or will again after the check that it is at. Versions of helm-controller before 1.5.0 do so until they are
// forced, and keep dependents waiting.
func (r report) failedBefore(ready *metav1.Condition) bool {
	released := r.condition(helmv2.ReleasedCondition)
	if released == nil || released.Status != metav1.ConditionFalse {
		return false
	}
	return (released.Reason == helmv2.InstallFailedReason || released.Reason == helmv2.UpgradeFailedReason) &&
		(ready.Status == metav1.ConditionUnknown || ready.Reason == released.Reason)
}

// phaseOfSource settles a release that runs as asked, unless its chart is yet to be fetched from where the spec now says: until
// helm-controller sees that, it goes by the old chart.
func (r report) phaseOfSource(message string) (addons.Phase, string) {
	if r.sourceIsCurrent() {
		return addons.PhaseSettled, message
	}
	if failure := r.sourceFailure(); failure != "" {
		return addons.PhaseDegraded, failure
	}
	return addons.PhaseProgressing, unfetched
}

// action is the Helm action that runs, in Flux's words; empty while Flux only checks.
func (r report) action() string {
	reconciling := r.condition(meta.ReconcilingCondition)
	if reconciling != nil && reconciling.Status == metav1.ConditionTrue && strings.HasPrefix(reconciling.Message, actionPrefix) {
		return reconciling.Message
	}
	return ""
}

// testsPassed is true when tests are off. When they are on, it reads the hooks' phases too: 1.4.0 counts tests that never ran as
// run.
func (r report) testsPassed() bool {
	if !r.hr.GetTest().Enable {
		return true
	}
	for _, hook := range r.history[0].GetTestHooks() {
		if hook == nil || hook.Phase != testPhaseSucceeded {
			return false
		}
	}
	return r.history[0].HasBeenTested() && r.isTrue(helmv2.TestSuccessCondition)
}

func (r report) phaseOfTests(ready *metav1.Condition) (addons.Phase, string) {
	test := r.condition(helmv2.TestSuccessCondition)
	switch {
	case r.action() != "":
		return addons.PhaseProgressing, r.action()
	case test != nil && test.Status == metav1.ConditionFalse:
		return addons.PhaseFailing, test.Message
	case r.isTrue(meta.ReconcilingCondition):
		return addons.PhaseProgressing, ready.Message
	case ready.Status == metav1.ConditionFalse:
		return addons.PhaseFailing, r.failureMessage(ready)
	default:
		return addons.PhaseFailing, "its Helm tests did not run to the end, and Flux does not repeat them: ask for a new upgrade with flux reconcile helmrelease --force"
	}
}

func (r report) phaseOfChanging(ready *metav1.Condition) (addons.Phase, string) {
	switch {
	case r.isTrue(meta.StalledCondition): // beside Ready=Unknown where Flux was only asked to look again
		return addons.PhaseFailing, r.failureMessage(ready)
	case ready.Status == metav1.ConditionTrue:
		return addons.PhaseProgressing, unnoticed
	case ready.Status == metav1.ConditionFalse && ready.Reason == helmv2.DependencyNotReadyReason:
		return addons.PhaseWaiting, ready.Message
	case ready.Reason == reasonUnlocked || ready.Status == metav1.ConditionUnknown && r.action() != "":
		return addons.PhaseProgressing, ready.Message
	case ready.Status == metav1.ConditionUnknown || awaitsSource(ready):
		return r.phaseOfChecking(ready)
	default:
		return addons.PhaseFailing, r.failureMessage(ready)
	}
}

// phaseOfChecking sees through the check that precedes an attempt: what failed before it has not got better yet.
func (r report) phaseOfChecking(ready *metav1.Condition) (addons.Phase, string) {
	released := r.condition(helmv2.ReleasedCondition)
	switch failure := r.sourceFailure(); {
	case failure != "":
		return addons.PhaseFailing, failure
	case ready.Status == metav1.ConditionFalse:
		return addons.PhaseProgressing, unfetched
	case released != nil && released.Status == metav1.ConditionFalse && released.Reason != reasonUnlocked &&
		released.ObservedGeneration == r.hr.Generation:
		return addons.PhaseFailing, r.failureMessage(ready)
	default:
		return addons.PhaseProgressing, ready.Message
	}
}

// failureMessage finds the cause of a failure where Ready only says what followed: that it is tried again, was rolled back, or
// has been given up.
func (r report) failureMessage(ready *metav1.Condition) string {
	remediated := r.condition(helmv2.RemediatedCondition)
	followed := ready.Reason == reasonRetryLater || ready.Status == metav1.ConditionUnknown || remediated != nil && ready.Reason == remediated.Reason
	if !followed {
		return ready.Message
	}
	for _, kind := range []string{helmv2.TestSuccessCondition, helmv2.ReleasedCondition} {
		if cause := r.condition(kind); cause != nil && cause.Status == metav1.ConditionFalse {
			if remediated != nil {
				return cause.Message + "; " + remediated.Message
			}
			return cause.Message
		}
	}
	if stalled := r.condition(meta.StalledCondition); stalled != nil && ready.Status == metav1.ConditionUnknown {
		return stalled.Message
	}
	return ready.Message
}
