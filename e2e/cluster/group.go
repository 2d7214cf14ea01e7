package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
)

// group is the processes on this machine that make up a cluster, or help it.
type group struct {
	dir      string
	detached bool
	binaries Binaries
	state    state
}

// run starts a program of the cluster under its own name.
func (g *group) run(name string, args []string) (*process, error) {
	return g.launch(command{Name: name, Path: g.binaries[name], Args: args, Log: g.logPath(name)})
}

func (g *group) logPath(name string) string { return filepath.Join(g.dir, name+".log") }

func (g *group) launch(c command) (*process, error) {
	p, err := c.start(g.detached)
	if err != nil {
		return nil, err
	}
	g.state.Processes = append(g.state.Processes, p)
	return p, g.save()
}

func (g *group) find(component string) (*process, error) {
	for _, p := range g.state.Processes {
		if p.Name == component {
			return p, nil
		}
	}
	return nil, fmt.Errorf("there is no component %q", component)
}

func (g *group) kill(ctx context.Context, component string) error {
	p, err := g.find(component)
	if err != nil {
		return err
	}
	return p.kill(ctx)
}

func (g *group) interrupt(ctx context.Context, component string) error {
	p, err := g.find(component)
	if err != nil {
		return err
	}
	return p.interrupt(ctx)
}

func (g *group) restart(ctx context.Context, component string) error {
	p, err := g.find(component)
	if err != nil {
		return err
	}
	if err := p.kill(ctx); err != nil {
		return err
	}
	again, err := p.start(g.detached)
	if err != nil {
		return err
	}
	*p = *again
	if err := g.save(); err != nil {
		return err
	}
	return p.waitHealthy(ctx)
}

// stop kills all processes before it waits for any, so that none sees the
// end of another for long.
func (g *group) stop(ctx context.Context) error {
	var errs []error
	for _, p := range g.state.Processes {
		errs = append(errs, p.signal(syscall.SIGKILL))
	}
	for _, p := range g.state.Processes {
		errs = append(errs, p.waitGone(ctx))
	}
	return errors.Join(append(errs, g.forget())...)
}

func (g *group) logs() map[string]string {
	logs := map[string]string{}
	for _, p := range g.state.Processes {
		logs[p.Name] = p.Log
	}
	return logs
}

// waitHealthy waits until the program says that it is ready, if it can say so.
func (p *process) waitHealthy(ctx context.Context) error {
	if p.Health == "" {
		return nil
	}
	return p.waitFor(ctx, func(ctx context.Context) (bool, error) {
		return answersOK(ctx, http.DefaultClient, p.Health), nil
	})
}
