package flux

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kurlsh/addon-operator/addons"
)

// wordsShown is how many of the values or keys that a schema accepts are named.
const wordsShown = 6

// describe says what a schema accepts instead of a value. It has nothing of the value itself.
func describe(reason jsonschema.ErrorKind) string {
	switch reason := reason.(type) {
	case *kind.Type:
		return "must be " + strings.Join(typeNames(reason.Want...), " or ")
	case *kind.Enum:
		return "must be one of " + addons.FirstFew(literals(reason.Want), wordsShown)
	case *kind.Const:
		return "must be " + literals([]any{reason.Want})[0]
	case *kind.Pattern:
		return "must match the pattern " + reason.Want
	case *kind.Format:
		return "must be in the format " + reason.Want
	case *kind.FalseSchema:
		return "must not be set"
	}
	if limit := describeLimit(reason); limit != "" {
		return limit
	}
	return strings.TrimSuffix(fmt.Sprintf("is not as the schema asks for (%s)", strings.Join(reason.KeywordPath(), " ")), " ()")
}

// describeLimit says which limit of a schema a value is beyond; empty for another reason.
func describeLimit(reason jsonschema.ErrorKind) string {
	switch reason := reason.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(reason.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(reason.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(reason.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(reason.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(reason.Want)
	case *kind.MinLength:
		return "must be at least this long: " + strconv.Itoa(reason.Want)
	case *kind.MaxLength:
		return "must be at most this long: " + strconv.Itoa(reason.Want)
	case *kind.MinItems:
		return "must have at least this many items: " + strconv.Itoa(reason.Want)
	case *kind.MaxItems:
		return "must have at most this many items: " + strconv.Itoa(reason.Want)
	}
	return ""
}

// either puts together what several schemas accept, of which a value fits none. Empty texts are what cannot be said in a few words.
func either(texts []string) string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) == 0 || texts[0] == "" || len(texts) > wordsShown {
		return "has none of the forms that the schema allows"
	}
	return texts[0] + strings.ReplaceAll(strings.Join(append([]string{""}, texts[1:]...), " or "), " or must be ", " or ")
}

var yamlNames = map[string]string{"object": "a map", "array": "a list", "string": "a string", "number": "a number", "integer": "an integer", "boolean": "true or false", "null": "null"}

// typeNames has the types of JSON in the words that people use of YAML.
func typeNames(types ...string) []string {
	names := make([]string, 0, len(types))
	for _, name := range types {
		if known, ok := yamlNames[name]; ok {
			name = known
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// literals writes values as in JSON, sorted.
func literals(values []any) []string {
	list := make([]string, 0, len(values))
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte("?") // it was read from JSON, and can be written again
		}
		list = append(list, string(text))
	}
	slices.Sort(list)
	return list
}

func decimal(number *big.Rat) string {
	value, _ := number.Float64()
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// properties names the keys that a part of the schema lists, sorted; empty when there are none, or the part is not found.
func (s *schema) properties(location string) string {
	resource, pointer, _ := strings.Cut(location, "#")
	pointer, err := url.PathUnescape(pointer)
	root, _ := s.document.(map[string]any)
	if id, _ := root["$id"].(string); resource != schemaURL && resource != strings.TrimSuffix(id, "#") || err != nil {
		return ""
	}
	var keys []string
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if key != "" {
			keys = append(keys, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
	}
	found, _ := lookup(s.document, append(keys, "properties"))
	properties, _ := found.(map[string]any)
	return addons.FirstFew(slices.Sorted(maps.Keys(properties)), wordsShown)
}
