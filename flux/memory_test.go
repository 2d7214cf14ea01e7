package flux

import (
	"maps"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRememberTakesDownWhatIsDeployedWhenTheSpecChanges(t *testing.T) {
	for name, test := range map[string]struct {
		live, desired func(*helmv2.HelmRelease)
		want          string
	}{
		"unchanged": {},
		"unchanged, values in another order": {
			live:    func(hr *helmv2.HelmRelease) { hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"a":1,"b":2}`)} },
			desired: func(hr *helmv2.HelmRelease) { hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"b": 2, "a": 1}`)} },
		},
		"suspended since": {live: func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }},
		"changed":         {desired: func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = "1.1.0" }, want: "v3 1.0.0"},
		"changed before, with nothing deployed now": {
			live: func(hr *helmv2.HelmRelease) {
				hr.Status.History = nil
				hr.Annotations = map[string]string{annotationDeployed: "v2 0.9.0"}
			},
			desired: func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = "1.1.0" },
			want:    "v2 0.9.0",
		},
		"changed before": {live: func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{annotationDeployed: "v2 0.9.0"} }, want: "v2 0.9.0"},
		"another chart": {
			live:    func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{annotationDeployed: "v2 0.9.0"} },
			desired: func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Chart = "other" },
		},
		"not there": {live: func(hr *helmv2.HelmRelease) { *hr = helmv2.HelmRelease{} }},
	} {
		t.Run(name, func(t *testing.T) {
			live := settledWorld().hr
			desired := HelmRelease(webRelease())
			for hr, change := range map[*helmv2.HelmRelease]func(*helmv2.HelmRelease){live: test.live, desired: test.desired} {
				if change != nil {
					change(hr)
				}
			}
			before := maps.Clone(live.Annotations)
			Remember(desired, live)
			assert.Equal(t, test.want, desired.Annotations[annotationDeployed])
			assert.Equal(t, before, live.Annotations)
		})
	}
}

func TestObserveKnowsWhatWasDeployedBeforeFluxForgot(t *testing.T) {
	for name, test := range map[string]struct {
		change       func(*world)
		chartVersion string
		revision     int64
	}{
		"Flux goes on":            {change: func(w *world) { w.hr.Status.History = nil }, chartVersion: "0.9.0", revision: 2},
		"and fails":               {change: failedAt(4), chartVersion: "0.9.0", revision: 2},
		"it is deployed":          {change: func(*world) {}, chartVersion: "1.0.0", revision: 3},
		"revisions begin anew":    {change: failedAt(1)},
		"as many as before":       {change: failedAt(2)},
		"deleted":                 {change: func(w *world) { w.hr.Status.History = nil; w.delete() }},
		"nothing was taken down":  {change: func(w *world) { w.hr.Status.History = nil; w.hr.Annotations = nil }},
		"somebody wrote nonsense": {change: func(w *world) { w.hr.Status.History = nil; w.hr.Annotations[annotationDeployed] = "yes" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.Annotations = map[string]string{annotationDeployed: "v2 0.9.0"}
			test.change(w)
			got := Observe(w.hr, w.sources())
			assert.Equal(t, test.chartVersion, got.ChartVersion)
			assert.Equal(t, test.revision, got.Revision)
		})
	}
}

func failedAt(revision int) func(*world) {
	return func(w *world) {
		w.hr.Status.History = helmv2.Snapshots{snapshot(revision, "failed", "1.0.0")}
		w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "failed")
	}
}
