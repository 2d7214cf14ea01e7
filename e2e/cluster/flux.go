package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// FluxNamespace is where Flux lives, locally at least in name.
const FluxNamespace = "flux-system"

// fluxAccess gives the Flux controllers the rights of a usual installation.
//
//go:embed flux-access.yaml
var fluxAccess []byte

// installFluxCRDs installs the CRDs of both Flux controllers. helm-controller ends at once when one is missing.
func (l *local) installFluxCRDs(ctx context.Context) error {
	api, err := newClient(l.config)
	if err != nil {
		return err
	}
	for _, name := range []string{SourceController, HelmController} {
		crds, err := readAll(l.binaries.crds(name))
		if err != nil {
			return fmt.Errorf("read the CRDs of %s: %w", name, err)
		}
		if err := applyManifest(ctx, api, crds); err != nil {
			return err
		}
	}
	return nil
}

// startFlux gives both Flux controllers their rights and starts them.
func (l *local) startFlux(ctx context.Context) error {
	api, err := newClient(l.config)
	if err != nil {
		return err
	}
	if err := applyManifest(ctx, api, fluxAccess); err != nil {
		return err
	}
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	artifacts := loopback(ports[0])
	source := l.fluxCommand(SourceController, ports[1:3], append([]string{
		"--storage-path=" + filepath.Join(l.dir, "artifacts"),
		"--storage-addr=" + artifacts,
		"--storage-adv-addr=" + artifacts,
	}, l.options.SourceControllerArgs...))
	helm := l.fluxCommand(HelmController, ports[3:5], l.options.HelmControllerArgs)
	return l.launchFlux(ctx, source, helm)
}

func (l *local) launchFlux(ctx context.Context, commands ...command) error {
	for _, dir := range []string{"artifacts", "tmp"} {
		if err := os.MkdirAll(filepath.Join(l.dir, dir), 0o755); err != nil {
			return fmt.Errorf("make a folder for Flux: %w", err)
		}
	}
	var started []*process
	for _, c := range commands {
		p, err := l.launch(c)
		if err != nil {
			return err
		}
		started = append(started, p)
	}
	for _, p := range started {
		if err := p.waitHealthy(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fluxCommand leaves all settings but addresses as Flux has them by default.
// Leader election is off: a restarted controller need not wait for the lease
// of the killed one.
func (l *local) fluxCommand(name string, ports []int, args []string) command {
	return command{
		Name: name,
		Path: l.binaries[name],
		Args: append([]string{
			"--metrics-addr=" + loopback(ports[0]),
			"--health-addr=" + loopback(ports[1]),
			"--events-addr=",
			"--log-encoding=json",
		}, args...),
		Env: []string{
			"KUBECONFIG=" + l.credentials.kubeconfig(fluxUser(name).name),
			"RUNTIME_NAMESPACE=" + FluxNamespace,
			"TMPDIR=" + filepath.Join(l.dir, "tmp"),
		},
		Log:    l.logPath(name),
		Health: "http://" + loopback(ports[1]) + "/readyz",
	}
}

// readAll joins the YAML files of a folder into one manifest.
func readAll(dir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no manifest in %s", dir)
	}
	var all []byte
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(append(all, content...), "\n---\n"...)
	}
	return all, nil
}
