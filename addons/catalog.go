package addons

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Catalog holds the definitions of all known add-ons by name. It is read-only once made.
type Catalog struct {
	definitions map[string]*v1alpha1.AddonDefinition
	broken      map[string]error
	probes      map[string]map[string]*Probe // by add-on and check
	programs    map[string]*program
	digests     map[string]func() string
	requiring   map[string][]*v1alpha1.AddonDefinition
	rewording   map[string]bool // definitions with changed values
}

// NewCatalog makes a catalogue of the built-in definitions and those in the cluster; one in the cluster replaces the
// built-in one of the same name. A definition that does not pass ValidateDefinition stays known by name, and its users are
// told what is wrong with it.
func NewCatalog(builtin, cluster []v1alpha1.AddonDefinition) Catalog {
	return Catalog{}.Renew(builtin, cluster)
}

// Renew makes a catalogue as NewCatalog does, and takes over the expressions that this one has compiled: compiling those of hundreds of
// definitions anew after each change would take seconds.
func (c Catalog) Renew(builtin, cluster []v1alpha1.AddonDefinition) Catalog {
	compiler := newCompiler(c.programs)
	renewed := Catalog{definitions: map[string]*v1alpha1.AddonDefinition{}, broken: map[string]error{}, probes: map[string]map[string]*Probe{}, programs: compiler.programs, digests: map[string]func() string{}, rewording: map[string]bool{}}
	for _, layer := range [][]v1alpha1.AddonDefinition{builtin, cluster} {
		for i := range layer {
			name := layer[i].Name
			renewed.definitions[name] = &layer[i]
			renewed.digests[name] = sync.OnceValue(func() string { return digestOf(layer[i].Spec) })
			renewed.rewording[name] = changesValues(&layer[i])
			delete(renewed.broken, name)
			probes, errs := validateDefinition(&layer[i], compiler)
			renewed.probes[name] = probes
			if len(errs) > 0 {
				renewed.broken[name] = fmt.Errorf("the AddonDefinition %q is broken: %w; correct the definition", name, errs.ToAggregate())
			}
		}
	}
	renewed.requiring = renewed.findRequiring()
	return renewed
}

func (c Catalog) findRequiring() map[string][]*v1alpha1.AddonDefinition {
	requiring := map[string][]*v1alpha1.AddonDefinition{}
	for _, name := range c.Names() {
		def, err := c.Get(name)
		if err != nil {
			continue
		}
		for _, required := range NeededVersions(def) {
			requiring[required] = append(requiring[required], def)
		}
	}
	return requiring
}

// Probe returns a gate or health check of an add-on, ready to be evaluated; nil when there is none, or the definition is broken.
func (c Catalog) Probe(addon, check string) *Probe {
	if c.broken[addon] != nil {
		return nil
	}
	return c.probes[addon][check]
}

// Get returns the definition of an add-on. The error says whether there is none, with the nearest names, or what is wrong
// with the one there is.
func (c Catalog) Get(name string) (*v1alpha1.AddonDefinition, error) {
	if err := c.broken[name]; err != nil {
		return nil, err
	}
	if def := c.definitions[name]; def != nil {
		return def, nil
	}
	return nil, fmt.Errorf("add-on %q is not in the catalogue; %s", name, c.hint(name))
}

// Digest identifies what the definition of an add-on says; empty when there is none that can be used.
func (c Catalog) Digest(name string) string {
	if c.broken[name] != nil || c.digests[name] == nil {
		return ""
	}
	return c.digests[name]()
}

// Requiring lists the definitions of the add-ons that need another one in certain versions, sorted by name.
func (c Catalog) Requiring(name string) []*v1alpha1.AddonDefinition { return c.requiring[name] }

// Names of all add-ons in the catalogue, sorted.
func (c Catalog) Names() []string { return slices.Sorted(maps.Keys(c.definitions)) }

// hint names the add-ons that a misspelt name may have meant, or else what there is.
func (c Catalog) hint(name string) string {
	if near := nearest(name, c.Names()); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	if len(c.definitions) == 0 {
		return "the catalogue is empty: add an AddonDefinition"
	}
	return fmt.Sprintf("it has %s; add an AddonDefinition for anything else", abridged(c.Names()))
}

// nearest returns up to three candidates that differ from a word by a few letters, the nearest first.
func nearest(word string, candidates []string) []string {
	distance := func(candidate string) int { return levenshtein.ComputeDistance(word, candidate) }
	near := slices.DeleteFunc(slices.Clone(candidates), func(candidate string) bool {
		return distance(candidate) > max(2, len(word)/3) && !strings.Contains(candidate, word)
	})
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	return near[:min(3, len(near))]
}
