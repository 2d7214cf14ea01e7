package addons

import (
	"fmt"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// someCluster draws a catalogue of up to eight add-ons without cycles; nothing is installed.
func someCluster(t *rapid.T) *cluster {
	c := newCluster(t)
	names := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "names")
	for _, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "add-ons")] {
		c.definitions = append(c.definitions, c.someDefinition(t, name))
	}
	return c
}

// someDefinition draws an add-on that may require any of those that were drawn before.
func (c *cluster) someDefinition(t *rapid.T, name string) v1alpha1.AddonDefinition {
	edits := []edit{someVersions(t, name), someChecks(t)}
	if rapid.Bool().Draw(t, "provides") {
		edits = append(edits, provides("capability-of-"+name))
	}
	for i := range c.definitions {
		other := c.definitions[i].Name
		switch rapid.IntRange(0, 11).Draw(t, "requires "+other) {
		case 0, 1:
			edits = append(edits, requires(other))
		case 2:
			edits = append(edits, needs(v1alpha1.Requirement{Addon: other, Optional: true}))
		case 3:
			edits = append(edits, needs(v1alpha1.Requirement{Addon: other, Version: ">=1.1.0"}))
		case 4:
			edits = append(edits, needs(v1alpha1.Requirement{Capability: "capability-of-" + other}))
		case 5, 6:
			edits = append(edits, needs(v1alpha1.Requirement{Addon: other, Optional: rapid.Bool().Draw(t, "optional")}), inStep(t, &c.definitions[i]))
		}
	}
	return define(name, edits...)
}

// inStep has each version need another add-on that is not far behind it and not far ahead. They can always move on, if only in turns.
func inStep(t *rapid.T, other *v1alpha1.AddonDefinition) edit {
	return func(def *v1alpha1.AddonDefinition) {
		behind, ahead := rapid.IntRange(1, 3).Draw(t, "behind"), rapid.IntRange(1, 3).Draw(t, "ahead")
		newest := len(def.Spec.Versions) - 1
		for minor := range def.Spec.Versions {
			within := fmt.Sprintf(">=1.%d.0", min(max(0, minor-behind), len(other.Spec.Versions)-1))
			if minor < newest {
				within += fmt.Sprintf(" <=1.%d.0", minor+ahead)
			}
			version := &def.Spec.Versions[minor]
			version.Requires = append(version.Requires, v1alpha1.VersionRequirement{Addon: other.Name, Version: within})
		}
	}
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
			if rapid.IntRange(0, 5).Draw(t, "bound") == 0 {
				onKubernetes(version, rapid.SampledFrom([]string{">=1.31", "<1.33"}).Draw(t, "to Kubernetes"))(def)
			}
		}
	}
}

// calm ends all disturbances, and asks for something that can be reached: no add-on has to go down, nothing required is missing.
func (c *cluster) calm(t *rapid.T) {
	c.deaf, c.crippled = true, false
	c.kubernetes = "" // unknown, and then nothing is refused for it
	for _, trouble := range []map[string]bool{c.away, c.retired, c.waiting, c.harmful, c.fought} {
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
	minors := c.finalMinors(t, wanted, lowest)
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			subject := rapid.SampledFrom(staying).Draw(t, "installer")
			if inTurns := slices.ContainsFunc(c.definitions, needsVersions); inTurns {
				subject = staying[0] // across Installers, what does not fit together is refused
			}
			entry := v1alpha1.InstallerAddon{Name: def.Name, Version: def.Spec.Versions[minors[def.Name]].Version, Adopt: true}
			subject.Spec.Addons = append(subject.Spec.Addons, entry)
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

// finalMinors draws versions that can be reached and that can do with one another.
func (c *cluster) finalMinors(t *rapid.T, wanted map[string]bool, lowest map[string]int) map[string]int {
	level, minors := 0, map[string]int{}
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			lowest[def.Name] = min(max(lowest[def.Name], c.reached(def)), len(def.Spec.Versions)-1)
			level = max(level, lowest[def.Name])
		}
	}
	level = rapid.IntRange(level, 3).Draw(t, "level")
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			minors[def.Name] = min(level, len(def.Spec.Versions)-1)
		}
	}
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			before := minors[def.Name]
			minors[def.Name] = rapid.IntRange(lowest[def.Name], len(def.Spec.Versions)-1).Draw(t, "final version")
			if !c.compatible(minors) {
				minors[def.Name] = before
			}
		}
	}
	return minors
}

func needsVersions(def v1alpha1.AddonDefinition) bool { return len(def.Spec.Versions[0].Requires) > 0 }

// reached is the place of the version that an add-on is at, or may go to before a new one is understood.
func (c *cluster) reached(def *v1alpha1.AddonDefinition) int {
	reached := 0
	for i := range def.Spec.Versions {
		if addon := c.addons[def.Name]; addon != nil && addon.Spec.Version == def.Spec.Versions[i].Version {
			reached = i
		}
		for _, name := range releaseNames(def) {
			if live := c.releases[name]; live != nil && live.asked == def.Spec.Versions[i].Releases[name].ChartVersion {
				reached = i
			}
		}
	}
	return reached
}

// compatible says whether some add-ons can do with one another at versions of these places.
func (c *cluster) compatible(minors map[string]int) bool {
	for i := range c.definitions {
		def := &c.definitions[i]
		minor, there := minors[def.Name]
		if !there {
			continue
		}
		for _, requirement := range def.Spec.Versions[minor].Requires {
			if other, there := minors[requirement.Addon]; there && !allows(requirement.Version, fmt.Sprintf("1.%d.0", other)) {
				return false
			}
		}
	}
	return true
}
