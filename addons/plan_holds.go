package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// holds finds what keeps changes back.
type holds struct {
	world    World
	existing map[string]*v1alpha1.Addon
	leaving  []string
	causes   map[string]string // add-on that cannot be installed yet: the root cause
}

// change says why a change has to wait; empty when nothing holds it. An add-on is new where there is no Addon yet.
func (h *holds) change(resolution Resolution, change PlannedChange, addon *Resolved, running map[string]string) string {
	switch change.Action {
	case v1alpha1.ActionInstall:
		if h.existing[addon.Name] == nil {
			return h.install(addon)
		}
	case v1alpha1.ActionReconfigure:
		if name := moving(resolution, addon, running); name != "" {
			return fmt.Sprintf("its change waits until add-on %q, which it comes after, has moved on from %s", name, running[name])
		}
	}
	return ""
}

// moving names an add-on that comes before another one and that has yet to leave the version that runs: what changes together with it may
// rest on the new version. Flux would not wait, since the old one is ready.
func moving(resolution Resolution, addon *Resolved, running map[string]string) string {
	for i := range resolution.Addons {
		before := &resolution.Addons[i]
		if version := running[before.Name]; version != "" && version != before.Spec.Version && slices.Contains(addon.After, before.Name) {
			return before.Name
		}
	}
	return ""
}

// install says why a new add-on is not installed yet; empty when nothing holds it.
func (h *holds) install(addon *Resolved) string {
	for _, name := range addon.After {
		if cause := h.causes[name]; cause != "" {
			h.causes[addon.Name] = cause
			return fmt.Sprintf("waits for add-on %q: %s", name, cause)
		}
	}
	for _, name := range h.leaving {
		if h.conflict(addon.Name, name) || h.conflict(name, addon.Name) {
			cause := fmt.Sprintf("add-on %q conflicts with %q, which is being removed", addon.Name, name)
			h.causes[addon.Name] = cause
			return fmt.Sprintf("waits until add-on %q has gone: %s", name, cause)
		}
	}
	return ""
}

func (h *holds) conflict(name, other string) bool {
	def, err := h.world.Catalog.Get(name)
	return err == nil && slices.ContainsFunc(def.Spec.Conflicts, func(c v1alpha1.Conflict) bool { return c.Addon == other })
}
