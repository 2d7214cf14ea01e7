package cluster_test

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// required are values without which a chart does not render.
var required = map[string][]string{
	"broken-template-1.0.0.tgz": {"--set", "password=secret"},
	"broken-template-1.1.0.tgz": {"--set", "password=secret"},
}

func TestChartsRender(t *testing.T) {
	binaries, err := cluster.Build(t.Context(), t.Output(), "helm")
	require.NoError(t, err)
	packages, err := cluster.PackageCharts(t.Context())
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(packages, "*.tgz"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)

	for _, path := range paths {
		name := filepath.Base(path)
		if name == "kubeversion-9.9.9.tgz" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, command := range [][]string{{"lint", "--strict", path}, {"template", "release", path}} {
				args := append(slices.Concat(command, required[name]), "--kube-version", cluster.KubernetesVersion)
				out, err := exec.CommandContext(t.Context(), binaries["helm"], args...).CombinedOutput()
				assert.NoError(t, err, "helm %s:\n%s", strings.Join(args, " "), out)
			}
		})
	}
}

func TestChartsThatMustNotRender(t *testing.T) {
	binaries, err := cluster.Build(t.Context(), t.Output(), "helm")
	require.NoError(t, err)
	packages, err := cluster.PackageCharts(t.Context())
	require.NoError(t, err)
	tests := map[string]struct {
		chart, set, want string
	}{
		"a version of Kubernetes that does not exist": {chart: "kubeversion-9.9.9", want: "chart requires kubeVersion"},
		"a required value that is missing":            {chart: "broken-template-1.0.0", want: "set password"},
		"a value that breaks the schema":              {chart: "webapp-1.0.0", set: "service.port=0", want: "minimum"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := []string{"template", "release", filepath.Join(packages, test.chart+".tgz"), "--set", test.set, "--kube-version", cluster.KubernetesVersion}
			out, err := exec.CommandContext(t.Context(), binaries["helm"], args...).CombinedOutput()
			require.Error(t, err)
			assert.Contains(t, string(out), test.want)
		})
	}
}

func TestChartEndpointsBreakAndMend(t *testing.T) {
	charts, err := cluster.ServeChartsAt(t.Context(), cluster.ChartAddress{Listen: "127.0.0.1", Advertise: "127.0.0.1"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, charts.Close()) })
	index := charts.HTTPURL() + "/index.yaml"
	manifest := charts.OCI.URL() + "/v2/charts/tiny/manifests/1.1.0"

	assert.Contains(t, get(t, index, http.StatusOK), "webapp-1.0.0.tgz")
	assert.Contains(t, get(t, manifest, http.StatusOK), "application/vnd.cncf.helm.chart.content.v1.tar+gzip")

	for url, endpoint := range map[string]*cluster.Endpoint{index: charts.HTTP, manifest: charts.OCI} {
		endpoint.RequireLogin("user", "secret")
		get(t, url, http.StatusUnauthorized)
		get(t, strings.Replace(url, "//", "//user:secret@", 1), http.StatusOK)
		get(t, strings.Replace(url, "//", "//user:wrong@", 1), http.StatusUnauthorized)
		endpoint.AllowAnyone()
		get(t, url, http.StatusOK)

		require.NoError(t, endpoint.Down())
		_, _, err := request(t, url)
		require.ErrorContains(t, err, "connection refused")
		require.NoError(t, endpoint.Up())
		get(t, url, http.StatusOK)
		assert.Equal(t, 6, endpoint.Requests())
	}
}

func get(t *testing.T, url string, want int) string {
	t.Helper()
	status, body, err := request(t, url)
	require.NoError(t, err)
	assert.Equal(t, want, status, "%s: %s", url, body)
	return body
}

func request(t *testing.T, url string) (status int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { assert.NoError(t, response.Body.Close()) }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
