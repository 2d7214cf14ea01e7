package pins

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// While helm-controller's view of HelmCharts lags, a release of which the chart version was changed says Ready=True with the new
// generation observed and attempted, though the old version runs, and says so until the view has caught up; flux.Observe does not call
// it settled before the new version runs.
func seeLate(t *testing.T, w *world) {
	t.Helper()
	require.NoError(t, w.cluster.Kill(t.Context(), cluster.HelmController))
	view := startBehindProxy(t, w)
	s := w.start(t, w.release(t, "late", "tiny", "1.0.0", ""))
	s.awaitSettled(t)
	mark := s.mark()

	view.hold()
	s.apply(t, w.release(t, "late", "tiny", "2.0.0", ""))
	trap := s.await(t, "Ready at the new generation", func(m moment) bool { return m.Generation == 2 && m.observed() && m.ready() == "True" })
	assert.Equal(t, int64(2), trap.Status.LastAttemptedGeneration)
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, trap.history())
	m := s.awaitHandled(t, s.poke(t))
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())

	view.release()
	m = s.awaitSettled(t)
	assert.Equal(t, "v2 deployed 2.0.0", m.history()[0])
	for _, m := range s.since(mark) {
		if m.Generation == 2 && m.history()[0] == "v1 deployed 1.0.0" {
			assert.Equal(t, addons.PhaseProgressing, m.seen.Phase, m)
		}
	}
}

// lag is a proxy before the API server that can hold back what a watch of HelmCharts shows.
type lag struct {
	mutex sync.Mutex
	shown chan struct{} // closed while nothing is held
}

func (l *lag) hold() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.shown = make(chan struct{})
}

func (l *lag) release() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	close(l.shown)
}

func (l *lag) wait() {
	l.mutex.Lock()
	shown := l.shown
	l.mutex.Unlock()
	<-shown
}

// lateBody is a watch whose events wait.
type lateBody struct {
	io.ReadCloser
	lag *lag
}

// Read returns what there is once nothing is held.
func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.lag.wait()
	return n, err
}

// startBehindProxy runs helm-controller with its usual rights behind a lag, until the test ends.
func startBehindProxy(t *testing.T, w *world) *lag {
	t.Helper()
	config, err := w.cluster.ServiceAccountConfig(t.Context(), cluster.FluxNamespace, cluster.HelmController)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	address, err := url.Parse(config.Host)
	require.NoError(t, err)
	view := &lag{shown: make(chan struct{})}
	view.release()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/helmcharts") && r.Request.URL.Query().Has("watch") {
				r.Body = lateBody{ReadCloser: r.Body, lag: view}
			}
			return nil
		},
	})
	t.Cleanup(server.CloseClientConnections)

	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["lag"] = &clientcmdapi.Cluster{Server: server.URL}
	kubeconfig.Contexts["lag"] = &clientcmdapi.Context{Cluster: "lag"}
	kubeconfig.CurrentContext = "lag"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*kubeconfig, path))
	run := exec.CommandContext(t.Context(), w.cluster.Binary(cluster.HelmController),
		"--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--events-addr=", "--log-encoding=json")
	run.Env = append(os.Environ(), "KUBECONFIG="+path, "RUNTIME_NAMESPACE="+cluster.FluxNamespace, "TMPDIR="+t.TempDir())
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = run.Wait() }) // ended with the test's context
	return view
}
