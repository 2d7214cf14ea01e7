package flux

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/kurlsh/addon-operator/addons"
)

// Refuses lists, sorted, what the values.schema.json of the chart and those of its subcharts refuse of the values that a release gets, as
// Helm would before it changed anything. Each text names the key and what is accepted. The chart's defaults take part. What the release
// takes from Secrets and ConfigMaps is not known: where there is such, only what it surely cannot put right counts.
func (c *Chart) Refuses(release addons.Release) []string {
	if c.unsure {
		return nil
	}
	inline := map[string]any{}
	if release.Values != nil {
		_ = json.Unmarshal(release.Values.Raw, &inline) // what is not a map was refused when it was written
	}
	values := addons.Merge(release.Defaults, inline)
	r := &chartReview{known: c.root.complete(values, nil, func([]string, *instance) bool { return true })}
	switch {
	case len(release.ValuesFrom) > 0:
		r.certain = inline
	case c.root.imports():
		r.certain = values
	}
	r.known = c.root.complete(values, nil, r.enabled)
	r.nulls = hasNull(r.known)
	r.chart(c.root, nil, r.certain)
	return slices.Sorted(maps.Keys(r.refused))
}

// chartReview goes through a chart and its subcharts.
type chartReview struct {
	known   map[string]any // values of the whole chart
	certain map[string]any // as in review, like nulls
	nulls   bool
	refused map[string]bool
}

// enabled says whether a subchart of the chart at a location is switched on.
func (r *chartReview) enabled(location []string, sub *instance) bool {
	values, _ := lookup(r.known, location)
	chart, _ := values.(map[string]any)
	tags, _ := r.known["tags"].(map[string]any)
	return sub.enabled(chart, tags)
}

// chart judges the values of a chart at a location, of which some are certain.
func (r *chartReview) chart(p *part, location []string, certain map[string]any) {
	found, _ := lookup(r.known, location)
	values, _ := found.(map[string]any)
	if p.schema != nil {
		for _, v := range (&review{schema: p.schema, values: values, certain: certain, nulls: r.nulls}).violations() {
			r.refuse(location, v)
		}
	}
	instances := p.instances()
	for i := range instances {
		sub := &instances[i]
		if !r.enabled(location, sub) || certain != nil && !sub.surely(certain) {
			continue
		}
		if _, isMap := values[sub.key].(map[string]any); !isMap {
			continue
		}
		r.chart(sub.part, below(location, sub.key), certainOf(sub, certain))
	}
}

// hasNull says whether there is a null anywhere.
func hasNull(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, nested := range value {
			if hasNull(nested) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return value == nil
}

// certainOf are those of the certain values of a chart that one of its subcharts gets.
func certainOf(sub *instance, certain map[string]any) map[string]any {
	if certain == nil {
		return nil
	}
	nested, isMap := certain[sub.key].(map[string]any)
	if !isMap {
		nested = map[string]any{}
	}
	if _, isMap := certain[globalKey].(map[string]any); isMap {
		return withGlobals(certain, nested)
	}
	return nested
}

// refuse notes a violation. Global values are named as the user sets them, for the whole chart.
func (r *chartReview) refuse(location []string, v violation) {
	at := slices.Concat(location, v.location)
	if len(v.location) > 0 && v.location[0] == globalKey {
		at = v.location
	}
	text := v.text
	if v.got != "" {
		text += ", not " + v.got
	}
	if len(at) > 0 {
		text = spell(r.known, at) + " " + text
	}
	if r.refused == nil {
		r.refused = map[string]bool{}
	}
	r.refused[text] = true
}
