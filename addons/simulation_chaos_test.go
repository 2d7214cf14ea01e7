package addons

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// disturbances are all that may happen, in any order: passes that die half way, work of Flux that may fail, and people.
func (c *cluster) disturbances() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"settle":            func(*rapid.T) { c.settle() },
		"settle willingly":  func(*rapid.T) { c.settleWillingly() },
		"catch up":          func(*rapid.T) { c.catchUp() },
		"open or close":     c.drawCheck(func(_ *rapid.T, key checkKey) { c.closed[key] = !c.closed[key] }),
		"close and pass":    c.drawCheck(c.closeAndPass),
		"approve":           c.drawInstaller(func(_ *rapid.T, i *v1alpha1.Installer) { c.approve(i) }),
		"allow":             c.drawAddon(func(_ *rapid.T, name string) { c.allow(name) }),
		"helm-controller":   func(*rapid.T) { c.killFlux() },
		"suspend or resume": c.drawRelease(func(_ *rapid.T, r *helmRelease) { toggleSuspension(r) }),
		"delete":            c.drawRelease(func(_ *rapid.T, r *helmRelease) { c.delete(r) }),
		"delete by force":   c.drawRelease(func(_ *rapid.T, r *helmRelease) { delete(c.releases, r.name) }),
		"delete an Addon": c.drawAddon(func(_ *rapid.T, name string) {
			if c.addons[name].Spec.State == v1alpha1.Present { // others are on their way out, and stay until they are
				delete(c.addons, name)
			}
		}),
		"take our finalizer": c.drawRelease(func(_ *rapid.T, r *helmRelease) { r.ours = false; c.collect(r) }),
		"Kubernetes": func(t *rapid.T) {
			c.kubernetes = rapid.SampledFrom([]string{"", "v1.30.2", "v1.32.0-gke.1", "v1.34.1"}).Draw(t, "Kubernetes")
		},
		"ServiceAccount":   func(*rapid.T) { c.crippled = !c.crippled },
		"Helm's storage":   c.drawName(c.records),
		"chart is fetched": c.drawName(c.waiting),
		"chart does harm":  c.drawName(c.harmful),
		"others fight":     c.drawName(c.fought),
	}
	maps.Copy(all, c.edits())
	for i := range 3 {
		all[fmt.Sprint("installer pass ", i)] = c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) { c.installerPass(i, someWrites(t)) })
		all[fmt.Sprint("add-on pass ", i)] = c.drawAddon(func(t *rapid.T, name string) { c.addonPass(name, someWrites(t)) })
		all[fmt.Sprint("Flux ", i)] = c.drawRelease(func(t *rapid.T, r *helmRelease) { c.flux(r, rapid.IntRange(0, 3).Draw(t, "fails") > 0) })
	}
	return all
}

// edits are what people do to Installers and definitions.
func (c *cluster) edits() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"edit":       c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) { i.Spec.Addons = c.someEntries(t) }),
		"drop some":  c.drawInstaller(c.dropEntries),
		"waver":      c.drawInstaller(c.waver),
		"move":       c.drawInstaller(c.moveEntry),
		"definition": func(t *rapid.T) { c.redefine(c.away, c.drawDefinition(t).Name) },
		"chart": func(t *rapid.T) {
			c.redefine(c.moved, rapid.SampledFrom(releaseNames(c.drawDefinition(t))).Draw(t, "release"))
		},
		"withdraw": func(t *rapid.T) {
			def := c.drawDefinition(t)
			c.redefine(c.retired, def.Name+" "+rapid.SampledFrom(versionNames(def.Spec.Versions)).Draw(t, "version"))
		},
		"unname": func(t *rapid.T) {
			c.redefine(c.unnamed, rapid.SampledFrom(releaseNames(c.drawDefinition(t))).Draw(t, "release"))
		},
		"delete an Installer": c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) {
			if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
				i.DeletionTimestamp = &metav1.Time{}
			}
		}),
		"confirm a deletion": c.drawInstaller(func(_ *rapid.T, i *v1alpha1.Installer) { annotate(i, v1alpha1.AnnotationConfirmDelete, i.Name) }),
		"policy": c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) {
			i.Spec.DeletionPolicy = rapid.SampledFrom([]v1alpha1.DeletionPolicy{"", v1alpha1.DeletionRemove, v1alpha1.DeletionOrphan}).Draw(t, "policy")
		}),
		"approval": c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) {
			i.Spec.Approval = rapid.SampledFrom([]v1alpha1.ApprovalPolicy{"", v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual}).Draw(t, "approval")
		}),
		"make an Installer": func(*rapid.T) { c.makeInstaller() },
	}
}

// waver empties a list, approves that, puts all back and empties it again, whatever the operator got done in between.
func (c *cluster) waver(t *rapid.T, subject *v1alpha1.Installer) {
	listed := subject.Spec.Addons
	list := func(entries []v1alpha1.InstallerAddon) {
		subject.Spec.Addons = entries
		subject.Generation++
	}
	list(nil)
	c.approve(subject)
	c.installerPass(subject, someWrites(t))
	list(listed)
	c.installerPass(subject, someWrites(t))
	list(nil)
}

// redefine toggles something of the definitions, unless they were broken by that.
func (c *cluster) redefine(what map[string]bool, name string) {
	what[name] = !what[name]
	c.current = nil
	if slices.ContainsFunc(c.edited(), func(def v1alpha1.AddonDefinition) bool { return broken(&def) }) {
		what[name] = !what[name]
	}
}

// broken looks only at what a redefinition may break.
func broken(def *v1alpha1.AddonDefinition) bool {
	known := map[string]bool{}
	for i := range def.Spec.Versions {
		version := &def.Spec.Versions[i]
		if len(version.Releases) == 0 || known[charts(version)] {
			return true
		}
		known[charts(version)] = true
	}
	return false
}

// makeInstaller makes one of the Installers that are missing. It does not know yet what it wants.
func (c *cluster) makeInstaller() {
	for _, name := range []string{"default", "other"} {
		if !slices.ContainsFunc(c.installers, func(i *v1alpha1.Installer) bool { return i.Name == name }) {
			subject := installer(name, 0)
			subject.UID = c.uid()
			c.installers = append(c.installers, subject)
			return
		}
	}
}

// someWrites is how many writes of a pass happen: mostly all.
func someWrites(t *rapid.T) int { return rapid.SampledFrom([]int{100, 100, 0, 1, 2}).Draw(t, "writes") }

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

func (c *cluster) drawInstaller(act func(*rapid.T, *v1alpha1.Installer)) func(*rapid.T) {
	return func(t *rapid.T) {
		if len(c.installers) == 0 {
			t.Skip("no Installers")
		}
		subject := rapid.SampledFrom(c.installers).Draw(t, "installer")
		before := subject.DeepCopy()
		act(t, subject)
		if (subject.DeletionTimestamp == nil) != (before.DeletionTimestamp == nil) || !reflect.DeepEqual(subject.Spec, before.Spec) {
			subject.Generation++
		}
	}
}

// drawName toggles something of a release, be it there or not.
func (c *cluster) drawName(what map[string]bool) func(*rapid.T) {
	return func(t *rapid.T) {
		name := rapid.SampledFrom(releaseNames(c.drawDefinition(t))).Draw(t, "release")
		what[name] = !what[name]
	}
}

func (c *cluster) drawCheck(act func(*rapid.T, checkKey)) func(*rapid.T) {
	return func(t *rapid.T) {
		all := c.allChecks()
		if len(all) == 0 {
			t.Skip("no checks")
		}
		act(t, rapid.SampledFrom(all).Draw(t, "check"))
	}
}

// closeAndPass closes a check right before a pass that may come to it, with cached facts of before or of now.
func (c *cluster) closeAndPass(t *rapid.T, key checkKey) {
	if c.addons[key.addon] == nil {
		t.Skip("nothing comes to it")
	}
	if rapid.Bool().Draw(t, "leaves") {
		for _, subject := range c.installers {
			subject.Spec.Addons = slices.DeleteFunc(slices.Clone(subject.Spec.Addons), func(e v1alpha1.InstallerAddon) bool { return e.Name == key.addon })
			subject.Generation++
			c.approve(subject)
		}
		for _, subject := range slices.Clone(c.installers) {
			c.installerPass(subject, 100)
		}
	}
	c.catchUp()
	c.closed[key] = true
	if rapid.Bool().Draw(t, "known") {
		c.catchUp()
	}
	c.addonPass(key.addon, someWrites(t))
	if rapid.Bool().Draw(t, "opens again") {
		delete(c.closed, key)
	}
}

func (c *cluster) drawDefinition(t *rapid.T) *v1alpha1.AddonDefinition {
	return &c.definitions[rapid.IntRange(0, len(c.definitions)-1).Draw(t, "definition")]
}

// someEntries draws any list, including ones that make no sense.
func (c *cluster) someEntries(t *rapid.T) []v1alpha1.InstallerAddon {
	var entries []v1alpha1.InstallerAddon
	for i := range c.definitions {
		if rapid.IntRange(0, 3).Draw(t, "wanted") > 0 {
			entries = append(entries, v1alpha1.InstallerAddon{
				Name: c.definitions[i].Name, Version: someRequest(t, &c.definitions[i]), Adopt: rapid.Bool().Draw(t, "adopt"),
			})
		}
	}
	return entries
}

func someRequest(t *rapid.T, def *v1alpha1.AddonDefinition) string {
	return rapid.SampledFrom(append(versionNames(def.Spec.Versions), "", "1.x", "9.9.9")).Draw(t, "version")
}

func (c *cluster) dropEntries(t *rapid.T, subject *v1alpha1.Installer) {
	keep := rapid.IntRange(0, 3).Draw(t, "of four stay")
	subject.Spec.Addons = slices.DeleteFunc(slices.Clone(subject.Spec.Addons), func(v1alpha1.InstallerAddon) bool {
		return rapid.IntRange(0, 3).Draw(t, "stays") >= keep
	})
}

// moveEntry changes the version or the values of one entry.
func (c *cluster) moveEntry(t *rapid.T, subject *v1alpha1.Installer) {
	if len(subject.Spec.Addons) == 0 {
		t.Skip("nothing is wanted")
	}
	subject.Spec.Addons = slices.Clone(subject.Spec.Addons)
	entry := &subject.Spec.Addons[rapid.IntRange(0, len(subject.Spec.Addons)-1).Draw(t, "entry")]
	def := &c.definitions[slices.IndexFunc(c.definitions, func(d v1alpha1.AddonDefinition) bool { return d.Name == entry.Name })]
	switch rapid.IntRange(0, 2).Draw(t, "what moves") {
	case 0:
		values := rawJSON(fmt.Sprintf(`{"replicas":%d}`, rapid.IntRange(0, 2).Draw(t, "replicas")))
		entry.Releases = []v1alpha1.ReleaseOverride{{Name: def.Spec.Releases[0].Name, Values: values}}
	case 1:
		entry.Adopt = !entry.Adopt
	default:
		entry.Version = someRequest(t, def)
	}
}
