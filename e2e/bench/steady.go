package main

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// steady measures what the operator does in a minute in which it has nothing to do, and while Flux checks every release
// again, as it does every ten minutes.
func steady(t task) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result, creation outcome
		p, err := b.startOperator(ctx, t)
		if err != nil {
			return result, err
		}
		if err := b.create(ctx, p, t, &creation); err != nil {
			return result, err
		}
		if err := b.idle(ctx, p, &result); err != nil {
			return result, err
		}
		return result, b.checkAll(ctx, &result)
	}
}

func (b *testbed) idle(ctx context.Context, p process, result *outcome) error {
	before, err := p.usage()
	if err != nil {
		return err
	}
	from := time.Now()
	if err := wait(ctx, minute); err != nil {
		return err
	}
	after, err := p.usage()
	if err != nil {
		return err
	}
	requests, err := b.operatorRequests(from, from.Add(minute))
	if err != nil {
		return err
	}
	result.add(figureSteady, "", float64(requests.writes()))
	result.add(figureLists, "", float64(requests.lists()))
	result.add("operator: CPU a minute", "s", after.cpuSeconds-before.cpuSeconds)
	return nil
}

// checkAll lets Flux check every release once, which finds nothing to do.
func (b *testbed) checkAll(ctx context.Context, result *outcome) error {
	var list helmv2.HelmReleaseList
	if err := b.api.List(ctx, &list, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return fmt.Errorf("list HelmReleases: %w", err)
	}
	from := time.Now()
	token := from.Format(time.RFC3339Nano)
	for i := range list.Items {
		if err := b.poke(ctx, list.Items[i].Name, token); err != nil {
			return err
		}
	}
	if err := b.waitChecked(ctx, len(list.Items), token); err != nil {
		return fmt.Errorf("waiting for Flux to check all releases: %w", err)
	}
	if err := b.waitQuiet(ctx); err != nil {
		return err
	}
	requests, err := b.operatorRequests(from, time.Now())
	if err != nil {
		return err
	}
	result.add(figureChecked, "", float64(requests.writes()))
	result.requests = requests.byKind()
	return nil
}

// waitChecked waits until Flux has answered a request to look at each of the releases, and all are ready.
func (b *testbed) waitChecked(ctx context.Context, count int, token string) error {
	releases, err := follow[*helmv2.HelmRelease](ctx, b, &helmv2.HelmReleaseList{}, client.InNamespace(v1alpha1.Namespace))
	if err != nil {
		return err
	}
	defer releases.watch.Stop()
	checked := map[string]bool{}
	return releases.until(ctx, func(hr *helmv2.HelmRelease) (bool, error) {
		if hr.Status.LastHandledReconcileAt == token && apimeta.IsStatusConditionTrue(hr.Status.Conditions, meta.ReadyCondition) {
			checked[hr.Name] = true
		}
		return len(checked) == count, nil
	})
}
