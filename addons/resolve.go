package addons

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// World is everything that an Installer is resolved against.
type World struct {
	Catalog Catalog
	// Kubernetes is the cluster's version; empty means unknown, and then no version is refused for it.
	Kubernetes string
	// Installers are all Installers of the cluster, the resolved one among them.
	Installers []*v1alpha1.Installer
	// Addons are all Addons of the cluster.
	Addons []*v1alpha1.Addon
	// Asked gives the version that the releases of each add-on ask for, whether or not it runs yet; one that is missing in it asks for none.
	Asked map[string]string
}

// Resolution is what an Installer's spec comes to. Its order is deterministic and does not depend on the order in the spec.
type Resolution struct {
	// Addons that can be acted on, each after those that it depends on.
	Addons []Resolved
	// Problems of the others, sorted by add-on.
	Problems []Problem
}

// Resolved is an add-on of an Installer with its exact version.
type Resolved struct {
	Name string
	Spec v1alpha1.AddonSpec
	// After names the wanted add-ons that come first, sorted; some of them may have problems.
	After []string
}

// Problem says why an add-on of the spec cannot be acted on.
type Problem struct {
	Addon string
	// Message names the field, the value, and what to do.
	Message string
}

// resolver gathers, step by step, what is known of an Installer's add-ons.
type resolver struct {
	world     World
	platform  platform
	installer *v1alpha1.Installer
	wanted    map[string]*v1alpha1.AddonDefinition // this Installer's, including those with problems; nil without a definition
	around    map[string]*v1alpha1.AddonDefinition // wanted ones, and those that other Installers run
	versions  map[string]string                    // of all of those, where known
	owners    map[string]string
	existing  map[string]*v1alpha1.Addon
	problems  map[string]string
}

// Resolve turns an Installer's spec into add-ons with exact versions, in install order. An entry that makes no sense becomes
// a Problem and holds back nothing but what depends on it. An Installer that is being deleted wants nothing.
func Resolve(world World, installer *v1alpha1.Installer) Resolution {
	if installer.DeletionTimestamp != nil {
		return Resolution{}
	}
	r := resolver{
		world: world, platform: newPlatform(world.Kubernetes), installer: installer,
		wanted: map[string]*v1alpha1.AddonDefinition{}, around: map[string]*v1alpha1.AddonDefinition{},
		versions: map[string]string{}, problems: map[string]string{},
		owners: Owners(world.Installers, world.Addons), existing: map[string]*v1alpha1.Addon{},
	}
	for _, addon := range world.Addons {
		r.existing[addon.Name] = addon
	}
	for i := range installer.Spec.Addons {
		r.resolveEntry(&installer.Spec.Addons[i])
	}
	r.addForeign()
	for _, name := range sortedKeys(r.around) {
		r.checkRequirements(name)
		r.checkConflicts(name)
	}
	r.checkReleaseNames()
	dependencies := dependenciesAmong(r.wanted)
	ordered, cyclic := order(dependencies)
	for name, cycle := range cyclic {
		r.fail(name, "", "add-on %q requires itself in the end: %s; remove one of these requirements from its AddonDefinition", name, cycle)
	}
	return r.resolution(ordered, dependencies)
}

func (r *resolver) resolution(ordered []string, dependencies map[string][]string) Resolution {
	entries := map[string]*v1alpha1.InstallerAddon{}
	for i := range r.installer.Spec.Addons {
		entries[r.installer.Spec.Addons[i].Name] = &r.installer.Spec.Addons[i]
	}
	var result Resolution
	for _, name := range ordered {
		if r.problems[name] == "" {
			result.Addons = append(result.Addons, Resolved{Name: name, Spec: r.spec(entries[name]), After: dependencies[name]})
		}
	}
	for _, name := range sortedKeys(r.problems) {
		result.Problems = append(result.Problems, Problem{Addon: name, Message: r.problems[name]})
	}
	return result
}

func (r *resolver) spec(entry *v1alpha1.InstallerAddon) v1alpha1.AddonSpec {
	return v1alpha1.AddonSpec{
		Installer:  r.installer.Name,
		Version:    r.versions[entry.Name],
		State:      v1alpha1.Present,
		Adopt:      entry.Adopt,
		Charts:     r.installer.Spec.Charts,
		Values:     entry.Values,
		ValuesFrom: entry.ValuesFrom,
		Releases:   entry.Releases,
	}
}

// problem keeps the first problem of an add-on: later ones tend to follow from it. Problems of other Installers' add-ons are theirs.
func (r *resolver) problem(name, message string) {
	if _, ours := r.wanted[name]; ours && r.problems[name] == "" {
		r.problems[name] = message
	}
}

func (r *resolver) fail(name, child, format string, args ...any) {
	path := field.NewPath("spec", "addons").Key(name)
	if child != "" {
		path = path.Child(child)
	}
	r.problem(name, fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func (r *resolver) reject(name string, errs field.ErrorList) {
	if len(errs) > 0 {
		r.problem(name, errs.ToAggregate().Error())
	}
}

func (r *resolver) resolveEntry(entry *v1alpha1.InstallerAddon) {
	if _, twice := r.wanted[entry.Name]; twice {
		r.fail(entry.Name, "name", "add-on %q is listed more than once; keep one entry", entry.Name)
	}
	r.wanted[entry.Name] = nil
	if owner := r.owners[entry.Name]; owner != r.installer.Name {
		r.fail(entry.Name, "", "add-on %q belongs to Installer %q, which keeps it; remove it from one of the two", entry.Name, owner)
	}
	def, err := r.world.Catalog.Get(entry.Name)
	if err != nil {
		r.fail(entry.Name, "name", "%s", err)
		return
	}
	r.wanted[entry.Name], r.around[entry.Name] = def, def
	version, err := r.platform.selectVersion(def, entry.Version, r.installer.Spec.Channel, r.at(entry.Name))
	if err != nil {
		r.fail(entry.Name, "version", "%s", err)
		return
	}
	r.versions[entry.Name] = version
	r.checkOverrides(def, entry)
	r.checkChangedValues(def, entry)
}

// at is the version that an add-on is at already, whether or not it has got there; empty for a new one.
func (r *resolver) at(name string) string {
	if addon := r.existing[name]; addon != nil {
		return addon.Spec.Version
	}
	return ""
}

// checkOverrides makes sure that every value has a release to go to.
func (r *resolver) checkOverrides(def *v1alpha1.AddonDefinition, entry *v1alpha1.InstallerAddon) {
	names := releaseNames(def)
	given := ""
	switch {
	case entry.Values != nil:
		given = "values"
	case len(entry.ValuesFrom) > 0:
		given = "valuesFrom"
	}
	if given != "" && len(names) > 1 {
		r.fail(entry.Name, given, "add-on %q has several releases (%s); give each its values under releases", def.Name, strings.Join(names, ", "))
	}
	if given != "" && len(entry.Releases) > 0 {
		r.fail(entry.Name, "releases", "values are given both for the add-on and under releases; keep one of the two")
	}
	path := field.NewPath("spec", "addons").Key(entry.Name)
	r.reject(entry.Name, validateValues(path.Child("values"), entry.Values))
	for _, override := range entry.Releases {
		at := path.Child("releases").Key(override.Name)
		if !slices.Contains(names, override.Name) {
			r.problem(entry.Name, fmt.Sprintf("%s: add-on %q has no release %q; it has %s", at, def.Name, override.Name, strings.Join(names, ", ")))
		}
		r.reject(entry.Name, validateValues(at.Child("values"), override.Values))
	}
}

// addForeign adds what other Installers run to what requirements and conflicts are checked against.
func (r *resolver) addForeign() {
	for _, addon := range r.world.Addons {
		def, err := r.world.Catalog.Get(addon.Name)
		leaving := addon.Spec.Installer == r.installer.Name && r.owners[addon.Name] == ""
		if _, ours := r.wanted[addon.Name]; ours || err != nil || leaving || addon.Spec.State == v1alpha1.Absent {
			continue
		}
		r.around[addon.Name] = def
		r.versions[addon.Name] = addon.Spec.Version
	}
}
