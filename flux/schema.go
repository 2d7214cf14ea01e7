package flux

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaURL stands for a chart's values.schema.json.
const schemaURL = "chart:///values.schema.json"

// schema is a chart's values.schema.json.
type schema struct {
	compiled *jsonschema.Schema
	document any
}

// readSchema fails for a schema that refers to anything outside of itself: a chart's word is no reason to read files or to call anybody.
func readSchema(content []byte) (s *schema, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s, err = nil, fmt.Errorf("compiling it: %v", reason)
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return &schema{compiled: compiled, document: document}, nil
}

// violation is a value that a schema refuses.
type violation struct {
	location []string
	text     string
	got      string // what kind of value it is, where that is the matter
}

// review judges the values of one chart or subchart.
type review struct {
	schema *schema
	values map[string]any
	// certain are those of the values that the chart will surely get; nil if it will get all of them, and no others.
	certain map[string]any
	// nulls says that some values are null. Versions of Helm differ in which of these reach the schema.
	nulls bool
}

// violations lists what the schema refuses and will surely go on to refuse, whatever is not known of the values.
func (r *review) violations() []violation {
	var failure *jsonschema.ValidationError
	if !errors.As(r.schema.compiled.Validate(r.values), &failure) {
		return nil
	}
	return r.collect(failure)
}

// collect goes down to the causes of a failure.
func (r *review) collect(failure *jsonschema.ValidationError) []violation {
	if r.vague() && isConditional(failure.SchemaURL) {
		return nil // the condition may turn out otherwise
	}
	switch reason := failure.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		var list []violation
		for _, cause := range failure.Causes {
			list = append(list, r.collect(cause)...)
		}
		return list
	case *kind.AnyOf:
		return r.alternatives(failure)
	case *kind.OneOf:
		if len(reason.Subschemas) == 0 {
			return r.alternatives(failure)
		}
	case *kind.AdditionalProperties:
		return r.unknown(failure.SchemaURL, failure.InstanceLocation, reason.Properties)
	case *kind.Required:
		return r.missing(failure.InstanceLocation, reason.Missing)
	case *kind.PropertyNames:
		return r.misnamed(reason.Property)
	}
	if !r.isCertain(failure) {
		return nil
	}
	found := violation{location: failure.InstanceLocation, text: describe(failure.ErrorKind)}
	if reason, ok := failure.ErrorKind.(*kind.Type); ok {
		found.got = typeNames(reason.Got)[0]
	}
	return []violation{found}
}

// vague says whether it is not known of some keys if they will be there.
func (r *review) vague() bool { return r.certain != nil || r.nulls }

// isConditional says whether a part of a schema only holds if another one does, or if a key is there.
func isConditional(location string) bool {
	return slices.ContainsFunc([]string{"then", "else", "dependentSchemas", "dependencies"}, func(keyword string) bool {
		return strings.Contains(location+"/", "/"+keyword+"/")
	})
}

// isCertain leaves out nulls, and what hinges on keys that may be there or not.
func (r *review) isCertain(failure *jsonschema.ValidationError) bool {
	if value, _ := lookup(r.values, failure.InstanceLocation); value == nil {
		return false
	}
	switch failure.ErrorKind.(type) {
	case *kind.Dependency, *kind.DependentRequired, *kind.MaxProperties, *kind.Not, *kind.OneOf:
		return !r.vague()
	case *kind.MinProperties:
		return r.certain == nil
	}
	return r.given(failure.InstanceLocation)
}

func (r *review) given(location []string) bool {
	if r.certain == nil {
		return true
	}
	_, ok := lookup(r.certain, location)
	return ok
}

// alternatives is a value that fits none of several schemas. It is certain only if each of them surely refuses it.
func (r *review) alternatives(failure *jsonschema.ValidationError) []violation {
	var texts, got []string
	for _, cause := range failure.Causes {
		list := r.collect(cause)
		if len(list) == 0 {
			return nil
		}
		if len(list) > 1 || len(list[0].location) != len(failure.InstanceLocation) {
			texts, got = append(texts, ""), append(got, "")
			continue
		}
		texts, got = append(texts, list[0].text), append(got, list[0].got)
	}
	return []violation{{location: failure.InstanceLocation, text: either(texts), got: slices.Min(got)}}
}

// unknown are keys that a schema does not allow.
func (r *review) unknown(schema string, location, keys []string) []violation {
	text := "is not known to the chart"
	if known := r.schema.properties(schema); known != "" {
		text += ", which knows " + known
	}
	var list []violation
	for _, key := range keys {
		at := below(location, key)
		if value, _ := lookup(r.values, at); value != nil && r.given(at) {
			list = append(list, violation{location: at, text: text})
		}
	}
	return list
}

// misnamed is a key whose name a schema refuses. The library does not tell for sure in which map it is.
func (r *review) misnamed(key string) []violation {
	if r.certain != nil {
		return nil
	}
	return []violation{{text: fmt.Sprintf("the key %q has a name that the schema does not allow", key)}}
}

// missing are keys that a schema requires. What is not known may have them.
func (r *review) missing(location, keys []string) []violation {
	if r.certain != nil {
		return nil
	}
	var list []violation
	for _, key := range keys {
		list = append(list, violation{location: below(location, key), text: "is missing"})
	}
	return list
}
