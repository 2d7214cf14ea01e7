package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// wanted gives the version that is asked for of each add-on that an Installer lists.
func (c *cluster) wanted() map[string]string {
	wanted := map[string]string{}
	for _, one := range c.installers {
		if one.DeletionTimestamp != nil {
			continue
		}
		for _, entry := range one.Spec.Addons {
			wanted[entry.Name] = entry.Version
		}
	}
	return wanted
}

func (c *cluster) checkPlan(subject *v1alpha1.Installer, resolution Resolution, plan Plan) {
	deleted, wanted := subject.DeletionTimestamp != nil, c.wanted()
	for _, change := range plan.Changes {
		_, listed := wanted[change.Addon]
		goes := change.Action == v1alpha1.ActionRemove || change.Action == v1alpha1.ActionOrphan
		if listed == goes {
			c.Fatalf("I6: %s of add-on %s, listed %v", change.Action, change.Addon, listed)
		}
		if deleted && subject.Annotations[v1alpha1.AnnotationConfirmDelete] != subject.Name {
			c.Fatalf("I6: %s of add-on %s, although nobody confirmed that Installer %s is to be deleted", change.Action, change.Addon, subject.Name)
		}
		if orphans := deleted && subject.Spec.DeletionPolicy == v1alpha1.DeletionOrphan; goes && orphans != (change.Action == v1alpha1.ActionOrphan) {
			c.Fatalf("I6: %s of add-on %s under policy %q", change.Action, change.Addon, subject.Spec.DeletionPolicy)
		}
	}
	for _, problem := range resolution.Problems {
		if slices.ContainsFunc(plan.Changes, func(change PlannedChange) bool { return change.Addon == problem.Addon && !c.putsBack(change) }) {
			c.Fatalf("I6: add-on %s changes, although %s", problem.Addon, problem.Message)
		}
	}
}

// putsBack says whether a change does nothing but end a removal.
func (c *cluster) putsBack(change PlannedChange) bool {
	addon := c.addons[change.Addon]
	if addon == nil || addon.Spec.State != v1alpha1.Absent {
		return false
	}
	spec := *addon.Spec.DeepCopy()
	spec.State = v1alpha1.Present
	return SpecEqual(spec, change.Spec)
}

// removalOf identifies a removal of an add-on that one edit of an Installer asks for; the next one of the same add-on is another.
func (c *cluster) removalOf(subject *v1alpha1.Installer, name string) string {
	edit := fmt.Sprintf("%s %s %d: ", subject.Name, subject.UID, subject.Generation)
	if addon := c.addons[name]; addon != nil {
		return edit + fmt.Sprintf("%s %s %d", name, addon.UID, addon.Generation)
	}
	return edit + name + ", which was deleted by hand"
}

// checkRemoval checks that a person approved exactly this removal, if it is one of too many.
func (c *cluster) checkRemoval(subject *v1alpha1.Installer, name string) {
	if subject.DeletionTimestamp != nil {
		return // checkPlan has checked the confirmation
	}
	wanted := c.wanted()
	all, leaving := 0, 0
	for _, other := range c.world().Addons {
		if other.Spec.Installer != subject.Name {
			continue
		}
		_, listed := wanted[other.Name]
		ours := slices.ContainsFunc(subject.Spec.Addons, func(entry v1alpha1.InstallerAddon) bool { return entry.Name == other.Name })
		switch {
		case !listed:
			all, leaving = all+1, leaving+1
		case ours:
			all++
		}
	}
	tooMany := leaving == all || all >= 3 && 2*leaving > all
	if tooMany && !c.approved[c.removalOf(subject, name)] {
		c.Fatalf("I6: add-on %s is removed, one of %d among %d, and nobody approved that", name, leaving, all)
	}
}

// checkUninstall checks what makes Flux uninstall a release, at the very moment.
func (c *cluster) checkUninstall(live *helmRelease) {
	def, err := c.catalog().Get(live.addon)
	switch {
	case err != nil:
		c.Fatalf("I1: uninstalls release %s, although %s", live.name, err)
	case live.suspendedBy != "":
		c.Fatalf("I3: uninstalls release %s, although it is suspended", live.name)
	case !c.open(def, v1alpha1.MomentRemove):
		c.Fatalf("I1: uninstalls release %s, although a gate is closed", live.name)
	case c.addons[live.addon].Spec.State == v1alpha1.Absent:
		c.checkDependents(live)
	default:
		c.checkAllowed(live, identity{})
	}
}

func (c *cluster) checkDependents(live *helmRelease) {
	for _, other := range c.releases {
		if other.addon != "" && slices.Contains(other.dependsOn, live.name) && other.uninstall() == UninstallUnderway {
			c.Fatalf("I1: uninstalls release %s, although %s depends on it", live.name, other.name)
		}
	}
}

// replacement identifies the change of a release into another one, or into none.
func replacement(live *helmRelease, by identity) string {
	if by == (identity{}) {
		return live.uid + " goes"
	}
	return fmt.Sprintf("%s %v %v", live.uid, live.installed, by)
}

func (c *cluster) checkAllowed(live *helmRelease, by identity) {
	if c.allowed[live.name] != replacement(live, by) {
		c.Fatalf("I1: release %s is replaced by %v, and nobody allowed that", live.name, by)
	}
	delete(c.allowed, live.name) // it holds once
}

func (c *cluster) checkWrite(live *helmRelease, release Release) {
	if live.suspendedBy != "" || live.deleting {
		c.Fatalf("I3: wrote release %s, which is suspended by %q, deleted %v", live.name, live.suspendedBy, live.deleting)
	}
	if live.deployed != "" && live.asked != release.ChartVersion && (c.waiting[live.name] || c.harmful[live.name]) {
		c.Fatalf("wrote release %s before its chart was looked into", live.name)
	}
	if by := identityOf(release); live.history && live.installed != by && live.askedFor != by {
		c.checkUninstallOf(live)
		c.checkAllowed(live, by)
	}
}

// checkUninstallOf checks a write on which Flux uninstalls the release before it installs another.
func (c *cluster) checkUninstallOf(live *helmRelease) {
	if def, err := c.catalog().Get(live.addon); err != nil || !c.open(def, v1alpha1.MomentRemove) {
		c.Fatalf("I1: replaces release %s, although a gate is closed", live.name)
	}
}

// checkTakeover checks that what somebody else installed is only taken over where the Installer says so.
func (c *cluster) checkTakeover(release Release, live *helmRelease) {
	switch {
	case live != nil && live.addon == release.Addon:
	case live != nil && live.addon != "":
		c.Fatalf("wrote release %s for add-on %s, and it is of add-on %s", live.name, release.Addon, live.addon)
	case c.fought[release.Name]:
		c.Fatalf("wrote release %s, although somebody fights over it", release.Name)
	case (live != nil || c.records[release.Name]) && !c.addons[release.Addon].Spec.Adopt:
		c.Fatalf("took release %s over, and nobody said so", release.Name)
	}
}

// checkHop checks a change of version against the version that was written before, and a first install.
func (c *cluster) checkHop(o Observation, d Decision) {
	name, before := o.Addon.Name, c.target[o.Addon.Name]
	moves := slices.ContainsFunc(d.Write, func(r Release) bool {
		live := c.releases[r.Name]
		return live != nil && !live.deleting && live.addon == name && live.asked != r.ChartVersion
	})
	switch {
	case len(d.Write) > 0 && !c.deployed(name):
		c.checkRequired(o, d.Version) // what runs and needs it otherwise does without it as it is
		c.checkInstall(o)
	case moves && d.Version != before:
		to := slices.Index(versionNames(o.Definition.Spec.Versions), d.Version)
		_, failing := firstIn(o, PhaseFailing)
		h := newHops(o.Definition)
		onward := Settled(o.Definition, before, o.Releases) && h.allow(ParseVersion(before), to) ||
			Settled(o.Definition, d.Running, o.Releases) && h.allow(ParseVersion(d.Running), to) // an install that was begun anew, and cut short
		overtakes := failing && d.Running != "" && h.allow(ParseVersion(d.Running), to) && ParseVersion(before).Compare(ParseVersion(d.Version)) < 0
		if !onward && !overtakes {
			c.Fatalf("I4: add-on %s moves from %s to %s while %v", name, before, d.Version, o.Releases)
		}
		if !passed(o, name, gatesAt(o.Definition, v1alpha1.MomentUpgrade)) || onward && !passed(o, name, healthChecks(o.Definition)) {
			c.Fatalf("I4: add-on %s moves from %s to %s with a gate closed or unhealthy: %v", name, before, d.Version, o.findings)
		}
		c.checkRequired(o, d.Version)
		c.checkDependencies(o, d.Version)
		c.checkNeeded(name, d.Version)
	}
}

// deployed says whether anything of an add-on is, whatever the operator knows of it.
func (c *cluster) deployed(addon string) bool {
	for _, live := range c.releases {
		if live.addon == addon && live.deployed != "" {
			return true
		}
	}
	return false
}

// checkInstall checks a first install: nothing of the add-on is there yet, or it is on its way out.
func (c *cluster) checkInstall(o Observation) {
	if len(staying(o.Releases)) > 0 {
		return
	}
	if !passed(o, o.Addon.Name, gatesAt(o.Definition, v1alpha1.MomentInstall)) {
		c.Fatalf("add-on %s is installed with a gate closed: %v", o.Addon.Name, o.findings)
	}
	for i := range o.Dependencies {
		dependency := &o.Dependencies[i]
		if def := dependency.Definition; def != nil && len(def.Spec.Health) > 0 && (!dependency.settled() || !passed(o, dependency.Name, healthChecks(def))) {
			c.Fatalf("I5: add-on %s is installed before %s is healthy", o.Addon.Name, dependency.Name)
		}
	}
}

func (c *cluster) checkDependencies(o Observation, version string) {
	for i := range o.Dependencies {
		dependency := &o.Dependencies[i]
		if !dependency.settled() || !passed(o, dependency.Name, healthChecks(dependency.Definition)) {
			c.Fatalf("I5: add-on %s moves to %s before %s has settled at %s, healthy", o.Addon.Name, version, dependency.Name, dependency.Desired)
		}
	}
}

// checkRequired checks that whatever a version requires is there, and runs as it needs it.
func (c *cluster) checkRequired(o Observation, version string) {
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
		for _, at := range []string{RunningVersion(def, c.observed(required.Name)), c.target[required.Name]} {
			for _, within := range c.ranges(o.Definition, version, required.Name) {
				if at != "" && !allows(within, at) {
					c.Fatalf("I5: add-on %s moves to %s while %s runs %q, not %s", o.Addon.Name, version, required.Name, at, within)
				}
			}
		}
	}
}

// ranges are those in which a version needs another add-on.
func (c *cluster) ranges(def *v1alpha1.AddonDefinition, version, other string) (ranges []string) {
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon == other && requirement.Version != "" {
			ranges = append(ranges, requirement.Version)
		}
	}
	for i := range def.Spec.Versions {
		for _, requirement := range def.Spec.Versions[i].Requires {
			if def.Spec.Versions[i].Version == version && requirement.Addon == other {
				ranges = append(ranges, requirement.Version)
			}
		}
	}
	return ranges
}

// refused says whether an add-on, by what of it runs or was written last, can not do with a version of another one.
func (c *cluster) refused(by, name, version string) bool {
	def, err := c.catalog().Get(by)
	if err != nil || len(c.observed(by)) == 0 {
		return false
	}
	versions := []string{RunningVersion(def, c.observed(by))}
	if addon := c.addons[by]; addon != nil && addon.Spec.State == v1alpha1.Present { // what is being uninstalled does not come back by itself
		versions = append(versions, c.target[by])
	}
	for _, at := range versions {
		if slices.ContainsFunc(c.ranges(def, at, name), func(within string) bool { return at != "" && !allows(within, version) }) {
			return true
		}
	}
	return false
}

// checkNeeded checks that no add-on that runs needs another version of one that moves.
func (c *cluster) checkNeeded(name, version string) {
	for _, other := range c.catalog().Names() {
		if c.refused(other, name, version) {
			c.Fatalf("I5: add-on %s moves to %s, and %s, which runs, can not do with that", name, version, other)
		}
	}
}
