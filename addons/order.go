package addons

import (
	"maps"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Dependencies returns, sorted, which of the given add-ons come before one: those that it requires by name, optional or
// not, and those that provide a capability that it requires. An add-on without a definition can only be required by name.
func Dependencies(def *v1alpha1.AddonDefinition, among map[string]*v1alpha1.AddonDefinition) []string {
	return dependencies(def, among, providers(among))
}

// providers lists the add-ons that provide each capability.
func providers(among map[string]*v1alpha1.AddonDefinition) map[string][]string {
	result := map[string][]string{}
	for name, def := range among {
		if def == nil {
			continue
		}
		for _, capability := range def.Spec.Provides {
			result[capability] = append(result[capability], name)
		}
	}
	return result
}

func dependencies(def *v1alpha1.AddonDefinition, among map[string]*v1alpha1.AddonDefinition, providers map[string][]string) []string {
	before := map[string]bool{}
	for _, requirement := range def.Spec.Requires {
		if _, there := among[requirement.Addon]; there {
			before[requirement.Addon] = true
		}
		if requirement.Capability == "" {
			continue
		}
		for _, name := range providers[requirement.Capability] {
			if name != def.Name {
				before[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(before))
}

// dependenciesAmong returns the dependencies of each of the given add-ons; one without a definition has none.
func dependenciesAmong(among map[string]*v1alpha1.AddonDefinition) map[string][]string {
	result := map[string][]string{}
	providers := providers(among)
	for name, def := range among {
		result[name] = nil
		if def != nil {
			result[name] = dependencies(def, among, providers)
		}
	}
	return result
}

// sorter finds the strongly connected components of the dependencies, by Tarjan's algorithm: it completes each after all that
// it depends on, which is the install order, and one of several add-ons is a knot of cycles.
type sorter struct {
	dependencies map[string][]string
	order        []string
	cyclic       map[string]string // add-on on a cycle: the shortest cycle through it, printed
	visited      map[string]int    // add-on: how many were visited before it, and itself
	earliest     map[string]int    // the first visited one that is known to be in the same component
	open         []string          // visited ones whose component is not complete
	done         map[string]bool
}

// order returns the add-ons so that each comes after its dependencies, by name where nothing else decides. Every add-on on a
// cycle is left out of the order, and maps to the cycle as a printable path instead.
func order(dependencies map[string][]string) (ordered []string, cyclic map[string]string) {
	s := sorter{
		dependencies: dependencies, cyclic: map[string]string{}, done: map[string]bool{},
		visited: map[string]int{}, earliest: map[string]int{},
	}
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		if s.visited[name] == 0 {
			s.visit(name)
		}
	}
	return s.order, s.cyclic
}

func (s *sorter) visit(name string) {
	s.visited[name] = len(s.visited) + 1
	s.earliest[name] = s.visited[name]
	start := len(s.open)
	s.open = append(s.open, name)
	for _, dependency := range s.dependencies[name] {
		if _, known := s.dependencies[dependency]; !known || s.done[dependency] {
			continue
		}
		if s.visited[dependency] == 0 {
			s.visit(dependency)
		}
		s.earliest[name] = min(s.earliest[name], s.earliest[dependency])
	}
	if s.earliest[name] == s.visited[name] {
		s.complete(slices.Clone(s.open[start:]))
		s.open = s.open[:start]
	}
}

func (s *sorter) complete(component []string) {
	for _, name := range component {
		s.done[name] = true
		if len(component) > 1 {
			s.cyclic[name] = s.cycle(name, component)
		}
	}
	if len(component) == 1 {
		s.order = append(s.order, component[0])
	}
}

// cycle walks from an add-on along dependencies of its component, breadth first, until it is back.
func (s *sorter) cycle(name string, component []string) string {
	seen := map[string]bool{}
	trails := [][]string{{name}}
	for len(trails) > 0 {
		trail := trails[0]
		trails = trails[1:]
		for _, dependency := range s.dependencies[trail[len(trail)-1]] {
			next := append(slices.Clone(trail), dependency)
			if dependency == name {
				return strings.Join(next, " → ")
			}
			if !seen[dependency] && slices.Contains(component, dependency) {
				seen[dependency] = true
				trails = append(trails, next)
			}
		}
	}
	return ""
}
