package addons

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// someCluster draws a catalogue of up to eight add-ons without cycles; nothing is installed.
func someCluster(t *rapid.T) *cluster {
	c := newCluster(t)
	names := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "names")
	for i, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "add-ons")] {
		c.definitions = append(c.definitions, someDefinition(t, name, names[:i]))
	}
	return c
}

func someDefinition(t *rapid.T, name string, earlier []string) v1alpha1.AddonDefinition {
	var edits []edit
	if rapid.Bool().Draw(t, "provides") {
		edits = append(edits, provides("capability-of-"+name))
	}
	for _, other := range earlier {
		switch rapid.IntRange(0, 9).Draw(t, "requires "+other) {
		case 0, 1:
			edits = append(edits, requires(other))
		case 2:
			edits = append(edits, needs(v1alpha1.Requirement{Addon: other, Optional: true}))
		case 3:
			edits = append(edits, needs(v1alpha1.Requirement{Addon: other, Version: ">=1.1.0"}))
		case 4:
			edits = append(edits, needs(v1alpha1.Requirement{Capability: "capability-of-" + other}))
		}
	}
	return define(name, append(edits, someVersions(t, name), someChecks(t))...)
}

// someVersions draws up to three releases and two to four versions. Releases may come with later versions, and keep their charts.
func someVersions(t *rapid.T, name string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		parts := []string{name + "-0", name + "-1", name + "-2"}[:rapid.IntRange(1, 3).Draw(t, "releases")]
		releases(parts...)(def)
		moving := rapid.IntRange(0, len(parts)-1).Draw(t, "moving")
		since := rapid.IntRange(0, 3).Draw(t, "since")
		for minor := range rapid.IntRange(2, 4).Draw(t, "versions") {
			version := fmt.Sprintf("1.%d.0", minor)
			charts := map[string]string{}
			for i, part := range parts {
				if i != moving && minor < since {
					continue
				}
				charts[part] = strconv.Itoa(1 + minor)
				if i != moving && rapid.Bool().Draw(t, "keeps its chart") && minor > since {
					charts[part] = findVersion(def, fmt.Sprintf("1.%d.0", minor-1)).Releases[part].ChartVersion
				}
			}
			versions(version)(def)
			charted(version, charts)(def)
		}
	}
}

// calm ends all disturbances, and asks for something that can be reached: no add-on has to go down, nothing required is missing.
func (c *cluster) calm(t *rapid.T) {
	c.deaf, c.crippled = true, false
	for _, trouble := range []map[string]bool{c.away, c.waiting, c.harmful, c.fought} {
		clear(trouble)
	}
	clear(c.closed)
	c.current = nil
	for _, live := range c.releases {
		if live.suspendedBy != "" {
			toggleSuspension(live)
		}
	}
	c.clearTheWay()
	var staying []*v1alpha1.Installer
	for _, subject := range c.stayingInstallers(t) {
		subject.Spec.Addons = nil
		staying = append(staying, subject)
	}
	wanted, lowest := c.finalWants(t)
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			subject := rapid.SampledFrom(staying).Draw(t, "installer")
			subject.Spec.Addons = append(subject.Spec.Addons, c.finalEntry(t, def, lowest[def.Name]))
		}
	}
}

// clearTheWay has people remove the HelmReleases that belong to nobody and that cannot be taken over. Nobody's are also those whose Addon
// and whose finalizer they took away.
func (c *cluster) clearTheWay() {
	for _, live := range c.releases {
		if !live.ours && c.addons[live.addon] == nil {
			live.addon = ""
		}
	}
	for _, def := range c.edited() {
		for _, part := range def.Spec.Releases {
			live := c.releases[part.Name]
			if live != nil && live.addon == "" && live.installed != (identity{part.Chart.Name, part.Namespace}) {
				delete(c.releases, part.Name)
			}
		}
	}
}

// stayingInstallers confirms each deletion that was begun, and returns the others, at least one.
func (c *cluster) stayingInstallers(t *rapid.T) (staying []*v1alpha1.Installer) {
	if rapid.Bool().Draw(t, "all Installers") {
		c.makeInstaller()
	}
	for _, subject := range c.installers {
		if subject.DeletionTimestamp != nil {
			annotate(subject, v1alpha1.AnnotationConfirmDelete, subject.Name)
		} else {
			staying = append(staying, subject)
		}
	}
	if len(staying) == 0 {
		staying = append(staying, installer("new", 0))
		c.installers = append(c.installers, staying...)
	}
	return staying
}

// finalWants draws add-ons, with all that they require, and the lowest version of each that the others can do with.
func (c *cluster) finalWants(t *rapid.T) (wanted map[string]bool, lowest map[string]int) {
	wanted, lowest = map[string]bool{}, map[string]int{}
	for i := len(c.definitions) - 1; i >= 0; i-- {
		def := &c.definitions[i]
		if !wanted[def.Name] && !rapid.Bool().Draw(t, "wanted in the end") {
			continue
		}
		wanted[def.Name] = true
		for _, requirement := range def.Spec.Requires {
			if requirement.Addon != "" && !requirement.Optional {
				wanted[requirement.Addon] = true
			}
			if requirement.Version != "" {
				lowest[requirement.Addon] = 1
			}
		}
	}
	return wanted, lowest
}

func (c *cluster) finalEntry(t *rapid.T, def *v1alpha1.AddonDefinition, lowest int) v1alpha1.InstallerAddon {
	for i := range def.Spec.Versions {
		if addon := c.addons[def.Name]; addon != nil && addon.Spec.Version == def.Spec.Versions[i].Version {
			lowest = max(lowest, i) // it may go there before the new version is understood
		}
		for _, name := range releaseNames(def) {
			if live := c.releases[name]; live != nil && live.asked == def.Spec.Versions[i].Releases[name].ChartVersion {
				lowest = max(lowest, i)
			}
		}
	}
	last := len(def.Spec.Versions) - 1
	version := def.Spec.Versions[rapid.IntRange(min(lowest, last), last).Draw(t, "final version")].Version
	return v1alpha1.InstallerAddon{Name: def.Name, Version: version, Adopt: true}
}
