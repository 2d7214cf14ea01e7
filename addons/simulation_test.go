package addons

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// cluster models everything that the operator sees and does. All its state is in the cluster: a pass that dies half way is one
// of which only the first writes happen.
type cluster struct {
	rapid.TB

	deaf        bool // Flux does not look again by itself at what waits
	definitions []v1alpha1.AddonDefinition
	away        map[string]bool // definitions that are not there for now
	catalogs    map[string]Catalog
	installers  []*v1alpha1.Installer
	addons      map[string]*v1alpha1.Addon
	releases    map[string]*helmRelease
	target      map[string]string // version that was written last; the operator does not see it
}

func newCluster(t rapid.TB, definitions ...v1alpha1.AddonDefinition) *cluster {
	return &cluster{
		TB: t, definitions: definitions, away: map[string]bool{}, addons: map[string]*v1alpha1.Addon{},
		catalogs: map[string]Catalog{}, releases: map[string]*helmRelease{}, target: map[string]string{},
		installers: []*v1alpha1.Installer{installer("default", 1), installer("other", 2)},
	}
}

func text(values *apiextensionsv1.JSON) string {
	if values == nil {
		return ""
	}
	return string(values.Raw)
}

// catalog is made anew only when definitions come or go: validating them takes most of the time.
func (c *cluster) catalog() Catalog {
	key := fmt.Sprint(c.away)
	if _, known := c.catalogs[key]; !known {
		visible := slices.DeleteFunc(slices.Clone(c.definitions), func(d v1alpha1.AddonDefinition) bool { return c.away[d.Name] })
		c.catalogs[key] = catalogOf(visible...)
	}
	return c.catalogs[key]
}

func (c *cluster) world() World {
	world := World{Catalog: c.catalog(), Installers: c.installers}
	for _, name := range sortedKeys(c.addons) {
		world.Addons = append(world.Addons, c.addons[name])
	}
	return world
}

// installerPass does one pass for an Installer, of which only so many writes happen. It returns whether anything changed.
func (c *cluster) installerPass(subject *v1alpha1.Installer, writes int) bool {
	world, running := c.world(), map[string]string{}
	for name := range c.addons {
		if def, err := world.Catalog.Get(name); err == nil {
			running[name] = RunningVersion(def, c.observed(name))
		}
	}
	resolution := Resolve(world, subject)
	plan := MakePlan(world, subject, resolution, running)
	c.checkPlan(resolution, plan)
	for _, change := range plan.Changes[:min(writes, len(plan.Changes))] {
		addon := present("default", change.Addon)
		addon.Spec = *change.Spec.DeepCopy()
		c.addons[change.Addon] = addon
	}
	return len(plan.Changes) > 0
}

func (c *cluster) checkPlan(resolution Resolution, plan Plan) {
	for _, change := range plan.Changes {
		_, listed := c.wanted()[change.Addon]
		if listed == (change.Action == v1alpha1.ActionRemove) {
			c.Fatalf("I6: %s of add-on %s, listed %v", change.Action, change.Addon, listed)
		}
	}
	for _, problem := range resolution.Problems {
		if slices.ContainsFunc(plan.Changes, func(change PlannedChange) bool { return change.Addon == problem.Addon }) {
			c.Fatalf("I6: add-on %s changes, although %s", problem.Addon, problem.Message)
		}
	}
}

func (c *cluster) observe(name string) Observation {
	catalog := c.catalog()
	o := Observation{Addon: c.addons[name], Releases: c.observed(name)}
	def, err := catalog.Get(name)
	if err != nil {
		o.Problem = err.Error()
	}
	o.Definition = def
	dependents := map[string]bool{}
	for _, release := range c.releases {
		for _, needed := range release.dependsOn {
			if _, ours := o.Releases[needed]; ours && release.addon != name {
				dependents[release.addon] = true
			}
		}
	}
	o.Dependents = sortedKeys(dependents)
	if def == nil {
		return o
	}
	for _, needed := range Needs(def, catalog, c.addons) {
		dependency := Dependency{Name: needed}
		if addon := c.addons[needed]; addon != nil {
			dependency.Definition, _ = catalog.Get(needed)
			dependency.Desired, dependency.Releases = addon.Spec.Version, c.observed(needed)
		}
		o.Dependencies = append(o.Dependencies, dependency)
	}
	return o
}

// addonPass does one pass for an Addon, of which only so many writes happen. It returns whether anything changed.
func (c *cluster) addonPass(name string, writes int) bool {
	o := c.observe(name)
	d := Decide(o)
	if again := Decide(c.observe(name)); !reflect.DeepEqual(d, again) {
		c.Fatalf("decided differently from the same: %v and %v", d, again)
	}
	c.checkHop(o, d)
	changed := false
	acts := c.acts(name, d)
	for _, act := range acts[:min(writes, len(acts))] {
		changed = act() || changed
	}
	return changed
}

// acts are the writes of a pass, in order. Each returns whether it changed anything.
func (c *cluster) acts(name string, d Decision) (list []func() bool) {
	for _, release := range d.Write {
		if live := c.releases[release.Name]; live == nil || !live.deleting {
			list = append(list, func() bool { return c.write(release, d.Version) })
		}
	}
	for _, release := range sortedKeys(d.Poke) {
		list = append(list, func() bool { return c.poke(release, d.Poke[release]) })
	}
	for _, release := range d.Delete {
		list = append(list, func() bool { return c.remove(release) })
	}
	if d.Gone {
		list = append(list, func() bool {
			delete(c.addons, name)
			delete(c.target, name)
			return true
		})
	}
	return list
}

// checkHop checks a change of version against the version that was written before.
func (c *cluster) checkHop(o Observation, d Decision) {
	name, before := o.Addon.Name, c.target[o.Addon.Name]
	moves := slices.ContainsFunc(d.Write, func(r Release) bool {
		live := c.releases[r.Name]
		return live != nil && !live.deleting && live.asked != r.ChartVersion
	})
	switch {
	case len(d.Write) > 0 && !anyDeployed(o.Releases):
		c.checkRequired(o)
	case moves && d.Version != before:
		to := slices.Index(versionNames(o.Definition.Spec.Versions), d.Version)
		_, failing := firstIn(o, PhaseFailing)
		h := newHops(o.Definition)
		onward := Settled(o.Definition, before, o.Releases) && h.allow(ParseVersion(before), to)
		overtakes := failing && d.Running != "" && h.allow(ParseVersion(d.Running), to) && ParseVersion(before).Compare(ParseVersion(d.Version)) < 0
		if !onward && !overtakes {
			c.Fatalf("I4: add-on %s moves from %s to %s while %v", name, before, d.Version, o.Releases)
		}
		c.checkRequired(o)
		for i := range o.Dependencies {
			if !o.Dependencies[i].settled() {
				c.Fatalf("I5: add-on %s moves to %s before %s has settled at %s", name, d.Version, o.Dependencies[i].Name, o.Dependencies[i].Desired)
			}
		}
	}
}

func (c *cluster) checkRequired(o Observation) {
	for _, requirement := range o.Definition.Spec.Requires {
		required := c.addons[requirement.Addon]
		gone := required == nil || required.Spec.State == v1alpha1.Absent
		if requirement.Addon == "" || requirement.Optional && gone {
			continue
		}
		def, err := c.catalog().Get(requirement.Addon)
		if requirement.Optional && err != nil {
			continue
		}
		if required == nil || err != nil {
			c.Fatalf("I5: add-on %s is written without %s: %v", o.Addon.Name, requirement.Addon, err)
		}
		if running := RunningVersion(def, c.observed(required.Name)); requirement.Version != "" && !allows(requirement.Version, running) {
			c.Fatalf("I5: add-on %s is written while %s runs %s, not %s", o.Addon.Name, required.Name, running, requirement.Version)
		}
	}
}

// settle lets operator and Flux go on, without interference, until nothing changes any more.
func (c *cluster) settle() {
	const rounds = 300
	for range rounds {
		changed := false
		for _, subject := range c.installers {
			changed = c.installerPass(subject, 100) || changed
		}
		for _, name := range sortedKeys(c.addons) {
			changed = c.addonPass(name, 100) || changed
		}
		for _, name := range sortedKeys(c.releases) {
			changed = c.flux(c.releases[name], true) || changed
		}
		if !changed {
			return
		}
	}
	c.Fatalf("nothing settles after %d rounds: %s", rounds, c.describe())
}

func (c *cluster) describe() (lines string) {
	for _, name := range sortedKeys(c.addons) {
		o := c.observe(name)
		s := Summarize(o, Decide(o))
		lines += fmt.Sprintf("\n%s %s, %s at %q: %s %v", c.addons[name].Spec.State, name, s.State, s.Version, s.Message, slices.Collect(maps.Values(o.Releases)))
	}
	return lines
}

// wanted gives the version that is asked for of each add-on that an Installer lists.
func (c *cluster) wanted() map[string]string {
	wanted := map[string]string{}
	for _, one := range c.installers {
		for _, entry := range one.Spec.Addons {
			wanted[entry.Name] = entry.Version
		}
	}
	return wanted
}

// requireSettled checks that exactly what the Installers list runs, at its versions.
func (c *cluster) requireSettled() {
	wanted := c.wanted()
	for name := range c.addons {
		if wanted[name] == "" {
			c.Fatalf("add-on %s is not wanted, and still there: %s", name, c.describe())
		}
	}
	releases := 0
	for name, version := range wanted {
		if c.addons[name] == nil {
			c.Fatalf("add-on %s is wanted, and not there", name)
		}
		o := c.observe(name)
		if s := Summarize(o, Decide(o)); s.State != v1alpha1.StateReady || s.Version != version {
			c.Fatalf("add-on %s is to run %s, and is %s at %s: %s", name, version, s.State, s.Version, c.describe())
		}
		releases += len(findVersion(o.Definition, version).Releases)
	}
	if releases != len(c.releases) {
		c.Fatalf("there are %d releases, and should be %d", len(c.releases), releases)
	}
}

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
	return define(name, append(edits, someVersions(t, name))...)
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

func TestSimulatedClustersConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCluster(t)
		t.Repeat(c.disturbances())
		c.calm(t)
		c.settle()
		c.requireSettled()
		before := len(c.releases)
		for _, subject := range c.installers {
			subject.Spec.Addons = nil
		}
		c.settle()
		c.requireSettled()
		if before > 0 && len(c.releases) > 0 {
			t.Fatalf("releases are left: %v", c.releases)
		}
	})
}
