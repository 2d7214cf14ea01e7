package addons

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// disturbances are all that may happen, in any order: passes that die half way, work of Flux that may fail, and people.
func (c *cluster) disturbances() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"installer pass":   func(t *rapid.T) { c.installerPass(c.drawInstaller(t), someWrites(t)) },
		"add-on pass":      c.drawAddon(func(t *rapid.T, name string) { c.addonPass(name, someWrites(t)) }),
		"add-on pass 2":    c.drawAddon(func(t *rapid.T, name string) { c.addonPass(name, someWrites(t)) }),
		"Flux":             c.drawRelease(func(t *rapid.T, r *helmRelease) { c.flux(r, rapid.IntRange(0, 3).Draw(t, "fails") > 0) }),
		"Flux 2":           c.drawRelease(func(t *rapid.T, r *helmRelease) { c.flux(r, rapid.IntRange(0, 3).Draw(t, "fails") > 0) }),
		"settle":           func(*rapid.T) { c.settle() },
		"edit":             func(t *rapid.T) { c.drawInstaller(t).Spec.Addons = c.someEntries(t) },
		"move":             c.moveEntry,
		"definition":       func(t *rapid.T) { name := c.drawDefinition(t).Name; c.away[name] = !c.away[name] },
		"suspend a person": c.drawRelease(func(_ *rapid.T, r *helmRelease) { toggleSuspension(r) }),
		"delete a person": c.drawRelease(func(_ *rapid.T, r *helmRelease) {
			if r.suspendedBy == "" {
				r.deleting = true
			}
		}),
	}
}

// someWrites is how many writes of a pass happen: mostly all.
func someWrites(t *rapid.T) int { return rapid.SampledFrom([]int{100, 100, 0, 1, 2}).Draw(t, "writes") }

func toggleSuspension(r *helmRelease) {
	if r.suspendedBy == "" {
		r.suspendedBy = "flux"
	} else {
		r.suspendedBy = ""
	}
}

func (c *cluster) drawAddon(act func(*rapid.T, string)) func(*rapid.T) {
	return func(t *rapid.T) {
		if len(c.addons) == 0 {
			t.Skip("no add-ons")
		}
		act(t, rapid.SampledFrom(sortedKeys(c.addons)).Draw(t, "add-on"))
	}
}

func (c *cluster) drawRelease(act func(*rapid.T, *helmRelease)) func(*rapid.T) {
	return func(t *rapid.T) {
		if len(c.releases) == 0 {
			t.Skip("no releases")
		}
		act(t, c.releases[rapid.SampledFrom(sortedKeys(c.releases)).Draw(t, "release")])
	}
}

func (c *cluster) drawInstaller(t *rapid.T) *v1alpha1.Installer {
	return c.installers[rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "installer")]
}

func (c *cluster) drawDefinition(t *rapid.T) *v1alpha1.AddonDefinition {
	return &c.definitions[rapid.IntRange(0, len(c.definitions)-1).Draw(t, "definition")]
}

// someEntries draws any list, including ones that make no sense.
func (c *cluster) someEntries(t *rapid.T) []v1alpha1.InstallerAddon {
	var entries []v1alpha1.InstallerAddon
	for i := range c.definitions {
		if rapid.IntRange(0, 3).Draw(t, "wanted") > 0 {
			entries = append(entries, v1alpha1.InstallerAddon{Name: c.definitions[i].Name, Version: someRequest(t, &c.definitions[i])})
		}
	}
	return entries
}

func someRequest(t *rapid.T, def *v1alpha1.AddonDefinition) string {
	return rapid.SampledFrom(append(versionNames(def.Spec.Versions), "", "1.x", "9.9.9")).Draw(t, "version")
}

// moveEntry changes the version or the values of one entry.
func (c *cluster) moveEntry(t *rapid.T) {
	subject := c.drawInstaller(t)
	if len(subject.Spec.Addons) == 0 {
		t.Skip("nothing is wanted")
	}
	subject.Spec.Addons = slices.Clone(subject.Spec.Addons)
	entry := &subject.Spec.Addons[rapid.IntRange(0, len(subject.Spec.Addons)-1).Draw(t, "entry")]
	def := &c.definitions[slices.IndexFunc(c.definitions, func(d v1alpha1.AddonDefinition) bool { return d.Name == entry.Name })]
	if rapid.Bool().Draw(t, "values") {
		values := rawJSON(fmt.Sprintf(`{"replicas":%d}`, rapid.IntRange(0, 2).Draw(t, "replicas")))
		entry.Releases = []v1alpha1.ReleaseOverride{{Name: def.Spec.Releases[0].Name, Values: values}}
		return
	}
	entry.Version = someRequest(t, def)
}

// calm ends all disturbances, and asks for something that can be reached: no add-on has to go down, nothing required is missing.
func (c *cluster) calm(t *rapid.T) {
	c.deaf = true
	clear(c.away)
	for _, release := range c.releases {
		release.suspendedBy = ""
	}
	for _, subject := range c.installers {
		subject.Spec.Addons = nil
	}
	wanted, lowest := c.finalWants(t)
	for i := range c.definitions {
		if def := &c.definitions[i]; wanted[def.Name] {
			subject := c.drawInstaller(t)
			subject.Spec.Addons = append(subject.Spec.Addons, c.finalEntry(t, def, lowest[def.Name]))
		}
	}
}

// finalWants draws add-ons, with all that they require, and the lowest version of each that the others can do with.
func (c *cluster) finalWants(t *rapid.T) (wanted map[string]bool, lowest map[string]int) {
	wanted, lowest = map[string]bool{}, map[string]int{}
	for _, def := range slices.Backward(c.definitions) {
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
		for name, release := range c.observed(def.Name) {
			if release.AskedVersion == def.Spec.Versions[i].Releases[name].ChartVersion {
				lowest = max(lowest, i)
			}
		}
	}
	last := len(def.Spec.Versions) - 1
	version := def.Spec.Versions[rapid.IntRange(min(lowest, last), last).Draw(t, "final version")].Version
	return v1alpha1.InstallerAddon{Name: def.Name, Version: version}
}
