package addons

import (
	"maps"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Dependencies returns, sorted, which of the given add-ons come before one: those that it requires by name, optional or
// not, and those that provide a capability that it requires.
func Dependencies(def *v1alpha1.AddonDefinition, among map[string]*v1alpha1.AddonDefinition) []string {
	before := map[string]bool{}
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon != "" && among[requirement.Addon] != nil {
			before[requirement.Addon] = true
		}
		for name, other := range among {
			if requirement.Capability != "" && name != def.Name && slices.Contains(other.Spec.Provides, requirement.Capability) {
				before[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(before))
}

// sorter walks add-ons depth first, so that each comes after what it depends on.
type sorter struct {
	dependencies map[string][]string
	order        []string
	done         map[string]bool
	trail        []string          // the walk from a root to where we are
	cyclic       map[string]string // add-on on a cycle: the cycle, printed
}

// order returns the add-ons so that each comes after its dependencies, by name where nothing else decides. Every add-on on a
// cycle is left out of the order, and maps to the cycle as a printable path instead.
func order(dependencies map[string][]string) (ordered []string, cyclic map[string]string) {
	s := sorter{dependencies: dependencies, cyclic: map[string]string{}, done: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		s.visit(name)
	}
	ordered = slices.DeleteFunc(s.order, func(name string) bool { return s.cyclic[name] != "" })
	return ordered, s.cyclic
}

func (s *sorter) visit(name string) {
	if at := slices.Index(s.trail, name); at >= 0 {
		cycle := s.trail[at:]
		for _, member := range cycle {
			s.cyclic[member] = strings.Join(append(slices.Clone(cycle), name), " → ")
		}
		return
	}
	if _, known := s.dependencies[name]; !known || s.done[name] {
		return
	}
	s.trail = append(s.trail, name)
	for _, dependency := range s.dependencies[name] {
		s.visit(dependency)
	}
	s.trail = s.trail[:len(s.trail)-1]
	s.order = append(s.order, name)
	s.done[name] = true
}
