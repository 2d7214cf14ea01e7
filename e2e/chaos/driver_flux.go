package main

import (
	"context"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// ambush is how long helm-controller's murderer waits for it to install, upgrade or uninstall something.
	ambush      = 3 * time.Second
	ambushOften = 20 * time.Millisecond
)

// killFlux kills a controller of Flux, helm-controller preferably in the middle of an action, and starts it again.
func (d *driver) killFlux(component string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		how, err := d.awaitAction(ctx)
		if err != nil {
			return false, err
		}
		d.journal.write("%s dies %s", component, how)
		if err := d.cluster.Kill(ctx, component); err != nil {
			return false, err
		}
		d.tally.count(talliedFlux, component+" "+how)
		if err := pause(ctx, time.Duration(d.rng.IntN(1500))*time.Millisecond); err != nil {
			return false, err
		}
		return true, d.cluster.Restart(ctx, component)
	}
}

// awaitAction returns when Helm is at work somewhere, or when that takes too long.
func (d *driver) awaitAction(ctx context.Context) (string, error) {
	for begun := time.Now(); time.Since(begun) < ambush; {
		var list helmv2.HelmReleaseList
		if err := d.api.List(ctx, &list, client.InNamespace(v1alpha1.Namespace)); err != nil {
			return "", err
		}
		for i := range list.Items {
			doing := apimeta.FindStatusCondition(list.Items[i].Status.Conditions, meta.ReconcilingCondition)
			if doing != nil && strings.HasPrefix(doing.Message, "Running '") {
				return "in an action", nil
			}
		}
		if err := pause(ctx, ambushOften); err != nil {
			return "", err
		}
	}
	return "at rest", nil
}
