package main

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// ours measures the installation of count add-ons by the operator, and what it costs the operator and the API server.
func ours(count int, chained bool) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		process, err := b.startOperator(ctx, count, chained)
		if err != nil {
			return result, err
		}
		return result, b.create(ctx, process, count, &result)
	}
}

// startOperator starts it with a definition for each add-on.
func (b *testbed) startOperator(ctx context.Context, count int, chained bool) (process, error) {
	if err := b.cluster.StartOperator(ctx); err != nil {
		return process{}, err
	}
	for i := range count {
		if err := b.apply(ctx, b.definition(i, chained)); err != nil {
			return process{}, err
		}
	}
	p, err := b.operator()
	if err != nil {
		return p, err
	}
	return p, b.waitQuiet(ctx)
}

// create applies an Installer of count add-ons and waits until it is ready and the operator has come to rest.
func (b *testbed) create(ctx context.Context, p process, count int, result *outcome) error {
	before, err := p.usage()
	if err != nil {
		return err
	}
	installers, err := follow[*v1alpha1.Installer](ctx, b, &v1alpha1.InstallerList{})
	if err != nil {
		return err
	}
	defer installers.watch.Stop()
	from := time.Now()
	if err := b.apply(ctx, installer(count)); err != nil {
		return err
	}
	if err := installers.until(ctx, readyAt(1)); err != nil {
		return fmt.Errorf("waiting for the Installer: %w", err)
	}
	result.add(figureTime, "s", time.Since(from).Seconds())
	if err := b.waitQuiet(ctx); err != nil {
		return err
	}
	after, err := p.usage()
	if err != nil {
		return err
	}
	requests, err := b.operatorRequests(from, time.Now())
	if err != nil {
		return err
	}
	result.add("operator: CPU", "s", after.cpuSeconds-before.cpuSeconds)
	result.add(figureMemory, "MiB", after.peakMiB)
	result.add(figureWrites, "", float64(requests.writes())/float64(count))
	result.requests = requests.byKind()
	return nil
}

// readyAt waits for an Installer that says of that generation that it is ready.
func readyAt(generation int64) func(*v1alpha1.Installer) (bool, error) {
	return func(object *v1alpha1.Installer) (bool, error) {
		return object.Status.ObservedGeneration >= generation && object.Generation == object.Status.ObservedGeneration &&
			apimeta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionReady), nil
	}
}

// steady measures what the operator does in a minute in which it has nothing to do.
func steady(count int) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result, creation outcome
		p, err := b.startOperator(ctx, count, independent)
		if err != nil {
			return result, err
		}
		if err := b.create(ctx, p, count, &creation); err != nil {
			return result, err
		}
		before, err := p.usage()
		if err != nil {
			return result, err
		}
		from := time.Now()
		if err := wait(ctx, minute); err != nil {
			return result, err
		}
		after, err := p.usage()
		if err != nil {
			return result, err
		}
		requests, err := b.operatorRequests(from, from.Add(minute))
		if err != nil {
			return result, err
		}
		result.add(figureSteady, "", float64(requests.writes()))
		result.add(figureLists, "", float64(requests.lists()))
		result.add("operator: CPU a minute", "s", after.cpuSeconds-before.cpuSeconds)
		result.requests = requests.byKind()
		return result, nil
	}
}

// change measures what it takes until new values of one add-on among count are with Flux, and until all is ready again.
func change(count int) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		p, err := b.startOperator(ctx, count, independent)
		if err != nil {
			return result, err
		}
		var creation outcome
		if err := b.create(ctx, p, count, &creation); err != nil {
			return result, err
		}
		for _, f := range creation.figures[1:] {
			result.add(f.name+", creating", f.unit, f.value)
		}
		wanted := installer(count)
		for i := range changes {
			changed := &wanted.Spec.Addons[count/2+i]
			changed.Values = values(fmt.Sprintf("change %d", i))
			if err := b.changeOne(ctx, wanted, changed.Name, &result); err != nil {
				return result, fmt.Errorf("changing %s: %w", changed.Name, err)
			}
		}
		return result, nil
	}
}

// changeOne applies an Installer in which one add-on has changed.
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
	from := time.Now()
	if err := b.apply(ctx, wanted); err != nil {
		return err
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
	if err := installers.until(ctx, readyAt(before.Generation+1)); err != nil {
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
	result.add("apply of the Installer alone", "s", applied.Sub(from).Seconds())
	result.add(figureLatency, "s", written.Sub(from).Seconds())
	result.add(figureFewWrites, "", float64(early.writes()))
	result.add(figureLateWrites, "", float64(all.writes()))
	result.add("apply to all ready again", "s", ready.Sub(from).Seconds())
	result.requests = all.byKind()
	return nil
}
