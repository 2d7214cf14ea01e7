package main

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// ours measures the installation by the operator, and what it costs the operator and the API server.
func ours(t task) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result outcome
		process, err := b.startOperator(ctx, t)
		if err != nil {
			return result, err
		}
		return result, b.create(ctx, process, t, &result)
	}
}

// startOperator starts it with a definition for each add-on.
func (b *testbed) startOperator(ctx context.Context, t task) (process, error) {
	if err := b.cluster.StartOperator(ctx); err != nil {
		return process{}, err
	}
	for i := range t.count {
		if err := b.apply(ctx, t.definition(i, b.charts)); err != nil {
			return process{}, err
		}
	}
	p, err := b.operator()
	if err != nil {
		return p, err
	}
	return p, b.waitQuiet(ctx)
}

// create applies the Installer and waits until it is ready and the operator has come to rest.
func (b *testbed) create(ctx context.Context, p process, t task, result *outcome) error {
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
	if err := b.apply(ctx, t.installer()); err != nil {
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
	result.add(figureWrites, "", float64(requests.writes())/float64(t.count))
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
