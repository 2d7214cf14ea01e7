package addons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// decideVersion finds the version to write, or why none is written.
func decideVersion(o Observation, d *Decision) {
	wanted := o.Addon.Spec.Version
	asked := askedVersion(o)
	switch {
	case findVersion(o.Definition, wanted) == nil:
		d.Hold = holdDefinition(o, fmt.Sprintf("version %s of %q is not in the catalogue any more; add it to the AddonDefinition, or choose another version", wanted, o.Addon.Name))
	case len(o.Releases) == 0 && findVersion(o.Definition, wanted).Withdrawn != "":
		d.Hold = holdDefinition(o, withdrawn(findVersion(o.Definition, wanted)).Error())
	case !anyDeployed(o.Releases):
		d.Path = []string{wanted}
		if d.Hold = d.holdInstall(o); d.Hold == nil {
			d.Version = wanted
		}
	case asked == "" && d.Running == "":
		d.Path = []string{wanted}
		d.Hold = holdDefinition(o, fmt.Sprintf("it runs %s, which no version of %q in the catalogue consists of; add that version to the AddonDefinition", deployedCharts(o.Releases), o.Addon.Name))
	case asked == "" && len(dropped(o, d.Running)) > 0:
		finishDropped(o, d, dropped(o, d.Running))
	case asked == "" || asked == d.Running:
		decideHop(o, d, asked)
	default:
		finishHop(o, d, asked)
	}
}

// decideHop moves on from a version that runs.
func decideHop(o Observation, d *Decision, asked string) {
	path, err := Path(o.Definition, d.Running, o.Addon.Spec.Version, limitsOf(o))
	d.Path = path
	switch {
	case err != nil:
		d.Hold = holdPath(o, d.Running, err)
	case len(path) == 0:
		d.Version = o.Addon.Spec.Version
	case !Settled(o.Definition, d.Running, o.Releases):
		d.Hold = holdUnsettled(o, d.Running, fmt.Sprintf("the upgrade to %s waits until %s has settled: %s", path[0], d.Running, firstUnsettled(o)))
		if asked == "" || stuck(o) {
			d.Version = d.Running // the present values and dependencies may be the cure, and no hop would ever come without one
		}
	default:
		if d.Hold = d.holdNext(o, path[0]); d.Hold == nil {
			d.Version = path[0]
		}
	}
}

// holdNext holds a hop from a version that has settled.
func (d *Decision) holdNext(o Observation, next string) *Hold {
	if hold := d.holdHop(o, next); hold != nil {
		return hold
	}
	if hold := d.holdUnhealthy(o, next); hold != nil {
		return hold
	}
	return d.holdBeginning(o, next)
}

// holdBeginning holds what nothing else holds any more in front of its gates, and until its migrations have run.
func (d *Decision) holdBeginning(o Observation, next string) *Hold {
	if hold := d.holdGates(o, v1alpha1.MomentUpgrade); hold != nil {
		return hold
	}
	return d.holdMigrations(o, next)
}

// overtake goes to a newer version instead of finishing a hop that fails, unless something holds that.
func (d *Decision) overtake(o Observation, path []string) {
	if d.holdHop(o, path[0]) == nil && d.holdBeginning(o, path[0]) == nil {
		d.Version, d.Path, d.Hold = path[0], path, nil
	}
}

// finishHop goes through with an install or a hop that has begun, whatever is wanted by now: its data may have changed
// already. Only a hop that fails may be overtaken, by a newer version that the running one may move to as well.
func finishHop(o Observation, d *Decision, asked string) {
	wanted := o.Addon.Spec.Version
	d.Version = asked
	rest, err := Path(o.Definition, asked, wanted, limitsOf(o))
	d.Path = append([]string{asked}, rest...)
	if err != nil {
		d.Hold = holdUnsettled(o, asked, fmt.Sprintf("the upgrade to %s has begun and is finished first (%s); after that, %s", asked, firstUnsettled(o), err))
	}
	if _, failing := firstIn(o, PhaseFailing); !failing || d.Running == "" {
		return
	}
	path, err := Path(o.Definition, d.Running, wanted, limitsOf(o))
	if err == nil && len(path) > 0 && ParseVersion(path[0]).Compare(ParseVersion(asked)) > 0 {
		d.overtake(o, path)
	}
}

// limitsOf are what the add-on's versions have to fit.
func limitsOf(o Observation) Limits { return Limits{Kubernetes: o.Kubernetes, Needs: o.Needs} }

// holdPath holds an add-on that has no way to its wanted version. If only what other add-ons need is in the way, they have to move first.
func holdPath(o Observation, running string, problem error) *Hold {
	hold := holdDefinition(o, problem.Error())
	path, err := Path(o.Definition, running, o.Addon.Spec.Version, Limits{Kubernetes: o.Kubernetes})
	if err != nil {
		return hold
	}
	limits := newLimits(limitsOf(o))
	for _, hop := range path {
		if need := limits.unmet(hop); need != nil {
			hold.By = v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: need.Addon, Message: fmt.Sprintf("runs %s, which needs %s at %s", need.Running, o.Addon.Name, need.Range)}
			return hold
		}
	}
	return hold
}

// stuck says whether a release does not get on by itself: its values, source or dependencies may have to change first.
func stuck(o Observation) bool {
	for _, phase := range []Phase{PhaseFailing, PhaseDegraded, PhaseWaiting} {
		if _, found := firstIn(o, phase); found {
			return true
		}
	}
	_, late := firstOverdue(o)
	return late
}

// pathAhead is the path for people to see while nothing is done.
func pathAhead(o Observation, running string) []string {
	if running == "" {
		return []string{o.Addon.Spec.Version}
	}
	path, err := Path(o.Definition, running, o.Addon.Spec.Version, limitsOf(o))
	if err != nil {
		return nil
	}
	return path
}

// askedVersion is the version that the HelmReleases ask for: the one that an install or a hop under way leads to. Where the
// operator died before it had written them all, it is the one that the written ones may be of, and if that leaves a choice, the
// one with the shortest way to the wanted version. It is empty when the HelmReleases make no such sense.
func askedVersion(o Observation) string {
	if version := AskedVersion(o.Definition, o.Releases); version != "" {
		return version
	}
	return cmp.Or(begun(o), newestAsked(o))
}

// asAsked are releases as they would be observed once they ran as asked.
func asAsked(observed map[string]Observed) map[string]Observed {
	asked := map[string]Observed{}
	for name, release := range observed {
		release.ChartVersion = release.AskedVersion
		asked[name] = release
	}
	return asked
}

// begun finds the version that some HelmReleases ask for while the others still ask for one that may move to it.
func begun(o Observation) string {
	version, fewest := "", -1
	h := newHops(o.Definition)
	for i, candidate := range slices.Backward(h.versions) {
		if !hasBegun(o, h, i) {
			continue
		}
		path, err := Path(o.Definition, candidate.String(), o.Addon.Spec.Version, Limits{Kubernetes: o.Kubernetes})
		if err != nil && fewest < 0 {
			version = candidate.String()
		}
		if err == nil && (fewest < 0 || len(path) < fewest) {
			version, fewest = candidate.String(), len(path)
		}
	}
	return version
}

// hasBegun says whether the HelmReleases, but for missing ones, all ask for a version, or some for it and the others for one
// from which it may be reached in one hop.
func hasBegun(o Observation, h hops, to int) bool {
	version := &o.Definition.Spec.Versions[to]
	if isBetween(o.Releases, nil, version.Releases) {
		return true
	}
	for from := range h.versions {
		if h.allow(h.versions[from], to) && isBetween(o.Releases, o.Definition.Spec.Versions[from].Releases, version.Releases) {
			return true
		}
	}
	return false
}

// newestAsked is the newest version that a HelmRelease asks for, if all ask for listed ones. No hop makes such a mix, but an
// install does: before anything is deployed it may be begun anew for any other version, and be cut short again.
func newestAsked(o Observation) string {
	newest := -1
	for _, part := range o.Definition.Spec.Releases {
		release, there := o.Releases[part.Name]
		if !there {
			continue
		}
		first := slices.IndexFunc(o.Definition.Spec.Versions, func(v v1alpha1.VersionDefinition) bool {
			return SameChartVersion(release.AskedVersion, v.Releases[part.Name].ChartVersion)
		})
		if first < 0 {
			return ""
		}
		newest = max(newest, first)
	}
	if newest < 0 {
		return ""
	}
	return o.Definition.Spec.Versions[newest].Version
}

// isBetween says whether every release asks for its chart before or after a hop, and at least one only for that after it.
func isBetween(observed map[string]Observed, before, after map[string]v1alpha1.ReleaseVersion) bool {
	begun := false
	for name, at := range after {
		release, there := observed[name]
		if !there {
			continue
		}
		old := SameChartVersion(release.AskedVersion, before[name].ChartVersion)
		if !old && !SameChartVersion(release.AskedVersion, at.ChartVersion) {
			return false
		}
		begun = begun || !old
	}
	return begun
}

func anyDeployed(observed map[string]Observed) bool {
	for _, release := range observed {
		if release.ChartVersion != "" {
			return true
		}
	}
	return false
}

func deployedCharts(observed map[string]Observed) string {
	var charts []string
	for _, name := range sortedKeys(observed) {
		if observed[name].ChartVersion != "" {
			charts = append(charts, name+" "+observed[name].ChartVersion)
		}
	}
	return strings.Join(charts, ", ")
}
