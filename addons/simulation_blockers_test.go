package addons

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// report keeps what an add-on says of itself, which others pass on. It returns whether that changed.
func (c *cluster) report(o Observation, d Decision) bool {
	name, said := o.Addon.Name, Summarize(o, d)
	before := c.said[name]
	c.said[name] = said
	return before.State != said.State || before.Message != said.Message || !slices.Equal(before.BlockedBy, said.BlockedBy)
}

// quote has the other add-ons in an observation speak for themselves.
func (c *cluster) quote(o *Observation) {
	for i := range o.Dependencies {
		if dependency := &o.Dependencies[i]; c.addons[dependency.Name] != nil {
			said := c.said[dependency.Name]
			dependency.State, dependency.Message, dependency.BlockedBy = said.State, said.Message, said.BlockedBy
		}
	}
	o.Leaving = map[string][]v1alpha1.Blocker{}
	for _, name := range o.Dependents {
		if addon := c.addons[name]; addon != nil && addon.Spec.State == v1alpha1.Absent {
			o.Leaving[name] = c.said[name].BlockedBy
		}
	}
}

// checkExplained checks, once nothing changes any more, that whatever is not as it is wanted has a reason that is really there.
func (c *cluster) checkExplained() {
	c.catchUp()
	for _, name := range sortedKeys(c.addons) {
		o, d := c.decide(name)
		c.checkSaid(o, d)
	}
	for _, subject := range c.installers {
		c.checkListed(subject)
	}
}

func (c *cluster) checkSaid(o Observation, d Decision) {
	name, s := o.Addon.Name, Summarize(o, d)
	_, failing := firstIn(o, PhaseFailing)
	switch {
	case s.State == v1alpha1.StateReady:
		if !Settled(o.Definition, o.Addon.Spec.Version, o.Releases) {
			c.Fatalf("add-on %s is said to be ready, and is not: %s", name, c.describe())
		}
		return
	case s.State == v1alpha1.StateFailed && failing:
		return
	case len(s.BlockedBy) == 0:
		c.Fatalf("nothing happens any more, and add-on %s does not say why: %s", name, c.describe())
	}
	of := name
	for _, link := range s.BlockedBy {
		if !c.there(of, link) {
			c.Fatalf("add-on %s is said to be blocked by %v, and %+v is not so: %s", name, s.BlockedBy, link, c.describe())
		}
		if link.Kind == v1alpha1.BlockerAddon {
			of = link.Name
		}
	}
}

// there says whether something really blocks an add-on.
func (c *cluster) there(of string, link v1alpha1.Blocker) bool {
	live := c.releases[link.Name]
	switch link.Kind {
	case v1alpha1.BlockerGate, v1alpha1.BlockerHealth:
		return c.closed[checkKey{of, link.Name}]
	case v1alpha1.BlockerChart:
		return c.harmful[link.Name] || c.waiting[link.Name]
	case v1alpha1.BlockerHelmRelease:
		foreign := live != nil && live.addon != of || c.records[link.Name] || c.fought[link.Name]
		return foreign || live != nil && live.suspendedBy != ""
	case v1alpha1.BlockerInstaller:
		return slices.ContainsFunc(c.installers, func(i *v1alpha1.Installer) bool { return i.Name == link.Name && c.unapproved(i) })
	case v1alpha1.BlockerAddonDefinition:
		return c.lacksDefinition(link.Name)
	case v1alpha1.BlockerAddon:
		return c.blocks(link.Name, of)
	default:
		return false
	}
}

func (c *cluster) unapproved(subject *v1alpha1.Installer) bool {
	_, plan := c.plan(subject)
	return Approve(subject, plan).Required != ""
}

// lacksDefinition says whether a definition is not there, or cannot be used for what its add-on is to run, or what runs.
func (c *cluster) lacksDefinition(name string) bool {
	def, err := c.catalog().Get(name)
	if err != nil {
		return true
	}
	wanted := slices.Index(versionNames(def.Spec.Versions), c.addons[name].Spec.Version)
	if wanted < 0 || c.listedFor(def) < 0 || c.listedFor(def) > wanted {
		return true // all versions are minors of one another: only downwards there is no way, and to where there is something in it
	}
	if slices.ContainsFunc(def.Spec.Versions[:wanted+1], func(v v1alpha1.VersionDefinition) bool {
		return newLimits(Limits{Kubernetes: c.kubernetes}).check(&v) != nil
	}) {
		return true
	}
	for _, live := range c.releases {
		at := slices.IndexFunc(def.Spec.Releases, func(part v1alpha1.ReleaseDefinition) bool { return part.Name == live.name })
		if live.addon == name && (at < 0 || live.installed != identity{} && live.installed != (identity{def.Spec.Releases[at].Chart.Name, def.Spec.Releases[at].Namespace})) {
			return true
		}
	}
	return false
}

// listedFor is the place of the newest version that may have been asked of an add-on's releases, or that may run; 0 where there are none.
func (c *cluster) listedFor(def *v1alpha1.AddonDefinition) int {
	newest := 0
	for _, live := range c.releases {
		if live.addon != def.Name {
			continue
		}
		for _, chart := range []string{live.asked, live.deployed} {
			at := slices.IndexFunc(def.Spec.Versions, func(v v1alpha1.VersionDefinition) bool { return v.Releases[live.name].ChartVersion == chart })
			if at < 0 && chart != "" {
				return -1
			}
			newest = max(newest, at)
		}
	}
	return newest
}

// blocks says whether one add-on is in the way of another, or of itself.
func (c *cluster) blocks(name, of string) bool {
	there := c.addons[name]
	for _, live := range c.observed(name) {
		if slices.ContainsFunc(live.DependsOn, func(release string) bool { return c.releases[release] != nil && c.releases[release].addon == of }) && c.addons[of].Spec.State == v1alpha1.Absent {
			return true
		}
	}
	def, err := c.catalog().Get(name)
	if there == nil || err != nil || !Settled(def, there.Spec.Version, c.observed(name)) {
		return true
	}
	if slices.ContainsFunc(healthChecks(def), func(check *v1alpha1.Check) bool { return c.closed[checkKey{name, check.Name}] }) {
		return true
	}
	dependent, err := c.catalog().Get(of)
	return err == nil && (c.lagging(dependent, there) || c.hindering(name, dependent))
}

// lagging says whether a later version of an add-on needs another one at a version that it does not run.
func (c *cluster) lagging(def *v1alpha1.AddonDefinition, required *v1alpha1.Addon) bool {
	return slices.ContainsFunc(versionNames(def.Spec.Versions), func(version string) bool {
		return slices.ContainsFunc(c.ranges(def, version, required.Name), func(within string) bool { return !allows(within, required.Spec.Version) })
	})
}

// hindering says whether an add-on that runs can not do with a later version of another one.
func (c *cluster) hindering(name string, def *v1alpha1.AddonDefinition) bool {
	return slices.ContainsFunc(versionNames(def.Spec.Versions), func(version string) bool { return c.refused(name, def.Name, version) })
}

// checkListed checks that each entry of an Installer has come to an Addon as it is wanted, or that it is said why not.
func (c *cluster) checkListed(subject *v1alpha1.Installer) {
	resolution, plan := c.plan(subject)
	if subject.DeletionTimestamp != nil || Approve(subject, plan).Required != "" {
		return
	}
	if due := append(plan.Due(), plan.Keeps...); len(due) > 0 {
		c.Fatalf("nothing happens any more, and these changes are not made: %v", due)
	}
	problems := map[string]string{}
	for _, problem := range resolution.Problems {
		problems[problem.Addon] = problem.Message
	}
	for _, addon := range resolution.Addons {
		reason := plan.Waits(addon.Name)
		if there := c.addons[addon.Name]; reason == "" && (there == nil || !SpecEqual(there.Spec, addon.Spec)) {
			c.Fatalf("add-on %s of Installer %s is %v, should be %v, and nobody says why", addon.Name, subject.Name, there, addon.Spec)
		}
		named := func(name string) bool { return strings.Contains(reason, strconv.Quote(name)) }
		hinders := func(name string) bool { return named(name) && c.hindering(name, c.catalog().definitions[addon.Name]) }
		if reason != "" && !slices.ContainsFunc(c.reasons(problems), named) && !slices.ContainsFunc(sortedKeys(c.addons), hinders) {
			c.Fatalf("add-on %s is held, and nothing of this is there: %s", addon.Name, reason)
		}
	}
}

// reasons names the add-ons that may hold others in a plan: those with a problem, those that leave, and those that move.
func (c *cluster) reasons(problems map[string]string) []string {
	names, wanted := sortedKeys(problems), c.wanted()
	for name, addon := range c.addons {
		def, err := c.catalog().Get(name)
		_, listed := wanted[name]
		if !listed || err == nil && RunningVersion(def, c.observed(name)) != addon.Spec.Version {
			names = append(names, name)
		}
	}
	return names
}
