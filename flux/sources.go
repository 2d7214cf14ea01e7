package flux

import (
	"fmt"
	"regexp"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasonRepositoryUnread is what source-controller says of a chart while the repository has no index yet: usual for a new one, and
// otherwise the repository's failure.
const reasonRepositoryUnread = "NoSourceArtifact"

// Sources are what a release's chart comes from. Either may be nil: not made yet, or gone.
type Sources struct {
	Chart      *sourcev1.HelmChart
	Repository *sourcev1.HelmRepository
}

// sourceIsCurrent says whether nothing is left to be fetched for the spec. Later failures to fetch the same again do not count: the
// version is exact, and what is deployed stays what was asked for.
func (r report) sourceIsCurrent() bool {
	chart := r.sources.Chart
	return chart == nil || r.chartIsAsked() && chart.Status.ObservedGeneration == chart.Generation
}

// artifactLost says whether the chart has to be fetched again, as after source-controller lost its storage.
func (r report) artifactLost() bool {
	return r.chartIsAsked() && r.sources.Chart.Status.Artifact == nil
}

// chartIsAsked says whether the HelmChart asks for the chart that the spec now asks for.
func (r report) chartIsAsked() bool {
	chart, asked := r.sources.Chart, r.hr.Spec.Chart
	return chart != nil && asked != nil && chart.Spec.Chart == asked.Spec.Chart && chart.Spec.Version == asked.Spec.Version &&
		chart.Spec.SourceRef.Kind == asked.Spec.SourceRef.Kind && chart.Spec.SourceRef.Name == asked.Spec.SourceRef.Name
}

// sourceFailure says why a chart cannot be fetched, and from where; empty while there is no sign of a failure.
func (r report) sourceFailure() string {
	if r.hr.Spec.Chart == nil {
		return ""
	}
	sources := r.sources
	if !r.chartIsAsked() {
		sources.Chart = nil
	}
	return sources.failure(r.hr.Spec.Chart.Spec.SourceRef.Name)
}

// failure says why a chart cannot be fetched from a repository of that name; empty while there is no sign of a failure.
func (s Sources) failure(repository string) string {
	where := "repository " + repository
	if s.Repository != nil {
		where = location(s.Repository)
		if c := failed(s.Repository.Status.Conditions, s.Repository.Generation); c != nil {
			return withoutPassword(fmt.Sprintf("%s: %s", where, c.Message))
		}
	}
	if s.Chart == nil {
		return ""
	}
	if c := failed(s.Chart.Status.Conditions, s.Chart.Generation); c != nil && c.Reason != reasonRepositoryUnread {
		return withoutPassword(fmt.Sprintf("chart %s %s from %s: %s", s.Chart.Spec.Chart, s.Chart.Spec.Version, where, c.Message))
	}
	return ""
}

// location names a repository and the Secrets that fetching from it rests on.
func location(repository *sourcev1.HelmRepository) string {
	where := "repository " + repository.Spec.URL
	if ref := repository.Spec.SecretRef; ref != nil {
		where += fmt.Sprintf(" with the credentials in Secret %s/%s", repository.Namespace, ref.Name)
	}
	if ref := repository.Spec.CertSecretRef; ref != nil {
		where += fmt.Sprintf(" with the certificates in Secret %s/%s", repository.Namespace, ref.Name)
	}
	return where
}

// failed is the Ready condition of a source if it is False, and speaks of the present spec.
func failed(conditions []metav1.Condition, generation int64) *metav1.Condition {
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration < generation {
		return nil
	}
	return ready
}

var password = regexp.MustCompile(`://[^/\s@]*@`)

// withoutPassword takes user names and passwords out of URLs: source-controller quotes them.
func withoutPassword(text string) string {
	return password.ReplaceAllString(text, "://xxxxx@")
}
