package flux

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
)

// globalKey is the key of the values that a chart shares with its subcharts.
const globalKey = "global"

// part is a chart or a subchart of it, with what Helm makes of values for it.
type part struct {
	name         string
	dependencies []dependency
	values       map[string]any
	schema       *schema // nil when it has none that can be read
	subcharts    []*part
}

// dependency is what a chart says of one of its subcharts.
type dependency struct {
	Name         string   `json:"name"`
	Alias        string   `json:"alias"`
	Condition    string   `json:"condition"`
	Tags         []string `json:"tags"`
	ImportValues []any    `json:"import-values"`
}

// instance is a subchart under the key of its values.
type instance struct {
	*part
	dependency

	key string
}

// link puts the parts of a chart together, by their folders.
func link(parts map[string]*part) *part {
	for _, folder := range slices.Sorted(maps.Keys(parts)) {
		if folder == "" || parts[folder].name == "" {
			continue
		}
		above := path.Dir(path.Dir(folder))
		if above == "." {
			above = ""
		}
		if parent := parts[above]; parent != nil {
			parent.subcharts = append(parent.subcharts, parts[folder])
		}
	}
	return parts[""]
}

func (p *part) readMetadata(content []byte) error {
	var metadata struct {
		Name         string       `json:"name"`
		Dependencies []dependency `json:"dependencies"`
	}
	if err := yaml.Unmarshal(content, &metadata); err != nil {
		return err
	}
	if metadata.Name != "" {
		p.name = metadata.Name
	}
	p.dependencies = append(p.dependencies, metadata.Dependencies...)
	return nil
}

// instances lists the subcharts. One may be there several times under other names; one that the chart says nothing of is there as it is.
func (p *part) instances() []instance {
	var list []instance
	for _, sub := range p.subcharts {
		named := false
		for _, d := range p.dependencies {
			if d.Name != sub.name {
				continue
			}
			named = true
			list = append(list, instance{part: sub, dependency: d, key: cmp.Or(d.Alias, sub.name)})
		}
		if !named {
			list = append(list, instance{part: sub, key: sub.name})
		}
	}
	return list
}

// imports says whether a chart takes values over from a subchart, so that it has values that nobody gave it.
func (p *part) imports() bool {
	return slices.ContainsFunc(p.dependencies, func(d dependency) bool { return len(d.ImportValues) > 0 }) ||
		slices.ContainsFunc(p.subcharts, (*part).imports)
}

// enabled says whether a subchart is switched on by its tags and conditions, of which the first that is set decides.
func (i *instance) enabled(values, tags map[string]any) bool {
	on := true
	for _, tag := range i.Tags {
		if set, ok := tags[tag].(bool); ok {
			on = set
			if set {
				break
			}
		}
	}
	for condition := range strings.SplitSeq(i.Condition, ",") {
		set, _ := lookup(values, strings.Split(strings.TrimSpace(condition), "."))
		if set, isBool := set.(bool); isBool {
			return set
		}
	}
	return on
}

// surely says whether a subchart is switched on whatever is not known of the values, of which some are certain.
func (i *instance) surely(certain map[string]any) bool {
	if i.Condition == "" {
		return len(i.Tags) == 0
	}
	first, _, _ := strings.Cut(i.Condition, ",")
	set, _ := lookup(certain, strings.Split(strings.TrimSpace(first), "."))
	return set == true
}

// complete is what a chart gets if it is given values: its defaults below them, a null deletes one, and each subchart that is used has its
// own under its key, with the global ones. Whether one is used may depend on where the chart is in the whole.
func (p *part) complete(given map[string]any, location []string, used func(location []string, sub *instance) bool) map[string]any {
	instances := p.instances()
	isSubchart := func(key string) bool {
		return slices.ContainsFunc(instances, func(i instance) bool { return i.key == key })
	}
	values := overlay(p.values, given, false, isSubchart)
	for i := range instances {
		sub := &instances[i]
		nested, isMap := values[sub.key].(map[string]any)
		if (values[sub.key] == nil || isMap) && used(location, sub) {
			values[sub.key] = sub.complete(withGlobals(values, nested), below(location, sub.key), used)
		}
	}
	return values
}

// overlay lays values over a chart's defaults. Where nulls are kept, somebody else has them delete their own defaults.
func overlay(defaults, given map[string]any, keepNulls bool, isSubchart func(string) bool) map[string]any {
	values := maps.Clone(defaults)
	if values == nil {
		values = map[string]any{}
	}
	for key, value := range given {
		below, isDefault := values[key]
		nested, isMap := value.(map[string]any)
		under, wasMap := below.(map[string]any)
		switch {
		case value == nil && isDefault && !keepNulls:
			delete(values, key)
		case isMap && wasMap:
			values[key] = overlay(under, nested, keepNulls || isSubchart(key), func(string) bool { return false })
		default:
			values[key] = value
		}
	}
	return values
}

// withGlobals gives a subchart the global values of the chart above it, which win over its own. Those that are no maps are left alone.
func withGlobals(above, below map[string]any) map[string]any {
	shared, fit := globals(above)
	own, fits := globals(below)
	if !fit || !fits {
		return below
	}
	values := maps.Clone(below)
	if values == nil {
		values = map[string]any{}
	}
	values[globalKey] = addons.Merge(own, shared)
	return values
}

// globals returns the global values in a chart's; false when they are no map.
func globals(values map[string]any) (map[string]any, bool) {
	found, there := values[globalKey]
	global, isMap := found.(map[string]any)
	return global, isMap || !there
}

// lookup finds a value by keys of maps and indices of lists.
func lookup(value any, location []string) (any, bool) {
	for _, key := range location {
		switch container := value.(type) {
		case map[string]any:
			nested, ok := container[key]
			if !ok {
				return nil, false
			}
			value = nested
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index < 0 || index >= len(container) {
				return nil, false
			}
			value = container[index]
		default:
			return nil, false
		}
	}
	return value, true
}

// spell writes where a value is, as in `hosts[0].name`.
func spell(values any, location []string) string {
	var text strings.Builder
	for i, key := range location {
		container, _ := lookup(values, location[:i])
		_, isList := container.([]any)
		switch {
		case isList:
			text.WriteString("[" + key + "]")
			continue
		case i > 0:
			text.WriteString(".")
		}
		text.WriteString(addons.ValuePath{key}.String())
	}
	return text.String()
}

// below is the location of a key in a map.
func below(location []string, key string) []string {
	return append(slices.Clip(location), key)
}
