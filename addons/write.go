package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// holdWrite keeps back what would do harm once it were written: Flux acts on it at once.
func (d *Decision) holdWrite(o Observation) *Hold {
	if hold := d.holdIdentity(o); hold != nil {
		return hold
	}
	if hold := d.holdTaken(o); hold != nil {
		return hold
	}
	return d.holdChart(o)
}

// holdIdentity keeps a changed definition from making Flux uninstall a release and install another in its place: that is how it takes
// another chart name or namespace. A release that the definition does not name any more would stay for ever. Either needs a person's
// word, and the gates of a removal.
func (d *Decision) holdIdentity(o Observation) *Hold {
	changes, token := identityChanges(o, d.Write)
	unnamed := unnamed(o)
	if len(changes) == 0 {
		return nil
	}
	if o.Addon.Annotations[v1alpha1.AnnotationAllowReplace] != token {
		return holdDefinition(o, fmt.Sprintf(
			"%s; Flux would uninstall what runs first, and its data might go: take the change of the AddonDefinition back, or have it uninstalled and the new one installed with: "+
				"kubectl annotate --overwrite addon %s %s=%s", strings.Join(changes, "; "), o.Addon.Name, v1alpha1.AnnotationAllowReplace, token))
	}
	if hold := d.holdGates(o, v1alpha1.MomentRemove); hold != nil {
		return hold
	}
	if len(unnamed) == 0 {
		return nil
	}
	going := maps.Clone(o.Releases)
	maps.DeleteFunc(going, func(name string, _ Observed) bool { return !slices.Contains(unnamed, name) })
	d.Delete = removable(going)
	return &Hold{
		State: v1alpha1.StateUpgrading, Message: "uninstalling what the definition names no more: " + strings.Join(unnamed, ", "),
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerHelmRelease, Name: unnamed[0], Message: "is being uninstalled"},
	}
}

// identityChanges describes what Flux would have to reinstall, and gives the token that allows it this once: for these HelmReleases, as
// they are now.
func identityChanges(o Observation, write []Release) (changes []string, token string) {
	hash := sha256.New()
	for i := range write {
		if was, now := o.Releases[write[i].Name], &write[i]; reinstalls(was, now) {
			changes = append(changes, fmt.Sprintf("release %s was installed from chart %s into namespace %s, and its definition now says chart %s and namespace %s",
				now.Name, was.Chart, was.TargetNamespace, now.Chart, now.Namespace))
			fmt.Fprintln(hash, now.Name, was.UID, was.Token, now.Chart, now.Namespace)
		}
	}
	for _, name := range unnamed(o) {
		changes = append(changes, fmt.Sprintf("release %s is installed, and its definition does not name it any more", name))
		fmt.Fprintln(hash, name, o.Releases[name].UID)
	}
	return changes, hex.EncodeToString(hash.Sum(nil)[:4])
}

// reinstalls says whether Flux would uninstall a release once it were written. What has been written already is beyond that.
func reinstalls(was Observed, now *Release) bool {
	same := was.Chart == path.Base(now.Chart) && was.TargetNamespace == now.Namespace // Helm knows a chart by its bare name
	return was.Chart != "" && !same && (was.AskedChart != now.Chart || was.Namespace != now.Namespace)
}

// unnamed lists releases that are there and that the definition does not name.
func unnamed(o Observation) []string {
	named := releaseNames(o.Definition)
	return slices.DeleteFunc(sortedKeys(o.Releases), func(name string) bool { return slices.Contains(named, name) })
}

// holdTaken keeps a new release from taking over what somebody else installed under its name, unless the Installer says so.
func (d *Decision) holdTaken(o Observation) *Hold {
	for i := range d.Write {
		release := &d.Write[i]
		if _, ours := o.Releases[release.Name]; ours {
			continue
		}
		finding, known := o.Owners[release.Name]
		if !known {
			d.Ask.Owners = append(d.Ask.Owners, *release)
			continue
		}
		message := finding.Fought
		if finding.Taken != "" && !o.Addon.Spec.Adopt {
			message = fmt.Sprintf("%s; to take it over, set adopt: true for %s in Installer %s; to keep it, remove %s from there",
				finding.Taken, o.Addon.Name, o.Addon.Spec.Installer, o.Addon.Name)
		}
		if message != "" {
			return &Hold{
				State: v1alpha1.StateBlocked, Message: message,
				By: v1alpha1.Blocker{Kind: v1alpha1.BlockerHelmRelease, Name: release.Name, Message: "somebody else installed it"},
			}
		}
	}
	return nil
}

// holdChart looks into the chart of each release that is about to be upgraded.
func (d *Decision) holdChart(o Observation) *Hold {
	for i := range d.Write {
		release, was := &d.Write[i], o.Releases[d.Write[i].Name]
		if was.ChartVersion == "" || SameChartVersion(was.AskedVersion, release.ChartVersion) {
			continue
		}
		finding, known := o.Charts[release.Name]
		if !known {
			d.Ask.Charts = append(d.Ask.Charts, *release)
			continue
		}
		hold := &Hold{State: v1alpha1.StateBlocked, Message: finding.Problem, By: v1alpha1.Blocker{Kind: v1alpha1.BlockerChart, Name: release.Name, Message: finding.Problem}}
		if finding.Waiting != "" {
			hold.State, hold.Message = v1alpha1.StateUpgrading, fmt.Sprintf("looking into chart %s %s before the upgrade: %s", release.Chart, release.ChartVersion, finding.Waiting)
			hold.By.Message = finding.Waiting
		}
		if hold.Message != "" {
			return hold
		}
	}
	return nil
}
