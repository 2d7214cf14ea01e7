package flux_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// refusal is a chart, the values that a release of it gets, and what the chart refuses of them.
type refusal struct {
	schema   string            // of the chart, in YAML
	defaults string            // the chart's values.yaml
	more     map[string]string // further files of the package
	ours     string            // values of the definition
	theirs   string            // values of the user
	secret   bool              // whether the user has a Secret with values
	want     []string
}

func (c refusal) run(t *testing.T) {
	t.Helper()
	files := map[string]string{"demo/Chart.yaml": chartYAML, "demo/values.yaml": c.defaults}
	maps.Copy(files, c.more)
	if c.schema != "" {
		files["demo/values.schema.json"] = asJSON(t, c.schema)
	}
	chart, err := flux.ReadChart(bytes.NewReader(pack(t, files)))
	require.NoError(t, err)
	release := addons.Release{}
	require.NoError(t, yaml.Unmarshal([]byte(c.ours), &release.Defaults))
	if c.theirs != "" {
		release.Values = &apiextensionsv1.JSON{Raw: []byte(asJSON(t, c.theirs))}
	}
	if c.secret {
		release.ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
	}
	for range 5 {
		assert.Equal(t, c.want, chart.Refuses(release))
	}
}

func asJSON(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.True(t, json.Valid(converted))
	return string(converted)
}

func TestRefusesNamesTheKeyAndWhatIsAccepted(t *testing.T) {
	for name, test := range map[string]refusal{
		"nothing without a schema":   {theirs: "a: 1"},
		"nothing that is accepted":   {schema: "properties: {a: {type: integer}}", theirs: "{a: 1, b: 2}"},
		"another type":               {schema: "properties: {a: {type: integer}}", theirs: "{a: '1'}", want: []string{"a must be an integer, not a string"}},
		"another of several types":   {schema: "properties: {a: {type: [string, boolean]}}", theirs: "{a: []}", want: []string{"a must be a string or true or false, not a list"}},
		"a type of two alternatives": {schema: "properties: {a: {anyOf: [{type: string}, {type: integer}]}}", theirs: "{a: {}}", want: []string{"a must be a string or an integer, not a map"}},
		"none of many forms":         {schema: "properties: {a: {oneOf: [{required: [x]}, {type: string}]}}", theirs: "{a: {}}", want: []string{"a has none of the forms that the schema allows"}},
		"two of the forms":           {schema: "properties: {a: {oneOf: [{minimum: 1}, {type: number}]}}", theirs: "{a: 2}", want: []string{"a is not as the schema asks for (oneOf)"}},
		"deep down":                  {schema: "properties: {a: {properties: {b.c: {items: {properties: {d: {type: number}}}}}}}", theirs: "{a: {b.c: [{d: 1}, {d: x}]}}", want: []string{`a.b\.c[1].d must be a number, not a string`}},
		"not among the choices":      {schema: "properties: {a: {enum: [Z, A, 1, null]}}", theirs: "{a: B}", want: []string{`a must be one of "A", "Z", 1, null`}},
		"not among many choices":     {schema: "properties: {a: {enum: [8, 7, 6, 5, 4, 3, 2, 1]}}", theirs: "{a: B}", want: []string{`a must be one of 1, 2, 3, 4, 5, 6 and 2 more`}},
		"limits": {schema: "properties: {a: {minimum: 1}, b: {maximum: 2.5}, c: {minLength: 2}, d: {maxItems: 1}, e: {pattern: '^x'}, f: {const: x}, g: false, h: {format: ipv4}}\n$schema: http://json-schema.org/draft-07/schema#",
			theirs: "{a: 0, b: 3, c: x, d: [1, 2], e: w, f: z, g: 1, h: x}",
			want: []string{"a must be at least 1", "b must be at most 2.5", "c must be at least this long: 2", "d must have at most this many items: 1",
				"e must match the pattern ^x", `f must be "x"`, "g must not be set", "h must be in the format ipv4"}},
		"more limits": {schema: "properties: {a: {exclusiveMinimum: 1}, b: {exclusiveMaximum: 2}, c: {maxLength: 1}, d: {minItems: 1}, e: {multipleOf: 2}, f: {uniqueItems: true}}",
			theirs: "{a: 1, b: 2, c: xx, d: [], e: 3, f: [1, 1]}",
			want: []string{"a must be more than 1", "b must be less than 2", "c must be at most this long: 1", "d must have at least this many items: 1", "e must be a multiple of 2",
				"f is not as the schema asks for (uniqueItems)"}},
		"a key that it does not know":      {schema: "additionalProperties: false\nproperties: {b: {}, a: {}}", theirs: "{c: 1}", want: []string{"c is not known to the chart, which knows a, b"}},
		"a key where none is known":        {schema: "properties: {a: {additionalProperties: false}}", theirs: "{a: {b: 1}}", want: []string{"a.b is not known to the chart"}},
		"a key beside those of a referral": {schema: "properties: {a: {$ref: '#/$defs/x~y'}}\n$defs: {x~y: {}}", theirs: "{a: {b: 1}}"},
		"a key that a referral does not know": {schema: "properties: {a: {$ref: '#/$defs/x y'}}\n$defs: {x y: {additionalProperties: false, properties: {c: {}}}}",
			theirs: "{a: {b: 1}}", want: []string{"a.b is not known to the chart, which knows c"}},
		"a missing key":         {schema: "properties: {a: {required: [b, c]}}", theirs: "{a: {b: 1}}", want: []string{"a.c is missing"}},
		"a key with a bad name": {schema: "properties: {x: {propertyNames: {pattern: '^a'}}}", theirs: "{x: {b: 1}, y: {z: 1}}", want: []string{`the key "b" has a name that the schema does not allow`}},
		"what a condition asks": {schema: "if: {properties: {a: {const: x}}}\nthen: {required: [b]}", theirs: "{a: x}", want: []string{"b is missing"}},
		"no null":               {schema: "properties: {a: {type: string}, b: {enum: [x]}, c: {anyOf: [{type: string}]}}\nadditionalProperties: false", theirs: "{a: null, b: null, c: null, d: null}"},
		"not what a null decides": {schema: "dependentRequired: {a: [b]}\ndependentSchemas: {a: {required: [c]}}\nif: {required: [d]}\nthen: {required: [e]}\nnot: {required: [f]}\nmaxProperties: 1",
			defaults: "{a: null, d: null, f: null}"},
		"a missing key beside a null": {schema: "required: [a, b]", defaults: "a: null", want: []string{"b is missing"}},
		"the definition's value":      {schema: "properties: {a: {type: integer}}", ours: "{a: x}", want: []string{"a must be an integer, not a string"}},
		"not what is overridden":      {schema: "properties: {a: {type: integer}}", ours: "{a: x}", defaults: "a: y", theirs: "{a: 1}"},
		"the chart's default":         {schema: "properties: {a: {type: integer}}", defaults: "a: x", want: []string{"a must be an integer, not a string"}},
		"a default that a null deletes": {schema: "required: [a]\nproperties: {b: {required: [c]}}", defaults: "{a: 1, b: {c: 1, d: 1}}", theirs: "{a: null, b: {c: null}}",
			want: []string{"a is missing", "b.c is missing"}},
		"not what a default fills in": {schema: "required: [a]\nproperties: {b: {required: [c]}}", defaults: "{a: 1, b: {c: 1, d: 1}}", theirs: "{b: {d: 2}}"},
	} {
		t.Run(name, test.run)
	}
}

func TestRefusesOnlyWhatSecretsCannotPutRight(t *testing.T) {
	for name, test := range map[string]refusal{
		"a user's value":                  {schema: "properties: {a: {properties: {b: {type: integer}}}}", theirs: "{a: {b: x}}", secret: true, want: []string{"a.b must be an integer, not a string"}},
		"a user's list":                   {schema: "properties: {a: {items: {type: integer}}}", theirs: "{a: [x]}", secret: true, want: []string{"a[0] must be an integer, not a string"}},
		"a user's unknown key":            {schema: "additionalProperties: false", theirs: "{b: x}", ours: "{a: x}", secret: true, want: []string{"b is not known to the chart"}},
		"a user's value of two forms":     {schema: "properties: {a: {anyOf: [{type: integer}, {type: boolean}]}}", theirs: "{a: x}", secret: true, want: []string{"a must be an integer or true or false, not a string"}},
		"not a definition's value":        {schema: "properties: {a: {type: integer}}", ours: "{a: x}", defaults: "a: y", secret: true},
		"not a missing key":               {schema: "required: [a]\nproperties: {b: {required: [c]}}", theirs: "{b: {}}", secret: true},
		"not a form with a missing key":   {schema: "properties: {a: {anyOf: [{required: [x]}, {type: integer}]}}", theirs: "{a: {}}", secret: true},
		"not what a condition asks":       {schema: "if: {properties: {a: {const: x}}}\nthen: {properties: {b: {type: integer}}}", theirs: "{b: x}", secret: true},
		"not what depends on another key": {schema: "dependentRequired: {a: [b]}\nproperties: {c: {not: {required: [d]}}}\nminProperties: 3", theirs: "{a: x, c: {d: 1}}", secret: true},
	} {
		t.Run(name, test.run)
	}
}

// subchart is the package of a chart with the subchart "sub".
func subchart(metadata, schema, values string) map[string]string {
	return map[string]string{
		"demo/Chart.yaml":                    chartYAML + metadata,
		"demo/charts/sub/Chart.yaml":         "name: sub\nversion: 1.0.0\n",
		"demo/charts/sub/values.yaml":        values,
		"demo/charts/sub/templates/a.txt":    "",
		"demo/charts/README.md":              "about the subcharts",
		"demo/charts/sub/values.schema.json": schema,
	}
}

func TestRefusesForSubcharts(t *testing.T) {
	integers := `{"additionalProperties": {"type": "integer"}, "properties": {"global": {"properties": {"g": {"type": "integer"}}}, "enabled": {}}}`
	const size, other = "sub.size must be an integer, not a string", "other.size must be an integer, not a string"
	packed := map[string]string{"demo/charts/sub-1.tgz": string(pack(t, map[string]string{
		"sub/Chart.yaml": "name: sub\nversion: 1.0.0", "sub/values.schema.json": integers, "sub/charts/deep/Chart.yaml": "name: deep", "sub/charts/deep/values.schema.json": integers,
	}))}
	optional := "dependencies: [{name: sub, condition: 'sub.enabled, b'}]"
	for name, test := range map[string]refusal{
		"under its key":                   {more: subchart("", integers, ""), theirs: "{sub: {size: x}, size: x}", want: []string{size}},
		"in a package":                    {more: packed, theirs: "{sub: {deep: {size: x}}}", want: []string{"sub.deep must be an integer, not a map", "sub.deep.size must be an integer, not a string"}},
		"its default":                     {more: subchart("", integers, "size: x"), want: []string{size}},
		"its default, overridden":         {more: subchart("", integers, "size: x"), theirs: "sub: {size: 1}"},
		"its default, deleted":            {more: subchart("", integers, "size: x"), theirs: "sub: {size: null}"},
		"its default, in the chart above": {more: subchart("", integers, ""), defaults: "sub: {size: x}", want: []string{size}},
		"deleted where both have one":     {more: subchart("", integers, "size: x"), defaults: "sub: {size: y}", theirs: "sub: {size: null}"},
		"global values":                   {more: subchart("", integers, ""), theirs: "global: {g: x}", want: []string{"global.g must be an integer, not a string"}},
		"global values are always there":  {more: subchart("", `{"additionalProperties": false}`, ""), want: []string{"global is not known to the chart"}},
		"as the chart above sees it":      {schema: "properties: {sub: {required: [size]}}", more: subchart("", "", "size: 1")},
		"switched off":                    {more: subchart(optional, integers, "size: x"), theirs: "sub: {enabled: false}"},
		"switched off by default":         {more: subchart(optional, integers, "{size: x, enabled: false}")},
		"switched on":                     {more: subchart(optional, integers, "{size: x, enabled: false}"), theirs: "sub: {enabled: true}", want: []string{size}},
		"by its second condition":         {more: subchart(optional, integers, "size: x"), theirs: "b: false"},
		"switched off by a tag":           {more: subchart("dependencies: [{name: sub, tags: [t]}]", integers, "size: x"), theirs: "tags: {t: false}"},
		"on by one of its tags":           {more: subchart("dependencies: [{name: sub, tags: [t, u]}]", integers, "size: x"), theirs: "tags: {t: false, u: true}", want: []string{size}},
		"by another name": {more: subchart("dependencies: [{name: sub, alias: other}, {name: sub}]", integers, ""), theirs: "{sub: {size: 1}, other: {size: x}}",
			want: []string{other}},
		"switched on for sure":   {more: subchart(optional, integers, ""), theirs: "sub: {enabled: true, size: x}", secret: true, want: []string{size}},
		"perhaps switched off":   {more: subchart(optional, integers, ""), theirs: "sub: {size: x}", secret: true},
		"never switched off":     {more: subchart("", integers, "more: x"), theirs: "sub: {size: x}", secret: true, want: []string{size}},
		"global values for sure": {more: subchart("", integers, ""), theirs: "global: {g: x}", secret: true, want: []string{"global.g must be an integer, not a string"}},
		"values that it gives the chart above": {schema: "required: [port]\nproperties: {a: {type: integer}}", theirs: "{a: x}",
			more: subchart("dependencies: [{name: sub, import-values: [{child: ports, parent: '.'}]}]", "", "ports: {port: 1}"), want: []string{"a must be an integer, not a string"}},
		"not a map": {more: subchart("", integers, ""), theirs: "sub: 1"},
		"in old charts": {more: func() map[string]string {
			files := subchart("", integers, "size: x")
			files["demo/requirements.yaml"] = optional
			return files
		}(), theirs: "sub: {enabled: false}"},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range test.more {
				if text == "" {
					delete(test.more, file)
				}
			}
			test.run(t)
		})
	}
}

func TestWhatCannotBeReadRefusesNothing(t *testing.T) {
	for name, test := range map[string]struct{ file, text, unread string }{
		"no JSON":                      {"values.schema.json", "type: object", "values.schema.json: invalid character"},
		"no schema":                    {"values.schema.json", `{"type": "thing"}`, "values.schema.json: "},
		"a schema elsewhere":           {"values.schema.json", `{"$ref": "https://schemas.example.com/x.json"}`, "values.schema.json: "},
		"a schema in a file":           {"values.schema.json", `{"$ref": "file:///etc/hostname"}`, "values.schema.json: "},
		"a schema beside it":           {"values.schema.json", `{"$ref": "defs.json"}`, "values.schema.json: "},
		"a dialect that nobody knows":  {"values.schema.json", `{"$schema": "https://schemas.example.com/meta"}`, "values.schema.json: "},
		"a pattern that is no pattern": {"values.schema.json", `{"properties": {"a": {"pattern": "(?=x)"}}}`, "values.schema.json: "},
		"broken values":                {"values.yaml", "a: [", "values.yaml: "},
		"values that are a list":       {"values.yaml", "[a]", "values.yaml: "},
		"a broken subchart":            {"charts/sub/Chart.yaml", "name: [", "charts/sub/Chart.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"demo/Chart.yaml": chartYAML, "demo/values.schema.json": `{"required": ["b"]}`, "demo/crds/a.yaml": crd("a.example.com", "v1")}
			files["demo/"+test.file] = test.text
			chart, err := flux.ReadChart(bytes.NewReader(pack(t, files)))
			require.NoError(t, err)
			assert.Contains(t, chart.Unread, test.unread)
			assert.Empty(t, chart.Refuses(addons.Release{}))
			assert.True(t, chart.Brings("a.example.com"), "the rest of the package counts")
		})
	}
}

func FuzzRefuses(f *testing.F) {
	f.Add([]byte(`{"properties": {"a": {"type": "integer"}}, "additionalProperties": false}`), []byte("a: x"), []byte(`{"b": [1]}`))
	f.Add([]byte(`{"$ref": "#/$defs/a", "$defs": {"a": {"oneOf": [{"$ref": "#"}, {"if": true, "then": false}]}}}`), []byte("sub: 1"), []byte(`{"sub": null}`))
	f.Fuzz(func(t *testing.T, schema, values, given []byte) {
		if len(schema)+len(values)+len(given) > 1<<12 {
			return
		}
		chart, err := flux.ReadChart(bytes.NewReader(pack(t, map[string]string{
			"demo/Chart.yaml": chartYAML + "dependencies: [{name: sub, condition: sub.on}]", "demo/values.schema.json": string(schema), "demo/values.yaml": string(values),
			"demo/charts/sub/Chart.yaml": "name: sub", "demo/charts/sub/values.schema.json": string(schema), "demo/charts/sub/values.yaml": string(values),
		})))
		require.NoError(t, err)
		release := addons.Release{Values: &apiextensionsv1.JSON{Raw: given}}
		known := chart.Refuses(release)
		release.ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
		if len(known) == 0 {
			assert.Empty(t, chart.Refuses(release), "what is not known makes nothing worse")
		}
	})
}
