package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// queuePoll is how often a release that Flux is late with is looked at while Flux is at work on others.
const queuePoll = time.Minute

// onTime adds to what was observed of a release what the time makes of that.
func (r *AddonReconciler) onTime(ctx context.Context, observed addons.Observed) (addons.Observed, error) {
	now := r.Clock.Now()
	observed = observed.AsOf(now)
	if !observed.Overdue || !flux.Unseen(observed) {
		return observed, nil
	}
	busy, err := r.fluxIsBusy(ctx, now)
	if busy {
		return flux.Queued(observed, now.Add(queuePoll)), nil
	}
	return observed, err
}

// fluxIsBusy says whether helm-controller is at work on a release of ours.
func (r *AddonReconciler) fluxIsBusy(ctx context.Context, now time.Time) (bool, error) {
	var list helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing HelmReleases: %w", err)
	}
	return slices.ContainsFunc(list.Items, func(hr helmv2.HelmRelease) bool { return flux.AtWork(&hr, now) }), nil
}

// nameNewCRDs adds to what was observed of an add-on's own releases what failed upgrades have left of new CRDs. Only the report tells of
// them, and only to this add-on.
func (r *AddonReconciler) nameNewCRDs(ctx context.Context, observed map[string]addons.Observed) error {
	for name, release := range observed {
		if release.Phase != addons.PhaseFailing {
			continue
		}
		hr := &helmv2.HelmRelease{}
		if err := r.get(ctx, name, hr); err != nil {
			return err
		}
		if !flux.ReplacedCRDs(hr, release) {
			continue
		}
		names, err := r.crdsOf(ctx, name)
		if err != nil {
			return err
		}
		release.NewCRDs = names
		observed[name] = release
	}
	return nil
}

// crdsOf names the CRDs that Flux made or replaced from the crds folder of a release's chart.
func (r *AddonReconciler) crdsOf(ctx context.Context, release string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(crdKind.GroupVersion().WithKind("CustomResourceDefinitionList"))
	labels := client.MatchingLabels{labelFluxName: release, labelFluxNamespace: v1alpha1.Namespace}
	if err := r.Live.List(ctx, list, labels); err != nil {
		return nil, fmt.Errorf("listing the CRDs of release %s: %w", release, err)
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].Labels[v1alpha1.LabelManagedBy] != managedByHelm { // one among its templates is rolled back with them
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// nextDeadline is how long it takes until the first of some releases may be overdue; zero means never.
func (r *AddonReconciler) nextDeadline(observed map[string]addons.Observed) time.Duration {
	var next time.Duration
	for _, release := range observed {
		if !release.Deadline.IsZero() && !release.Overdue {
			next = sooner(next, max(release.Deadline.Sub(r.Clock.Now()), time.Second))
		}
	}
	return next
}
