package flux

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

const unauthorized = "failed to fetch Helm repository index: failed to cache index to temporary file: failed to fetch https://charts.example.com/stable/index.yaml : 401 Unauthorized"

// installing is a release whose chart has not been fetched.
func installing(w *world) {
	w.hr.Status = helmv2.HelmReleaseStatus{ObservedGeneration: -1}
	w.reconciling(prerequisites)
	w.ready(metav1.ConditionFalse, "SourceNotReady", "HelmChart 'kurl-addons/kurl-addons-web' is not ready: latest generation of object has not been reconciled")
	w.chart.Status.ObservedGeneration = -1
	w.chart.Status.Artifact = nil
	w.chartReady(metav1.ConditionUnknown, meta.ProgressingReason, "building artifact")
	w.repositoryReady(metav1.ConditionUnknown, meta.ProgressingReason, "building artifact")
}

var sourceFailures = map[string]observation{
	"being fetched": {
		change: installing,
		phase:  addons.PhaseProgressing, message: unfetched,
	},
	"login refused": {
		change: func(w *world) {
			installing(w)
			w.repository.Spec.SecretRef = &meta.LocalObjectReference{Name: "charts"}
			w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, unauthorized)
			w.chartReady(metav1.ConditionFalse, "NoSourceArtifact", "no artifact available for HelmRepository source")
		},
		phase:   addons.PhaseFailing,
		message: "repository https://charts.example.com/stable with the credentials in Secret kurl-addons/charts: " + unauthorized,
	},
	"certificate refused": {
		change: func(w *world) {
			installing(w)
			w.repository.Spec.CertSecretRef = &meta.LocalObjectReference{Name: "charts-ca"}
			w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, "x509: certificate signed by unknown authority")
		},
		phase: addons.PhaseFailing, message: "with the certificates in Secret kurl-addons/charts-ca: x509",
	},
	"login refused, seen while Flux checks again": {
		change: func(w *world) {
			installing(w)
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
			w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, unauthorized)
		},
		phase: addons.PhaseFailing, message: "401 Unauthorized",
	},
	"chart not found": {
		change: func(w *world) {
			installing(w)
			w.repositoryReady(metav1.ConditionTrue, meta.SucceededReason, "stored artifact")
			w.chartReady(metav1.ConditionFalse, "InvalidChartReference", "no 'webapp' chart with version matching '1.0.0' found")
		},
		phase:   addons.PhaseFailing,
		message: "chart webapp 1.0.0 from repository https://charts.example.com/stable: no 'webapp' chart with version matching",
	},
	"chart not found in a repository without status, as oci:// ones are": {
		change: func(w *world) {
			installing(w)
			w.repository.Status.Conditions = nil
			w.chartReady(metav1.ConditionFalse, "ChartPullError", "failed to get chart version: not found")
		},
		phase: addons.PhaseFailing, message: "chart webapp 1.0.0 from repository",
	},
	"oci chart being fetched": {
		change: func(w *world) {
			installing(w)
			w.repository.Status.Conditions = nil
		},
		phase: addons.PhaseProgressing, message: unfetched,
	},
	"repository is new, and the chart was looked for before its index": {
		change: func(w *world) {
			installing(w)
			w.chartReady(metav1.ConditionFalse, "NoSourceArtifact", "no artifact available for HelmRepository source")
		},
		phase: addons.PhaseProgressing, message: unfetched,
	},
	"repository is gone": {
		change: func(w *world) {
			installing(w)
			w.chartReady(metav1.ConditionFalse, "SourceUnavailable", "failed to get source: HelmRepository not found")
			w.repository = nil
		},
		phase: addons.PhaseFailing, message: "from repository charts-example-com-stable-",
	},
	"failure of the version asked for before": {
		change: func(w *world) {
			w.chartReady(metav1.ConditionFalse, "InvalidChartReference", "no version 9.9.9")
			w.ask("1.1.0")
			w.ready(metav1.ConditionFalse, "SourceNotReady", "latest generation of object has not been reconciled")
		},
		phase: addons.PhaseProgressing, message: unfetched,
	},
	"chart does not ask for the new version yet": {
		change: func(w *world) {
			w.respec()
			w.hr.Spec.Chart.Spec.Version = "1.1.0"
			w.chartReady(metav1.ConditionFalse, "InvalidChartReference", "no version 1.0.0")
			w.ready(metav1.ConditionFalse, "SourceNotReady", "not ready")
		},
		phase: addons.PhaseProgressing, message: unfetched,
	},
	"no source known": {
		change: func(w *world) {
			installing(w)
			w.chart, w.repository = nil, nil
		},
		phase: addons.PhaseProgressing, message: unfetched,
	},
}

func TestSourceFailures(t *testing.T) { observeAll(t, sourceFailures) }

// A source-controller that comes back with an empty disk says for a while that no chart is there.
func TestLostArtifactDoesNotFailARunningRelease(t *testing.T) {
	lost := func(w *world) {
		w.chart.Status.Artifact = nil
		w.chartReady(metav1.ConditionFalse, "NoSourceArtifact", "no artifact available for HelmRepository source")
	}
	observeAll(t, map[string]observation{
		"not noticed by helm-controller": {
			change: lost,
			phase:  addons.PhaseSettled, message: upgraded,
		},
		"status not updated, file gone": {
			change: func(w *world) {
				w.ready(metav1.ConditionFalse, helmv2.ArtifactFailedReason, "Source not ready: artifact not found. Retrying in 30s")
			},
			phase: addons.PhaseDegraded, message: unfetched,
		},
		"noticed": {
			change: func(w *world) {
				lost(w)
				w.ready(metav1.ConditionFalse, "SourceNotReady", "HelmChart 'kurl-addons/kurl-addons-web' is not ready: does not have an artifact")
			},
			phase: addons.PhaseDegraded, message: unfetched,
		},
		"checked again": {
			change: func(w *world) {
				lost(w)
				w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
			},
			phase: addons.PhaseDegraded, message: unfetched,
		},
		"and the repository is down too": {
			change: func(w *world) {
				lost(w)
				w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, "connection refused")
				w.ready(metav1.ConditionFalse, "SourceNotReady", "HelmChart 'kurl-addons/kurl-addons-web' is not ready: does not have an artifact")
			},
			phase: addons.PhaseDegraded, message: "repository https://charts.example.com/stable: connection refused",
		},
		"repository down, chart still stored": {
			change: func(w *world) {
				w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, "connection refused")
				w.chartReady(metav1.ConditionFalse, "ChartPullError", "connection refused")
			},
			phase: addons.PhaseSettled, message: upgraded,
		},
	})
}

func TestSourceFailureHidesPasswords(t *testing.T) {
	w := settledWorld()
	installing(w)
	w.repository.Spec.URL = "https://jane:s3cret@charts.example.com"
	w.repositoryReady(metav1.ConditionFalse, meta.FailedReason, "failed to fetch https://jane:s3cret@charts.example.com/index.yaml : 401 Unauthorized")

	got := Observe(w.hr, w.sources())

	assert.Equal(t, "repository https://xxxxx@charts.example.com: failed to fetch https://xxxxx@charts.example.com/index.yaml : 401 Unauthorized", got.Message)
}

// Charts and registries spell the same version in several ways.
func TestObservedVersionMatchesHoweverSpelled(t *testing.T) {
	for name, test := range map[string]struct {
		asked, deployed string
		want            addons.Phase
	}{
		"same":                     {"1.0.0", "1.0.0", addons.PhaseSettled},
		"digest as build metadata": {"1.0.0", "1.0.0+0123456789ab", addons.PhaseSettled},
		"asked with build":         {"1.0.0+build.1", "1.0.0+build.1", addons.PhaseSettled},
		"plus as underscore":       {"1.0.0+build.1", "1.0.0_build.1", addons.PhaseSettled},
		"asked as underscore":      {"1.0.0_build.1", "1.0.0+build.1", addons.PhaseSettled},
		"v asked":                  {"v1.0.0", "1.0.0", addons.PhaseSettled},
		"v deployed":               {"1.0.0", "v1.0.0", addons.PhaseSettled},
		"other build":              {"1.0.0+build.2", "1.0.0+build.1", addons.PhaseProgressing},
		"other patch":              {"1.0.1", "1.0.0", addons.PhaseProgressing},
		"pre-release":              {"1.0.0", "1.0.0-rc.1", addons.PhaseProgressing},
		"prefix":                   {"1.0.0", "1.0", addons.PhaseProgressing},
		"nothing":                  {"1.0.0", "", addons.PhaseProgressing},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			w.hr.Spec.Chart.Spec.Version, w.chart.Spec.Version = test.asked, test.asked
			w.hr.Status.History[0].ChartVersion = test.deployed
			assert.Equal(t, test.want, Observe(w.hr, w.sources()).Phase)
		})
	}
}
