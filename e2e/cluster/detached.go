package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// state is what Attach needs to find a detached cluster again.
type state struct {
	Kind      string     `json:"kind,omitempty"` // the name of the kind cluster, if it is one
	Binaries  Binaries   `json:"binaries"`
	Processes []*process `json:"processes"`
	Charts    ChartURLs  `json:"charts"`
}

func statePath(dir string) string { return filepath.Join(dir, "cluster.json") }

// save records the state of a detached cluster. The file is replaced as a
// whole, so that a reader never sees half of it.
func (g *group) save() error {
	if !g.detached {
		return nil
	}
	g.state.Binaries = g.binaries
	content, err := json.MarshalIndent(g.state, "", "  ")
	if err != nil {
		return fmt.Errorf("save the cluster's state: %w", err)
	}
	path := statePath(g.dir)
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		return fmt.Errorf("save the cluster's state: %w", err)
	}
	return nil
}

// forget removes the state, so that Attach finds no cluster that was stopped.
func (g *group) forget() error {
	if !g.detached {
		return nil
	}
	if err := os.Remove(statePath(g.dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Attach finds the detached cluster whose Options.Dir was dir. The error is
// fs.ErrNotExist when there is none. It does not check that the cluster still
// runs; what has ended can be restarted, and Stop ends the rest.
func Attach(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("attach to a cluster: %w", err)
	}
	content, err := os.ReadFile(statePath(dir))
	if err != nil {
		return nil, fmt.Errorf("attach to a cluster: %w", err)
	}
	g := &group{dir: dir, detached: true}
	if err := json.Unmarshal(content, &g.state); err != nil {
		return nil, fmt.Errorf("attach to a cluster: read %s: %w", statePath(dir), err)
	}
	g.binaries = g.state.Binaries
	c := &Cluster{dir: dir, group: g}
	attach := c.attachLocal
	if g.state.Kind != "" {
		attach = c.attachKind
	}
	if err := attach(Options{Dir: dir, Detached: true}); err != nil {
		return nil, fmt.Errorf("attach to a cluster: %w", err)
	}
	return c, nil
}
