package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
)

// Options say what Start starts. The zero value means a whole cluster: a
// control plane, two simulated nodes and Flux.
type Options struct {
	// Dir keeps logs, data and kubeconfigs, and stays after Stop. Empty means
	// a temporary folder that Stop removes.
	Dir string
	// Bare leaves out everything but etcd and the API server: no controllers
	// but those in the API server, no nodes, no Flux.
	Bare bool
	// FluxCRDs adds Flux's kinds, and nobody to act on them, to what Bare starts. Not for kind.
	FluxCRDs bool
	// WithoutFlux leaves out Flux and its CRDs.
	WithoutFlux bool
	// Detached lets the cluster survive this process; needs Dir. Attach finds
	// it again.
	Detached bool
	// HelmControllerArgs and SourceControllerArgs are further arguments of the
	// Flux controllers, as "--requeue-dependency=1s"; they win over the defaults.
	HelmControllerArgs, SourceControllerArgs []string
	// APIServerArgs are further arguments of the API server. Not for kind.
	APIServerArgs []string
	// Progress gets a line per step that takes long. Nil means none.
	Progress io.Writer
}

const stopTimeout = time.Minute

// Cluster is a running cluster.
type Cluster struct {
	dir        string
	temporary  bool
	kubeconfig string
	auditLog   string
	config     *rest.Config
	group      *group
	backend    backend
	charts     []*Charts
}

// backend is what differs between processes on this machine and kind.
type backend interface {
	kill(ctx context.Context, component string) error
	interrupt(ctx context.Context, component string) error
	restart(ctx context.Context, component string) error
	stop(ctx context.Context) error
	// chartHost returns the address that chart servers listen on and the host
	// by which the cluster reaches them.
	chartHost(ctx context.Context) (listen, advertise string, err error)
}

// Start starts a cluster and returns when it can be used. The environment
// variable CLUSTER selects how: "kind" for kind, which needs Docker and the
// internet, and anything else for processes on this machine, which need only
// Go. The context limits the start, not the life of the cluster: call Stop.
// Unless detached, all processes end with this one, however it ends (on
// Linux). A failed start leaves nothing behind, and its error shows the log
// of the program that failed.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	c := &Cluster{dir: options.Dir}
	if err := c.prepareDir(options.Detached); err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	launch := c.startLocal
	if os.Getenv("CLUSTER") == "kind" {
		launch = c.startKind
	}
	if err := launch(ctx, options); err != nil {
		return nil, fmt.Errorf("start a cluster: %w", errors.Join(err, c.Stop()))
	}
	return c, nil
}

func (c *Cluster) prepareDir(detached bool) (err error) {
	if c.dir != "" {
		if c.dir, err = filepath.Abs(c.dir); err != nil {
			return err
		}
		return os.MkdirAll(c.dir, 0o755)
	}
	if detached {
		return errors.New("a detached cluster needs a directory")
	}
	c.temporary = true
	c.dir, err = os.MkdirTemp("", "cluster-")
	return err
}

// Stop ends the chart servers and every process of the cluster at once, and
// removes the temporary folder. A cluster that was stopped cannot be started
// again; stopping it again does nothing.
func (c *Cluster) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	for _, charts := range c.charts {
		errs = append(errs, charts.Close())
	}
	if c.backend != nil {
		errs = append(errs, c.backend.stop(ctx))
	}
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the cluster in %s: %w", c.dir, err)
	}
	return nil
}

// RESTConfig returns a connection as administrator without a client-side rate
// limit. The caller may change it.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Dir returns the folder of the cluster's data and logs.
func (c *Cluster) Dir() string { return c.dir }

// Binary returns the path of a program built for the cluster, as "kubectl" or
// "helm"; empty for one that was not built.
func (c *Cluster) Binary(name string) string { return c.group.binaries[name] }

// Logs maps the components that run on this machine to the paths of their logs.
func (c *Cluster) Logs() map[string]string { return c.group.logs() }

// Kill ends a component (HelmController, SourceController; locally also any
// other, as "kube-apiserver") the hard way, in the middle of its work, and
// returns when it is gone. Locally it stays away until Restart; in kind its
// Deployment starts it again at once.
func (c *Cluster) Kill(ctx context.Context, component string) error {
	return c.backend.kill(ctx, component)
}

// Interrupt asks a component to end, gives it ten seconds, and returns when it
// is gone. It stays away until Restart.
func (c *Cluster) Interrupt(ctx context.Context, component string) error {
	return c.backend.interrupt(ctx, component)
}

// Restart starts a component again, after ending it if it still runs, and
// returns when it is ready.
func (c *Cluster) Restart(ctx context.Context, component string) error {
	return c.backend.restart(ctx, component)
}
