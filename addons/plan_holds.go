package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// awaitedByChange names what a change of values has to wait for: an add-on that comes before and that has yet to leave the version that
// runs. What changes together with it may rest on the new version, and Flux would not wait, since the old one is ready.
func (p *planner) awaitedByChange(addon *Resolved) string {
	for i := range p.resolution.Addons {
		before := &p.resolution.Addons[i]
		if version := p.running[before.Name]; version != "" && version != before.Spec.Version && slices.Contains(addon.After, before.Name) {
			return fmt.Sprintf("its change waits until add-on %q, which it comes after, has moved on from %s", before.Name, version)
		}
	}
	return ""
}

// awaitedByInstall says why a new add-on is not installed yet; empty when nothing holds it.
func (p *planner) awaitedByInstall(addon *Resolved) string {
	for _, name := range addon.After {
		if cause := p.causes[name]; cause != "" {
			p.causes[addon.Name] = cause
			return fmt.Sprintf("waits for add-on %q: %s", name, cause)
		}
	}
	for _, name := range p.leaving {
		if p.conflict(addon.Name, name) || p.conflict(name, addon.Name) {
			cause := fmt.Sprintf("add-on %q conflicts with %q, which is being removed", addon.Name, name)
			p.causes[addon.Name] = cause
			return fmt.Sprintf("waits until add-on %q has gone: %s", name, cause)
		}
	}
	return p.awaitedByOptional(addon.Name, addon.Spec.Version)
}

// awaitedByOptional says which add-on that runs has to move before a new one comes: it gets on without that one, but not with this version.
func (p *planner) awaitedByOptional(name, version string) string {
	for _, other := range p.world.Addons {
		def, err := p.world.Catalog.Get(other.Name)
		if err != nil || !slices.ContainsFunc(def.Spec.Requires, func(r v1alpha1.Requirement) bool { return r.Addon == name && r.Optional }) {
			continue
		}
		if err := newLimits(Limits{Needs: NeedsAt(def, p.running[other.Name], name)}).checkNeeds(version); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (p *planner) conflict(name, other string) bool {
	def, err := p.world.Catalog.Get(name)
	return err == nil && slices.ContainsFunc(def.Spec.Conflicts, func(c v1alpha1.Conflict) bool { return c.Addon == other })
}
