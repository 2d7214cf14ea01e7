package controllers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// next is a release that is about to move to a chart version.
func next(version string) addons.Release {
	return addons.Release{
		Addon: "app", Name: "app", Namespace: "ns-app", Chart: "app", ChartVersion: version, CRDs: v1alpha1.CRDCreateReplace,
		Repository: addons.Repository{URL: "https://charts.example.com"},
	}
}

func (s *stage) charts() *Charts { return &Charts{Client: s.api, Live: s.api, Clock: s.clock} }

// serves says where source-controller has the release's chart.
func (s *stage) serves(release addons.Release, artifact meta.Artifact) {
	s.Helper()
	chart := get(s, flux.PreflightName(release), &sourcev1.HelmChart{})
	artifact.Path, artifact.Revision, artifact.LastUpdateTime = "app.tgz", release.ChartVersion, metav1.Now()
	chart.Status.ObservedGeneration, chart.Status.Artifact = chart.Generation, &artifact
	require.NoError(s, s.api.Status().Update(s.ctx, chart))
}

// server serves one body, and counts the requests.
func (s *stage) server(status int, body []byte) (meta.Artifact, *int) {
	requests := new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*requests++
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	s.Cleanup(server.Close)
	sum := sha256.Sum256(body)
	return meta.Artifact{URL: server.URL, Digest: "sha256:" + hex.EncodeToString(sum[:])}, requests
}

// packed makes a chart's package of pairs of a file's name and its text.
func packed(s *stage, files ...string) []byte {
	s.Helper()
	var body bytes.Buffer
	zipped := gzip.NewWriter(&body)
	archive := tar.NewWriter(zipped)
	files = append(files, "Chart.yaml", "apiVersion: v2\nname: app\nversion: 2.0.0\n")
	for i := 0; i < len(files); i += 2 {
		require.NoError(s, archive.WriteHeader(&tar.Header{Name: "app/" + files[i], Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, err := archive.Write([]byte(files[i+1]))
		require.NoError(s, err)
	}
	require.NoError(s, archive.Close())
	require.NoError(s, zipped.Close())
	return body.Bytes()
}

func (s *stage) preflights() []string {
	var names []string
	for _, object := range s.list(s.api, &sourcev1.HelmChartList{}) {
		names = append(names, object.GetName())
	}
	return names
}

func TestAChartIsFetchedBeforeItsRelease(t *testing.T) {
	s := newStage(t)
	charts := s.charts()
	finding, err := charts.Find(s.ctx, next("2.0.0"))
	require.NoError(t, err)
	assert.Equal(t, "waiting for its chart to be fetched", finding.Waiting)
	assert.Equal(t, "https://charts.example.com", get(s, flux.RepositoryName(next("2.0.0").Repository), &sourcev1.HelmRepository{}).Spec.URL)

	chart := get(s, flux.PreflightName(next("2.0.0")), &sourcev1.HelmChart{})
	apimeta.SetStatusCondition(&chart.Status.Conditions, metav1.Condition{
		Type: meta.ReadyCondition, Status: metav1.ConditionFalse, Reason: "InvalidChartReference", Message: "no chart version 2.0.0", ObservedGeneration: chart.Generation,
	})
	require.NoError(t, s.api.Status().Update(s.ctx, chart))
	finding, err = charts.Find(s.ctx, next("2.0.0"))
	require.NoError(t, err)
	assert.Contains(t, finding.Waiting, "chart app 2.0.0 from repository https://charts.example.com: no chart version 2.0.0")

	artifact, requests := s.server(http.StatusOK, packed(s))
	s.serves(next("2.0.0"), artifact)
	before := s.versions(s.api)
	for range 3 {
		finding, err = charts.Find(s.ctx, next("2.0.0"))
		require.NoError(t, err)
		assert.Empty(t, finding)
	}
	assert.Equal(t, 1, *requests, "it is downloaded once")
	assert.Equal(t, before, s.versions(s.api), "nothing is written")

	_, err = charts.Find(s.ctx, next("3.0.0"))
	require.NoError(t, err)
	assert.Equal(t, []string{flux.PreflightName(next("3.0.0"))}, s.preflights(), "the one for another version has gone")
	require.NoError(t, charts.cleanUp(s.ctx, "app", "other"))
	require.NoError(t, charts.cleanUp(s.ctx, "other", ""))
	assert.Len(t, s.preflights(), 1)
	require.NoError(t, charts.cleanUp(s.ctx, "app", "app"))
	assert.Empty(t, s.preflights())
}

func TestAChartThatCannotBeReadIsGivenUp(t *testing.T) {
	tests := map[string]struct {
		status int
		body   func(*stage) []byte
		digest string
		want   string
	}{
		"not found":              {status: http.StatusNotFound, want: "404"},
		"redirected":             {status: http.StatusFound, want: "302"},
		"too large":              {status: http.StatusOK, body: func(*stage) []byte { return bytes.Repeat([]byte{0}, maxPackage+1) }, want: "larger than 20 MiB"},
		"another digest":         {status: http.StatusOK, digest: "sha256:" + strings.Repeat("0", 64), want: "its digest is sha256:"},
		"a digest of a new kind": {status: http.StatusOK, digest: "blake3:00", want: `kind "blake3"`},
		"not a chart":            {status: http.StatusOK, body: func(*stage) []byte { return []byte("<html>") }, want: "reading the chart's package"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			charts := s.charts()
			_, err := charts.Find(s.ctx, next("2.0.0"))
			require.NoError(t, err)
			body := packed(s)
			if test.body != nil {
				body = test.body(s)
			}
			artifact, requests := s.server(test.status, body)
			if test.digest != "" {
				artifact.Digest = test.digest
			}
			s.serves(next("2.0.0"), artifact)
			for range 2 {
				finding, err := charts.Find(s.ctx, next("2.0.0"))
				require.NoError(t, err)
				assert.Contains(t, finding.Waiting, test.want)
				s.clock.Step(unreadAfter - time.Second)
			}
			finding, err := charts.Find(s.ctx, next("2.0.0"))
			require.NoError(t, err)
			assert.Empty(t, finding, "after half a minute the release goes on")
			tried := *requests
			_, err = charts.Find(s.ctx, next("2.0.0"))
			require.NoError(t, err)
			assert.Equal(t, tried, *requests, "it is not tried for ever")
		})
	}
}

func TestAnUnreachableChartIsWaitedFor(t *testing.T) {
	s := newStage(t)
	charts := s.charts()
	_, err := charts.Find(s.ctx, next("2.0.0"))
	require.NoError(t, err)
	artifact, _ := s.server(http.StatusOK, packed(s))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	reachable := artifact.URL
	artifact.URL = gone.URL
	s.serves(next("2.0.0"), artifact)
	finding, err := charts.Find(s.ctx, next("2.0.0"))
	require.NoError(t, err)
	assert.Contains(t, finding.Waiting, "connection refused")
	assert.Contains(t, finding.Waiting, "NetworkPolicy")

	artifact.URL = reachable
	s.serves(next("2.0.0"), artifact)
	finding, err = charts.Find(s.ctx, next("2.0.0"))
	require.NoError(t, err)
	assert.Empty(t, finding)
}
