package cluster_test

import (
	"io/fs"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

func TestDetachedClusterIsFoundAgainAndEnds(t *testing.T) {
	dir := t.TempDir()
	started, err := cluster.Start(t.Context(), cluster.Options{Bare: true, Detached: true, Dir: dir, Progress: t.Output()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, started.Stop()) })
	urls, err := started.ServeChartsDetached(t.Context())
	require.NoError(t, err)

	found, err := cluster.Attach(dir)
	require.NoError(t, err)
	assert.Equal(t, urls, found.ChartURLs())
	get(t, urls.HTTP+"/index.yaml", http.StatusOK)
	require.NoError(t, connect(t, found).List(t.Context(), &corev1.NamespaceList{}))
	require.NoError(t, found.Kill(t.Context(), "kube-apiserver"))
	require.Error(t, connect(t, found).List(t.Context(), &corev1.NamespaceList{}))
	require.NoError(t, found.Restart(t.Context(), "kube-apiserver"))
	require.NoError(t, connect(t, found).List(t.Context(), &corev1.NamespaceList{}))

	require.NoError(t, found.Stop())
	assert.Empty(t, processesOf(t, dir))
	_, err = cluster.Attach(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
