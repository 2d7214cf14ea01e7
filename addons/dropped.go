package addons

import (
	"fmt"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// dropped lists the releases, with their charts, in which a hop is under way that no version of the definition leads to any more: the
// operator asked for that chart, and it is not the running version's. What others ask for is put back.
func dropped(o Observation, running string) []Observed {
	version := findVersion(o.Definition, running)
	if version == nil {
		return nil
	}
	var list []Observed
	for _, name := range sortedKeys(version.Releases) {
		release, there := o.Releases[name]
		if there && release.AskedByUs && !SameChartVersion(release.AskedVersion, version.Releases[name].ChartVersion) {
			list = append(list, release)
		}
	}
	return list
}

// finishDropped leaves a hop alone whose version has left the catalogue: its data may have changed already, and the version before must
// not be put back. If it fails, a newer version may overtake it, as in finishHop.
func finishDropped(o Observation, d *Decision, releases []Observed) {
	var charts []string
	for _, release := range releases {
		charts = append(charts, release.Name+" "+release.AskedVersion)
	}
	path, err := Path(o.Definition, d.Running, o.Addon.Spec.Version, limitsOf(o))
	d.Hold = holdUnsettled(o, d.Running, fmt.Sprintf("the upgrade to %s has begun and is finished first (%s), although no version of %q in the catalogue consists of that any more; add that version to the AddonDefinition",
		strings.Join(charts, ", "), firstUnsettled(o), o.Addon.Name))
	if _, failing := firstIn(o, PhaseFailing); !failing || err != nil || len(path) == 0 || !isAhead(findVersion(o.Definition, path[0]), releases) {
		return
	}
	d.overtake(o, path)
}

// isAhead says whether a version has newer charts than all that is asked for.
func isAhead(version *v1alpha1.VersionDefinition, releases []Observed) bool {
	for _, release := range releases {
		if ParseVersion(version.Releases[release.Name].ChartVersion).Compare(ParseVersion(release.AskedVersion)) <= 0 {
			return false
		}
	}
	return true
}
