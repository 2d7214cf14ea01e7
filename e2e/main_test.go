// Package e2e tells the stories of the operator's users against a real cluster with real Flux, with the operator running as
// its own ServiceAccount.
//
// Most stories run side by side on one cluster, under names of their own. Those that kill programs run before them, one at a
// time, on the same cluster. A failed story prints its Addons and HelmReleases and the end of the operator's log.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	// sideBySide is how many stories run at a time: they mostly wait for Helm, which looks every two seconds.
	sideBySide = "8"
	// start bounds the start of a cluster, also one whose programs have to be compiled first.
	start = 30 * time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if started.world != nil {
		if err := started.world.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// world is a cluster with the operator and charts for it.
type world struct {
	*cluster.Cluster

	api    client.WithWatch
	charts *cluster.Charts
	told   sync.Map // the names of stories
}

// started is the cluster that most stories share; the first of them starts it.
var started struct {
	once  sync.Once
	world *world
	err   error
}

func sharedWorld(t *testing.T) *world {
	t.Helper()
	started.once.Do(func() { started.world, started.err = newWorld() })
	require.NoError(t, started.err)
	return started.world
}

// ownWorld is a cluster for one story.
func ownWorld(t *testing.T) *world {
	t.Helper()
	w, err := newWorld()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Stop()) })
	return w
}

func newWorld() (*world, error) {
	ctx, cancel := context.WithTimeout(context.Background(), start)
	defer cancel()
	// With more workers, stories that wait for Helm do not hold up each other. All other settings are Flux's own.
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr, HelmControllerArgs: []string{"--concurrent=20"}})
	if err != nil {
		return nil, err
	}
	w := &world{Cluster: c}
	if err := w.furnish(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tail(c.Logs()[cluster.Operator]))
	}
	return w, nil
}

func (w *world) furnish(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if err := w.StartOperator(ctx); err != nil {
		return err
	}
	var err error
	if w.charts, err = w.ServeCharts(ctx); err != nil {
		return err
	}
	w.api, err = client.NewWithWatch(w.RESTConfig(), client.Options{Scheme: scheme})
	return err
}
