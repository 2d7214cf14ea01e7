package addons

import (
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Needs returns, sorted, the add-ons that come before one, given the Addons that are there: what it requires by name, there
// or not, and what orders it (optional requirements and capabilities) as long as that is not on its way out.
func Needs(def *v1alpha1.AddonDefinition, catalog Catalog, there map[string]*v1alpha1.Addon) []string {
	staying := map[string]*v1alpha1.AddonDefinition{}
	for name, addon := range there {
		if other, err := catalog.Get(name); err == nil && addon.Spec.State != v1alpha1.Absent {
			staying[name] = other
		}
	}
	names := Dependencies(def, staying)
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon != "" && !requirement.Optional && !slices.Contains(names, requirement.Addon) {
			names = append(names, requirement.Addon)
		}
	}
	slices.Sort(names)
	return names
}

// MayNeed says whether one add-on comes after another wherever both are there.
func MayNeed(def, other *v1alpha1.AddonDefinition) bool {
	return slices.Contains(Dependencies(def, map[string]*v1alpha1.AddonDefinition{other.Name: other}), other.Name)
}
