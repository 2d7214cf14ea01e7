package controllers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// playFlux writes the status that helm-controller gives a HelmRelease which it has deployed as asked.
func (s *stage) playFlux(names ...string) {
	s.Helper()
	for _, name := range names {
		hr := get(s, name, &helmv2.HelmRelease{})
		if controllerutil.AddFinalizer(hr, helmv2.HelmReleaseFinalizer) {
			require.NoError(s, s.api.Update(s.ctx, hr))
		}
		revision := 1
		if len(hr.Status.History) > 0 {
			revision = hr.Status.History[0].Version + 1
		}
		hr.Status.ObservedGeneration, hr.Status.LastAttemptedGeneration = hr.Generation, hr.Generation
		hr.Status.History = helmv2.Snapshots{{
			Name: hr.Spec.ReleaseName, Namespace: hr.Spec.TargetNamespace, Version: revision, Status: "deployed",
			ChartName: hr.Spec.Chart.Spec.Chart, ChartVersion: hr.Spec.Chart.Spec.Version,
			FirstDeployed: metav1.Now(), LastDeployed: metav1.Now(), Digest: "sha256:0", ConfigDigest: "sha256:0",
		}}
		apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
			Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: helmv2.InstallSucceededReason,
			Message: "Helm install succeeded", ObservedGeneration: hr.Generation,
		})
		require.NoError(s, s.api.Status().Update(s.ctx, hr))
	}
}

// playUninstall does what helm-controller does with a HelmRelease that is being deleted: it uninstalls and lets go.
func (s *stage) playUninstall(name string) {
	s.Helper()
	hr := get(s, name, &helmv2.HelmRelease{})
	require.NotNil(s, hr.DeletionTimestamp, "HelmRelease %s is not being deleted", name)
	hr.Status.History = nil
	apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
		Type: helmv2.ReleasedCondition, Status: metav1.ConditionFalse, Reason: helmv2.UninstallSucceededReason,
		Message: "Helm uninstall succeeded", ObservedGeneration: hr.Generation,
	})
	require.NoError(s, s.api.Status().Update(s.ctx, hr))
	controllerutil.RemoveFinalizer(hr, helmv2.HelmReleaseFinalizer)
	require.NoError(s, s.api.Update(s.ctx, hr))
}

// playCharts does what source-controller does with HelmCharts that nobody else plays for: it serves an empty chart.
func (s *stage) playCharts() {
	s.Helper()
	body := emptyChart(s)
	for _, object := range s.list(s.api, &sourcev1.HelmChartList{}) {
		chart := object.(*sourcev1.HelmChart)
		if chart.Status.Artifact != nil {
			continue
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
		s.Cleanup(server.Close)
		sum := sha256.Sum256(body)
		chart.Status.ObservedGeneration = chart.Generation
		chart.Status.Artifact = &meta.Artifact{
			URL: server.URL, Path: "chart.tgz", Revision: chart.Spec.Version, Digest: "sha256:" + hex.EncodeToString(sum[:]), LastUpdateTime: metav1.Now(),
		}
		require.NoError(s, s.api.Status().Update(s.ctx, chart))
	}
}

func emptyChart(s *stage) []byte {
	s.Helper()
	var body bytes.Buffer
	zipped := gzip.NewWriter(&body)
	archive := tar.NewWriter(zipped)
	const text = "apiVersion: v2\nname: empty\nversion: 1.0.0\n"
	require.NoError(s, archive.WriteHeader(&tar.Header{Name: "empty/Chart.yaml", Mode: 0o644, Size: int64(len(text))}))
	_, err := archive.Write([]byte(text))
	require.NoError(s, err)
	require.NoError(s, archive.Close())
	require.NoError(s, zipped.Close())
	return body.Bytes()
}
