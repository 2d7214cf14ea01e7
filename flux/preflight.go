package flux

import (
	"cmp"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Preflight is a HelmChart of our own, by which source-controller fetches a release's chart before the release asks for it. It comes
// from the same place as the HelmChart that helm-controller makes later, and has another name.
func Preflight(r addons.Release) *sourcev1.HelmChart {
	return &sourcev1.HelmChart{
		TypeMeta: metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmChartKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace,
			Name:      PreflightName(r),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.FieldManager,
				v1alpha1.LabelAddon:     r.Addon,
				v1alpha1.LabelRelease:   r.Name,
			},
		},
		Spec: sourcev1.HelmChartSpec{
			Chart:             r.Chart,
			Version:           r.ChartVersion,
			SourceRef:         sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: RepositoryName(r.Repository)},
			Interval:          metav1.Duration{Duration: Interval},
			ReconcileStrategy: sourcev1.ReconcileStrategyChartVersion,
		},
	}
}

// PreflightName is the name of the HelmChart that Preflight makes: another for every chart, version and source.
func PreflightName(r addons.Release) string {
	return fmt.Sprintf("%s-%s-preflight", r.Name, shortHash(fmt.Sprintf("%s %s %s", r.Chart, r.ChartVersion, RepositoryName(r.Repository))))
}

// Fetched is where source-controller serves the package of the sources' chart, or else what is still waited for.
func (s Sources) Fetched(now time.Time) (artifact *meta.Artifact, waiting string) {
	if s.Chart.Status.ObservedGeneration == s.Chart.Generation && s.Chart.Status.Artifact != nil {
		return s.Chart.Status.Artifact, ""
	}
	waiting = unfetched
	if since := s.Chart.CreationTimestamp.Time; !since.IsZero() && now.Sub(since) >= fetchWithin {
		waiting = s.unfetched()
	}
	return nil, cmp.Or(s.failure(s.Chart.Spec.SourceRef.Name), waiting)
}

// AsksFor says whether a HelmRelease asks for the release's chart in its version. One that is not there asks for nothing.
func AsksFor(hr *helmv2.HelmRelease, r addons.Release) bool {
	return hr.Spec.Chart != nil && hr.Spec.Chart.Spec.Chart == r.Chart && addons.SameChartVersion(hr.Spec.Chart.Spec.Version, r.ChartVersion)
}

// CRDPolicy is what a HelmRelease asks to do with CRDs at an upgrade.
func CRDPolicy(hr *helmv2.HelmRelease) v1alpha1.CRDPolicy {
	if hr.Spec.Upgrade == nil {
		return ""
	}
	return v1alpha1.CRDPolicy(hr.Spec.Upgrade.CRDs)
}
