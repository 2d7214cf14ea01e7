// Package pins keeps hold of what Flux does in fact: every test states one fact that the operator relies on, or a trap that it avoids,
// and shows it on running controllers (helm-controller 1.4.0, source-controller 1.8.0), without the operator. What a release says is
// read by flux.Observe throughout, so that it is checked against reality too.
package pins

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	patience     = 3 * time.Minute
	pollInterval = 20 * time.Millisecond
	parallel     = 10               // tests mostly wait
	startTimeout = 20 * time.Minute // the first start on a machine compiles everything

	// target is the namespace that all releases are installed into.
	target = "pins"
	// manager is the field manager by which the tests write.
	manager = "pins"
)

// namespaces holds the HelmReleases, and what they install.
const namespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: kurl-addons}
---
apiVersion: v1
kind: Namespace
metadata: {name: pins}
`

// world is a cluster with Flux and charts.
type world struct {
	cluster *cluster.Cluster
	charts  *cluster.Charts
	api     client.WithWatch
}

// shared is the cluster of all tests that leave its controllers alone; running is the same once it has started.
var (
	running atomic.Pointer[world]
	shared  = sync.OnceValues(func() (*world, error) {
		w, err := newWorld()
		running.Store(w)
		return w, err
	})
)

func TestMain(m *testing.M) {
	if os.Getenv("CLUSTER") == "kind" {
		fmt.Println("kind runs the newest Flux; the facts here are of the pinned one")
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if w := running.Load(); w != nil {
		if err := w.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// share returns the shared cluster, and lets the test run beside the others.
func share(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w, err := shared()
	require.NoError(t, err)
	return w
}

// newWorld starts a cluster whose helm-controller has a worker for every release that a test holds in the middle of an action. All
// other settings that matter are Flux's own.
func newWorld() (*world, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr, HelmControllerArgs: []string{"--concurrent=32"}})
	if err != nil {
		return nil, err
	}
	w := &world{cluster: c}
	if err := w.connect(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return w, nil
}

func (w *world) connect(ctx context.Context) (err error) {
	if w.charts, err = w.cluster.ServeCharts(ctx); err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	if w.api, err = client.NewWithWatch(w.cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return w.cluster.Apply(ctx, []byte(namespaces))
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), helmv2.AddToScheme(s), sourcev1.AddToScheme(s))
}
