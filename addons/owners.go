package addons

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Owners tells which Installer each add-on belongs to: the one that runs it for as long as it lists it, and otherwise the
// oldest that lists it. An add-on that nobody lists is not in the map. Passing from one Installer to another is thus a change
// of owner, never a removal and an install.
func Owners(installers []*v1alpha1.Installer, existing []*v1alpha1.Addon) map[string]string {
	byAge := slices.DeleteFunc(slices.Clone(installers), func(i *v1alpha1.Installer) bool { return i.DeletionTimestamp != nil })
	slices.SortFunc(byAge, func(a, b *v1alpha1.Installer) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	running := map[string]string{}
	for _, addon := range existing {
		running[addon.Name] = addon.Spec.Installer
	}
	owners := map[string]string{}
	for _, installer := range byAge {
		for i := range installer.Spec.Addons {
			name := installer.Spec.Addons[i].Name
			if owners[name] == "" || running[name] == installer.Name {
				owners[name] = installer.Name
			}
		}
	}
	return owners
}
