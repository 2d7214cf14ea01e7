package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// plain measures Flux with the HelmReleases that the operator would write, without the operator. Poked, every release
// that has settled wakes those that wait for it, which Flux alone does only every 30 seconds.
func plain(t task, poked bool) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		objects := t.fluxObjects(b.charts)
		if err := b.apply(ctx, objects[0]); err != nil { // as kurl-addons is there before the operator is
			return result, err
		}
		releases, err := follow[*helmv2.HelmRelease](ctx, b, &helmv2.HelmReleaseList{}, client.InNamespace(v1alpha1.Namespace))
		if err != nil {
			return result, err
		}
		defer releases.watch.Stop()
		from := time.Now()
		if err := b.apply(ctx, objects[1:]...); err != nil {
			return result, err
		}
		dependents := map[string][]string{}
		if poked {
			dependents = dependentsAmong(objects)
		}
		if err := releases.until(ctx, b.settling(ctx, t.count, dependents)); err != nil {
			return result, fmt.Errorf("waiting for %d HelmReleases to settle: %w", t.count, err)
		}
		result.add(figureTime, "s", time.Since(from).Seconds())
		return result, nil
	}
}

// settling waits until so many releases have settled, and pokes the dependents of each.
func (b *testbed) settling(ctx context.Context, count int, dependents map[string][]string) func(*helmv2.HelmRelease) (bool, error) {
	settled := map[string]bool{}
	return func(hr *helmv2.HelmRelease) (bool, error) {
		if settled[hr.Name] || flux.Observe(hr, flux.Sources{}).Phase != addons.PhaseSettled {
			return false, nil
		}
		settled[hr.Name] = true
		for _, dependent := range dependents[hr.Name] {
			if err := b.poke(ctx, dependent, hr.Name); err != nil {
				return false, err
			}
		}
		return len(settled) == count, nil
	}
}

// dependentsAmong maps the name of each HelmRelease to those that depend on it.
func dependentsAmong(objects []client.Object) map[string][]string {
	dependents := map[string][]string{}
	for _, object := range objects {
		if hr, ok := object.(*helmv2.HelmRelease); ok {
			for _, dependency := range hr.Spec.DependsOn {
				dependents[dependency.Name] = append(dependents[dependency.Name], hr.Name)
			}
		}
	}
	return dependents
}

// poke asks Flux to look at a HelmRelease now.
func (b *testbed) poke(ctx context.Context, release, token string) error {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, meta.ReconcileRequestAnnotation, token)
	target := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: release}}
	if err := b.api.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("poke HelmRelease %s: %w", release, err)
	}
	return nil
}

// helm measures the helm command, once per add-on of a chain.
func helm(t task, wait string) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		values := filepath.Join(b.cluster.Dir(), "values.json")
		if err := os.WriteFile(values, t.values("hello").Raw, 0o600); err != nil {
			return result, fmt.Errorf("write the values for helm: %w", err)
		}
		home := filepath.Join(b.cluster.Dir(), "helm")
		from := time.Now()
		for i := range t.count {
			install := exec.CommandContext(ctx, b.cluster.Binary("helm"), "install", addonName(i), chart, "--repo="+b.charts, "--version="+version,
				"--namespace="+namespace, "--create-namespace", "--values="+values, wait)
			install.Env = append(os.Environ(), "KUBECONFIG="+b.cluster.Kubeconfig(),
				"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
			if output, err := install.CombinedOutput(); err != nil {
				return result, fmt.Errorf("helm install %s: %w\n%s", addonName(i), err, output)
			}
		}
		result.add(figureTime, "s", time.Since(from).Seconds())
		return result, nil
	}
}
