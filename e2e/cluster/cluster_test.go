package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const patience = 90 * time.Second

func TestBareClusterServesTheAPI(t *testing.T) {
	c := start(t, cluster.Options{Bare: true})
	api := connect(t, c)

	version, err := os.ReadFile(c.Kubeconfig())
	require.NoError(t, err)
	assert.Contains(t, string(version), "https://127.0.0.1:")
	begin := time.Now()
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = "default", "probe"
	require.NoError(t, api.Create(t.Context(), object))

	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		counts, err := c.CountRequests(begin, time.Now())
		require.NoError(t, err)
		kind := cluster.RequestKind{User: "kubernetes-admin", Verb: "create", Resource: "configmaps"}
		assert.Equal(t, 1, counts[kind])
	}, patience, 20*time.Millisecond)
}

func TestServiceAccountHasOnlyItsRights(t *testing.T) {
	c := start(t, cluster.Options{Bare: true})
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = "default", "reader"
	require.NoError(t, connect(t, c).Create(t.Context(), account))

	config, err := c.ServiceAccountConfig(t.Context(), "default", "reader")
	require.NoError(t, err)
	api, err := client.New(config, client.Options{})
	require.NoError(t, err)

	err = api.List(t.Context(), &corev1.SecretList{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "system:serviceaccount:default:reader")
}

func TestFailedStartShowsTheLog(t *testing.T) {
	_, err := cluster.Start(t.Context(), cluster.Options{Bare: true, APIServerArgs: []string{"--no-such-flag"}})
	require.ErrorContains(t, err, "unknown flag: --no-such-flag")
}

func TestFluxInstallsChartsAndSurvivesItsDeath(t *testing.T) {
	c := start(t, cluster.Options{})
	api := connect(t, c)
	charts, err := c.ServeCharts(t.Context())
	require.NoError(t, err)

	require.NoError(t, c.Apply(t.Context(), []byte(release("web", "default", charts.HTTPURL(), "webapp", "1.0.0"))))
	require.NoError(t, c.Apply(t.Context(), []byte(release("tiny", "oci", charts.OCIURL(), "tiny", "1.1.0"))))
	requireReady(t, api, "web", "tiny")
	assert.Positive(t, charts.HTTP.Requests())
	assert.Positive(t, charts.OCI.Requests())

	require.NoError(t, c.Kill(t.Context(), cluster.HelmController))
	require.NoError(t, c.Restart(t.Context(), cluster.HelmController))
	begin := time.Now()
	require.NoError(t, c.Apply(t.Context(), []byte(release("web", "default", charts.HTTPURL(), "webapp", "1.1.0"))))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		config := &corev1.ConfigMap{}
		require.NoError(t, api.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "web"}, config))
		assert.Equal(t, "1.1.0", config.Data["version"])
	}, patience, 50*time.Millisecond)
	requireReady(t, api, "web")

	counts, err := c.CountRequests(begin, time.Now())
	require.NoError(t, err)
	helmUser := "system:serviceaccount:flux-system:helm-controller"
	assert.Positive(t, counts[cluster.RequestKind{User: helmUser, Verb: "patch", Resource: "helmreleases.helm.toolkit.fluxcd.io"}])
	assert.Zero(t, counts[cluster.RequestKind{User: helmUser, Verb: "delete", Resource: "helmreleases.helm.toolkit.fluxcd.io"}])
}

// start starts a cluster that ends with the test, and checks that nothing is
// left of it.
func start(t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	options.Progress = t.Output()
	c, err := cluster.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Stop())
		assert.NoDirExists(t, c.Dir())
		assert.Empty(t, processesOf(t, c.Dir()))
	})
	assert.NotEmpty(t, processesOf(t, c.Dir()))
	return c
}

// processesOf lists the running programs that were given a path in the folder,
// as an argument or in their environment.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []string
	for _, path := range paths {
		arguments, _ := os.ReadFile(filepath.Join(path, "cmdline")) // gone meanwhile if it cannot be read
		environment, _ := os.ReadFile(filepath.Join(path, "environ"))
		if bytes.Contains(arguments, []byte(dir)) || bytes.Contains(environment, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(arguments, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func connect(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	api, err := client.New(c.RESTConfig(), client.Options{})
	require.NoError(t, err)
	return api
}

func release(name, sourceType, url, chart, version string) string {
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: %[1]s, namespace: default}
spec: {type: %[2]s, url: "%[3]s", interval: 1h, insecure: %[6]t}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: default}
spec:
  interval: 1h
  chart:
    spec:
      chart: %[4]s
      version: %[5]s
      sourceRef: {kind: HelmRepository, name: %[1]s}
`, name, sourceType, url, chart, version, sourceType == "oci")
}

func requireReady(t *testing.T, api client.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"})
			require.NoError(t, api.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, object))
			assert.Equal(t, "True", ready(object), "%v", object.Object["status"])
			observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
			assert.Equal(t, object.GetGeneration(), observed)
		}, patience, 50*time.Millisecond)
	}
}

func ready(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Ready" {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}
