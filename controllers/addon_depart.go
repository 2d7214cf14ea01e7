package controllers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// departure is an add-on on its way out, read from the API server itself: a cache may not know yet what was written a moment ago.
type departure struct {
	addon  *v1alpha1.Addon
	mine   []helmv2.HelmRelease // its own
	others []helmv2.HelmRelease // everybody else's in our namespace
	// since is when the last of its own was deleted; zero when there is none.
	since time.Time
	// version is the one that Flux attempted last; empty when it attempted none.
	version string
	// releases are those that there are or were; of the rumoured ones there is no sign but the definition.
	releases []addons.Trace
	rumoured map[string]bool
	spaces   []space
}

// depart gathers what there is of an add-on. A HelmRelease that the observation does not know is a reason to look again.
func (r *AddonReconciler) depart(ctx context.Context, o addons.Observation) (departure, error) {
	d := departure{addon: o.Addon, rumoured: map[string]bool{}}
	releases, err := r.liveReleases(ctx)
	if err != nil {
		return d, err
	}
	for i := range releases {
		hr := &releases[i]
		if addonOf(hr) != o.Addon.Name {
			d.others = append(d.others, *hr)
			continue
		}
		if _, known := o.Releases[hr.Name]; !known {
			return d, changedMeanwhile("helmreleases", hr.Name)
		}
		d.mine = append(d.mine, *hr)
		if hr.DeletionTimestamp != nil && hr.DeletionTimestamp.After(d.since) {
			d.since = hr.DeletionTimestamp.Time
		}
	}
	d.version = d.lastVersion(o)
	d.recall(o)
	d.spaces, err = r.spaces(ctx, d)
	return d, err
}

// lastVersion reads from the HelmReleases which version was attempted last: an uninstall empties the history. Only where they are gone
// or disagree is it what the Addon said last.
func (d *departure) lastVersion(o addons.Observation) string {
	attempted := map[string]addons.Observed{}
	for i := range d.mine {
		attempted[d.mine[i].Name] = addons.Observed{ChartVersion: d.mine[i].Status.LastAttemptedRevision}
	}
	if o.Definition == nil {
		return o.Addon.Status.Version
	}
	return cmp.Or(addons.RunningVersion(o.Definition, attempted), o.Addon.Status.Version)
}

// recall lists the add-on's releases: those with a HelmRelease, those of which the Addon's status still tells, and those that the
// definition has. A HelmRelease of the name that belongs to somebody else means that what is there is theirs.
func (d *departure) recall(o addons.Observation) {
	add := func(trace addons.Trace) bool {
		taken := slices.ContainsFunc(d.others, func(hr helmv2.HelmRelease) bool { return hr.Name == trace.Name }) ||
			slices.ContainsFunc(d.releases, func(t addons.Trace) bool { return t.Name == trace.Name })
		if !taken {
			d.releases = append(d.releases, trace)
		}
		return !taken
	}
	for name, release := range o.Releases {
		add(addons.Trace{
			Name: name, Namespace: cmp.Or(release.TargetNamespace, release.Namespace), Known: true,
			Uninstall: release.Uninstall, Suspended: release.SuspendedBy != "",
		})
	}
	for _, release := range o.Addon.Status.Releases {
		add(addons.Trace{Name: release.Name, Namespace: release.Namespace})
	}
	if o.Definition != nil {
		for i := range o.Definition.Spec.Releases {
			release := &o.Definition.Spec.Releases[i]
			d.rumoured[release.Name] = add(addons.Trace{Name: release.Name, Namespace: release.Namespace})
		}
	}
	slices.SortFunc(d.releases, func(a, b addons.Trace) int { return strings.Compare(a.Name, b.Name) })
}
