package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// change measures what it takes until new values of one among many add-ons are with Flux, and until all is ready again.
func change(t task) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		p, err := b.startOperator(ctx, t)
		if err != nil {
			return result, err
		}
		var creation outcome
		if err := b.create(ctx, p, t, &creation); err != nil {
			return result, err
		}
		for _, f := range creation.figures[1:] {
			result.add(f.name+", creating", f.unit, f.value)
		}
		wanted := t.installer()
		for i := range changes {
			changed := &wanted.Spec.Addons[t.count/2+i]
			changed.Values = t.values(fmt.Sprintf("change %d", i))
			if err := b.changeOne(ctx, wanted, changed.Name, &result); err != nil {
				return result, fmt.Errorf("changing %s: %w", changed.Name, err)
			}
		}
		return result, nil
	}
}

// changeOne applies an Installer in which one add-on has changed, with the request that kubectl apply makes.
func (b *testbed) changeOne(ctx context.Context, wanted *v1alpha1.Installer, addon string, result *outcome) error {
	release := &helmv2.HelmRelease{}
	if err := b.api.Get(ctx, client.ObjectKey{Namespace: v1alpha1.Namespace, Name: addon}, release); err != nil {
		return fmt.Errorf("read its HelmRelease: %w", err)
	}
	before := &v1alpha1.Installer{}
	if err := b.api.Get(ctx, client.ObjectKeyFromObject(wanted), before); err != nil {
		return fmt.Errorf("read the Installer: %w", err)
	}
	releases, err := follow[*helmv2.HelmRelease](ctx, b, &helmv2.HelmReleaseList{},
		client.InNamespace(v1alpha1.Namespace), client.MatchingFields{"metadata.name": addon})
	if err != nil {
		return err
	}
	defer releases.watch.Stop()
	patch, err := json.Marshal(map[string]any{"spec": wanted.Spec})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	from := time.Now()
	if err := b.api.Patch(ctx, before, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("patch the Installer: %w", err)
	}
	applied := time.Now()
	err = releases.until(ctx, func(hr *helmv2.HelmRelease) (bool, error) { return hr.Generation > release.Generation, nil })
	if err != nil {
		return fmt.Errorf("waiting for its HelmRelease: %w", err)
	}
	written := time.Now()
	installers, err := follow[*v1alpha1.Installer](ctx, b, &v1alpha1.InstallerList{})
	if err != nil {
		return err
	}
	defer installers.watch.Stop()
	if err := installers.until(ctx, readyAt(before.Generation)); err != nil {
		return fmt.Errorf("waiting for the Installer: %w", err)
	}
	ready := time.Now()
	if err := b.waitQuiet(ctx); err != nil {
		return err
	}
	return b.reportChange(result, from, applied, written, ready)
}

func (b *testbed) reportChange(result *outcome, from, applied, written, ready time.Time) error {
	early, err := b.operatorRequests(from, written)
	if err != nil {
		return err
	}
	all, err := b.operatorRequests(from, time.Now())
	if err != nil {
		return err
	}
	result.add("apply answered by the API server", "s", applied.Sub(from).Seconds())
	result.add(figureLatency, "s", written.Sub(from).Seconds())
	result.add(figureFewWrites, "", float64(early.writes()))
	result.add(figureLateWrites, "", float64(all.writes()))
	result.add("apply to all ready again", "s", ready.Sub(from).Seconds())
	result.requests = all.byKind()
	return nil
}
