package cluster

import (
	"context"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// local is a cluster of processes on this machine.
type local struct {
	*group
	options     Options
	credentials credentials
	config      *rest.Config
}

func (c *Cluster) startLocal(ctx context.Context, options Options) error {
	var names []string
	if options.Bare {
		names = []string{etcd, apiServer}
	}
	if options.Bare && options.FluxCRDs {
		names = append(names, SourceController, HelmController)
	}
	binaries, err := Build(ctx, options.Progress, names...)
	if err != nil {
		return err
	}
	l := newLocal(&group{dir: c.dir, detached: options.Detached, binaries: binaries}, options)
	c.group, c.backend = l.group, l
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	c.config, c.kubeconfig, c.auditLog = l.config, l.kubeconfig(), l.auditLog()
	if options.FluxCRDs || !options.Bare && !options.WithoutFlux {
		if err := l.installFluxCRDs(ctx); err != nil {
			return err
		}
	}
	if options.Bare {
		return nil
	}
	if err := l.startNodes(ctx); err != nil {
		return err
	}
	if options.WithoutFlux {
		return nil
	}
	return l.startFlux(ctx)
}

func (c *Cluster) attachLocal(options Options) error {
	l := newLocal(c.group, options)
	c.backend, c.kubeconfig, c.auditLog = l, l.kubeconfig(), l.auditLog()
	var err error
	c.config, err = connect(c.kubeconfig)
	l.config = c.config
	return err
}

func newLocal(g *group, options Options) *local {
	return &local{group: g, options: options, credentials: credentials{dir: filepath.Join(g.dir, "credentials")}}
}

func (l *local) kubeconfig() string  { return l.credentials.kubeconfig(admin.name) }
func (l *local) auditPolicy() string { return filepath.Join(l.dir, "audit-policy.yaml") }
func (l *local) auditLog() string    { return filepath.Join(l.dir, "audit.log") }

func (l *local) restart(ctx context.Context, component string) error {
	if err := l.group.restart(ctx, component); err != nil {
		return err
	}
	if component != apiServer {
		return nil
	}
	server, err := l.find(apiServer)
	if err != nil {
		return err
	}
	return waitServing(ctx, server, l.config)
}

func (l *local) chartHost(context.Context) (listen, advertise string, err error) {
	return "127.0.0.1", "127.0.0.1", nil
}
