package flux

import (
	"fmt"
	"net/url"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	asked := r.hr.Spec.Chart.Spec
	where := fmt.Sprintf("repository %s", asked.SourceRef.Name)
	if repository := r.sources.Repository; repository != nil {
		where = location(repository)
		if c := failed(repository.Status.Conditions); c != nil {
			return fmt.Sprintf("%s: %s", where, c.Message)
		}
	}
	if !r.chartIsAsked() {
		return ""
	}
	if c := failed(r.sources.Chart.Status.Conditions); c != nil {
		return fmt.Sprintf("chart %s %s from %s: %s", asked.Chart, asked.Version, where, c.Message)
	}
	return ""
}

// location names a repository, without a password that may be in its URL, and the Secrets that fetching from it rests on.
func location(repository *sourcev1.HelmRepository) string {
	where := "repository " + repository.Spec.URL
	if address, err := url.Parse(repository.Spec.URL); err == nil {
		where = "repository " + address.Redacted()
	}
	if ref := repository.Spec.SecretRef; ref != nil {
		where += fmt.Sprintf(" with the credentials in Secret %s/%s", repository.Namespace, ref.Name)
	}
	if ref := repository.Spec.CertSecretRef; ref != nil {
		where += fmt.Sprintf(" with the certificates in Secret %s/%s", repository.Namespace, ref.Name)
	}
	return where
}

func failed(conditions []metav1.Condition) *metav1.Condition {
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return nil
	}
	return ready
}
