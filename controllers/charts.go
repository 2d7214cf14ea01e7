package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// unreadAfter is for how long a chart is tried to be read before its release moves on without that.
const unreadAfter = 30 * time.Second

// Charts looks into the chart of a release before the release moves on to it, for what the upgrade would destroy, and
// for values that Helm would refuse.
type Charts struct {
	// Client reads HelmCharts and HelmRepositories, from a cache or not, and writes.
	Client client.Client
	// Live reads CRDs from the API server itself: they are too large to be cached.
	Live  client.Reader
	Clock clock.PassiveClock

	packages packages
	unread   failures[string] // charts that could not be read, by the names of their HelmCharts
}

// Find has source-controller fetch the release's chart, and compares that with what the cluster has of it. While the finding says
// that it waits, ask again within seconds: not all that is waited for shows in a watch. It writes a HelmChart, and the HelmRepository if
// need be, and fails only if the API server does. A chart that source-controller has and we fail to read is given up after 30 seconds:
// whatever might be lost is then kept.
func (c *Charts) Find(ctx context.Context, release addons.Release) (addons.ChartFinding, error) {
	chart, waiting, err := c.chart(ctx, release)
	if err != nil || waiting != "" {
		return addons.ChartFinding{Waiting: waiting}, err
	}
	finding := addons.ChartFinding{}
	if chart == nil {
		return finding, nil
	}
	finding.Problem = refused(chart, release)
	if finding.Problem == "" && release.CRDs == v1alpha1.CRDCreateReplace {
		finding.Problem, err = c.vanishing(ctx, chart)
	}
	return finding, err
}

// chart returns the release's chart, or what it waits for; neither for one that was given up.
func (c *Charts) chart(ctx context.Context, release addons.Release) (chart *flux.Chart, waiting string, err error) {
	sources, err := c.fetch(ctx, release)
	if err != nil {
		return nil, "", err
	}
	artifact, waiting := sources.Fetched(c.Clock.Now())
	if artifact == nil || c.unread.last(sources.Chart.Name, unreadAfter, c.Clock.Now()) {
		return nil, waiting, nil
	}
	chart, err = c.packages.read(ctx, artifact)
	if err == nil {
		c.unread.forget(sources.Chart.Name)
		return chart, "", nil
	}
	c.unread.note(sources.Chart.Name, c.Clock.Now())
	if c.unread.last(sources.Chart.Name, unreadAfter, c.Clock.Now()) {
		logf.FromContext(ctx).Error(err, "Upgrading without a look into the chart; its release keeps every CRD", "release", release.Name, "chart", release.Chart)
		return nil, "", nil
	}
	return nil, err.Error(), nil
}

// fetch makes source-controller fetch the release's chart, and no other one ahead of the release.
func (c *Charts) fetch(ctx context.Context, release addons.Release) (flux.Sources, error) {
	repository, err := ensure(ctx, c.Client, flux.Repository(release.Repository))
	if err != nil {
		return flux.Sources{}, err
	}
	chart, err := ensure(ctx, c.Client, flux.Preflight(release))
	if err != nil {
		return flux.Sources{}, err
	}
	return flux.Sources{Chart: chart, Repository: repository}, c.drop(ctx, release.Addon, func(other *sourcev1.HelmChart) bool {
		return other.Labels[v1alpha1.LabelRelease] == release.Name && other.Name != chart.Name
	})
}

// cleanUp deletes the HelmCharts by which charts were fetched ahead of a release of an add-on; of all its releases if none is named.
func (c *Charts) cleanUp(ctx context.Context, addon, release string) error {
	return c.drop(ctx, addon, func(chart *sourcev1.HelmChart) bool {
		return release == "" || chart.Labels[v1alpha1.LabelRelease] == release
	})
}

func (c *Charts) drop(ctx context.Context, addon string, unwanted func(*sourcev1.HelmChart) bool) error {
	var list sourcev1.HelmChartList
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldManager, v1alpha1.LabelAddon: addon}
	if err := c.Client.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the HelmCharts of add-on %s: %w", addon, err)
	}
	for i := range list.Items {
		chart := &list.Items[i]
		if !unwanted(chart) || chart.DeletionTimestamp != nil {
			continue
		}
		if err := c.Client.Delete(ctx, chart); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting HelmChart %s: %w", chart.Name, err)
		}
		c.unread.forget(chart.Name)
	}
	return nil
}

// vanishing says which CRDs of the chart the API server would refuse, halfway through the upgrade: those that lack a version in which
// objects are stored.
func (c *Charts) vanishing(ctx context.Context, chart *flux.Chart) (string, error) {
	var problems []string
	for _, crd := range chart.CRDs {
		stored, err := c.storedVersions(ctx, crd.Name)
		if err != nil {
			return "", err
		}
		if gone := slices.DeleteFunc(stored, func(version string) bool { return slices.Contains(crd.Versions, version) }); len(gone) > 0 {
			problems = append(problems, fmt.Sprintf("%s (%s)", crd.Name, strings.Join(gone, ", ")))
		}
	}
	if len(problems) == 0 {
		return "", nil
	}
	return fmt.Sprintf("chart %s %s has no longer versions of CRDs in which objects may be stored: %s; rewrite these objects in a version that it has "+
		"(kubectl get, then kubectl replace), and remove the old version from status.storedVersions of the CRD "+
		"(kubectl edit crd NAME --subresource=status)", chart.Name, chart.Version, addons.FirstFew(problems, 5)), nil
}
