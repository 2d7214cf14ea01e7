package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func supported(paths ...string) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.SupportedValues = paths }
}

func TestTestedValues(t *testing.T) {
	t.Parallel()
	secret := []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
	for name, test := range map[string]struct {
		edits   []edit
		spec    v1alpha1.AddonSpec
		passed  bool
		message string
	}{
		"none are listed": {spec: v1alpha1.AddonSpec{Values: rawJSON(`{"a":1}`)}},
		"none are set":    {edits: []edit{supported("a")}, passed: true, message: "every value that is set is tested"},
		"all are tested": {edits: []edit{supported("a", "b.c", `d\.e`)}, spec: v1alpha1.AddonSpec{Values: rawJSON(`{"a":{"x":{"y":1}},"b":{"c":[1]},"d.e":null}`)},
			passed: true, message: "every value that is set is tested"},
		"some are not": {edits: []edit{supported("a.b")}, spec: v1alpha1.AddonSpec{Values: rawJSON(`{"z":1,"a":{"b":1,"c":null},"y":{"w":{},"v":[{"a":1}]}}`)},
			message: "values that are not tested, at your own risk (4): a.c, y.v, y.w, z"},
		"more than a tested one": {edits: []edit{supported("a.b")}, spec: v1alpha1.AddonSpec{Values: rawJSON(`{"a":null}`)},
			message: "values that are not tested, at your own risk (1): a"},
		"many are not": {edits: []edit{supported("x")}, spec: v1alpha1.AddonSpec{Values: rawJSON(`{"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`)},
			message: "values that are not tested, at your own risk (7): a, b, c, d, e and 2 more"},
		"from Secrets": {edits: []edit{supported("a")}, spec: v1alpha1.AddonSpec{Values: rawJSON(`{"a":1}`), ValuesFrom: secret},
			passed: true, message: "every value that is set is tested; what valuesFrom refers to is not looked into"},
		"of several releases": {
			edits: []edit{releases("operator", "cluster"), supported("operator:a", "cluster:b")},
			spec: v1alpha1.AddonSpec{Releases: []v1alpha1.ReleaseOverride{
				{Name: "cluster", Values: rawJSON(`{"a":1,"b":1}`), ValuesFrom: secret}, {Name: "operator", Values: rawJSON(`{"a":1,"b":1}`)},
			}},
			message: "values that are not tested, at your own risk (2): operator:b, cluster:a; what valuesFrom refers to is not looked into",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define("a", test.edits...)
			require.Empty(t, ValidateDefinition(&def))
			finding := testedValues(&def, &test.spec)
			if test.message == "" {
				assert.Nil(t, finding)
				return
			}
			assert.Equal(t, &Finding{Passed: test.passed, Message: test.message}, finding)
		})
	}
	assert.Nil(t, testedValues(nil, &v1alpha1.AddonSpec{}))
}

func TestUntestedValuesHoldNothing(t *testing.T) {
	t.Parallel()
	def := define("a", supported("b"))
	addon := present("default", "a@1.0.0")
	addon.Spec.Values = rawJSON(`{"c":1}`)
	o := Observation{Addon: addon, Definition: &def, Releases: map[string]Observed{"a": {Name: "a", Phase: PhaseSettled, AskedVersion: "1.0.0", ChartVersion: "1.0.0", Revision: 1}}}
	summary := Summarize(o, Decide(o))
	assert.Equal(t, v1alpha1.StateReady, summary.State)
	assert.Equal(t, &Finding{Message: "values that are not tested, at your own risk (1): c"}, summary.Values)
}

func TestSupportedValuesAreValidated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edits []edit
		errs  string
	}{
		"no path": {edits: []edit{supported("a.")},
			errs: `spec.supportedValues[0]: Invalid value: "a.": the path "a.": must be keys with a dot between them, such as persistence.size, and one is empty; write a dot that belongs to a key as \. instead`},
		"twice": {edits: []edit{supported("a", "b", "a")}, errs: `spec.supportedValues[2]: Duplicate value: "a"`},
		"with the only release": {edits: []edit{supported("a:b")},
			errs: `spec.supportedValues[0]: Invalid value: "a:b": the add-on has one release: leave out "a:"`},
		"a key with a colon": {edits: []edit{supported("x:b")}},
		"without a release": {edits: []edit{releases("a", "b"), supported("a:c", "c")},
			errs: `spec.supportedValues[1]: Invalid value: "c": must begin with one of the add-on's releases (a, b), as in a:persistence.size`},
		"with an unknown release": {edits: []edit{releases("a", "b"), supported("c:d")},
			errs: `spec.supportedValues[0]: Invalid value: "c:d": must begin with one of the add-on's releases (a, b), as in a:persistence.size`},
		"of each release": {edits: []edit{releases("a", "b"), supported("a:c", "b:c")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define("a", test.edits...)
			err := ValidateDefinition(&def).ToAggregate()
			if test.errs == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.errs)
		})
	}
}
