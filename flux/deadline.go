package flux

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// noticeWithin is how long Flux may take to look at a release. It takes a second, unless all its workers are busy or it has just been
	// started anew.
	noticeWithin = 2 * time.Minute
	// fetchWithin is how long a chart may take to be fetched: a minute for the index of its repository, one for the package, and one to spare.
	fetchWithin = 3 * time.Minute

	lookAtFlux = "see: kubectl get pods -n flux-system; kubectl logs -n flux-system deployment/"

	// unseen is what a release says that Flux has not looked at in time.
	unseen = "Flux has not looked at it: helm-controller is down, or busy with other releases; " + lookAtFlux + "helm-controller"
)

// deadline says by when Flux has to have done something about the release, and what is to be said of it otherwise: helm-controller and
// source-controller tell nothing of their own absence. It has none where nothing is expected of Flux, or Flux has told of a failure.
func (r report) deadline(phase addons.Phase) (time.Time, string) {
	switch {
	case phase == addons.PhaseDeleting:
		return r.uninstallDeadline()
	case r.hr.Spec.Suspend:
		return time.Time{}, ""
	case phase == addons.PhaseWaiting && r.requestPending():
		return r.lookedAt().Add(noticeWithin), unseen
	case phase != addons.PhaseProgressing:
		return time.Time{}, ""
	case r.action() != "":
		return r.actionDeadline()
	case r.chartPending():
		return r.fetchDeadline()
	default:
		return r.lookedAt().Add(noticeWithin), unseen
	}
}

// uninstallDeadline leaves time for hooks, each of which may take as long as the uninstall itself.
func (r report) uninstallDeadline() (time.Time, string) {
	ready := r.condition(meta.ReadyCondition)
	if r.uninstall() != addons.UninstallUnderway || ready != nil && r.deletionMessage(ready) == ready.Message {
		return time.Time{}, ""
	}
	return r.changedAt().Add(2*r.hr.GetTimeout().Duration + noticeWithin), fmt.Sprintf(
		"Flux has not uninstalled it: helm-controller is down, or a hook or an object that is being deleted holds it up; %shelm-controller; kubectl describe helmrelease %s -n %s",
		lookAtFlux, r.hr.Name, r.hr.Namespace)
}

var actionTimeout = regexp.MustCompile(`with timeout of (\S+)$`)

// actionDeadline leaves time for hooks, each of which may take as long as the action itself.
func (r report) actionDeadline() (time.Time, string) {
	timeout := r.hr.GetTimeout().Duration
	if match := actionTimeout.FindStringSubmatch(r.action()); match != nil {
		if said, err := time.ParseDuration(match[1]); err == nil {
			timeout = said
		}
	}
	return r.condition(meta.ReconcilingCondition).LastTransitionTime.Add(2*timeout + noticeWithin), fmt.Sprintf(
		"%s has not come to an end: helm-controller is down, or hangs; %shelm-controller; kubectl get pods,jobs,events -n %s",
		r.action(), lookAtFlux, r.hr.Spec.TargetNamespace)
}

// chartPending says whether source-controller has yet to fetch the chart, and has told of no failure.
func (r report) chartPending() bool {
	chart := r.sources.Chart
	return r.chartIsAsked() && (chart.Status.ObservedGeneration < chart.Generation || chart.Status.Artifact == nil)
}

func (r report) fetchDeadline() (time.Time, string) {
	since := later(r.changedAt(), r.sources.Chart.CreationTimestamp.Time)
	if ready := apimeta.FindStatusCondition(r.sources.Chart.Status.Conditions, meta.ReadyCondition); ready != nil {
		since = later(since, ready.LastTransitionTime.Time)
	}
	return since.Add(fetchWithin), r.sources.unfetched()
}

// unfetched says what keeps a chart from being fetched if source-controller tells of no failure.
func (s Sources) unfetched() string {
	switch {
	case s.Chart.Spec.Suspend:
		return fmt.Sprintf("its chart is not fetched: somebody suspended HelmChart %[1]s; resume it with: flux resume source chart %[1]s -n %[2]s", s.Chart.Name, s.Chart.Namespace)
	case s.Repository != nil && s.Repository.Spec.Suspend:
		return fmt.Sprintf("its chart is not fetched: somebody suspended HelmRepository %[1]s; resume it with: flux resume source helm %[1]s -n %[2]s", s.Repository.Name, s.Repository.Namespace)
	default:
		return fmt.Sprintf("its chart has not been fetched: source-controller is down, or hangs; %ssource-controller; kubectl describe helmchart %s -n %s",
			lookAtFlux, s.Chart.Name, v1alpha1.Namespace)
	}
}

// Unseen says whether a release is overdue because helm-controller has not looked at it.
func Unseen(observed addons.Observed) bool { return observed.Overdue && observed.Late == unseen }

// Queued is a release that helm-controller has not looked at since it is at work on others: not overdue, and to be looked at again.
func Queued(observed addons.Observed, again time.Time) addons.Observed {
	observed.Overdue, observed.Deadline = false, again
	observed.Message = "queued in helm-controller, which is at work on other releases; its flag --concurrent lets it work on more at a time"
	return observed
}

// AtWork says whether helm-controller is in the middle of an action on a release, and not overdue with that.
func AtWork(hr *helmv2.HelmRelease, now time.Time) bool {
	r := report{hr: hr}
	if r.action() == "" {
		return false
	}
	deadline, _ := r.actionDeadline()
	return now.Before(deadline)
}

// requestPending says whether Flux has yet to look at the release at a request.
func (r report) requestPending() bool {
	return r.hr.Annotations[meta.ReconcileRequestAnnotation] != r.hr.Status.LastHandledReconcileAt
}

// changedAt is when somebody but Flux changed the HelmRelease last, be it to delete it or to ask for a look at it.
func (r report) changedAt() time.Time {
	at := r.hr.CreationTimestamp.Time
	if r.hr.DeletionTimestamp != nil {
		at = later(at, r.hr.DeletionTimestamp.Time)
	}
	for _, entry := range r.hr.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil {
			at = later(at, entry.Time.Time)
		}
	}
	return at
}

// lookedAt is when Flux last said something new of it, or else when it was changed.
func (r report) lookedAt() time.Time {
	at := r.changedAt()
	for _, condition := range r.hr.Status.Conditions {
		at = later(at, condition.LastTransitionTime.Time)
	}
	return at
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
