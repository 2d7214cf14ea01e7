package addons

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// withGate gives a definition a gate for removal.
func withGate(check *v1alpha1.Check, edits ...func(*v1alpha1.Gate)) edit {
	return func(def *v1alpha1.AddonDefinition) {
		gate := v1alpha1.Gate{Check: *check, When: v1alpha1.MomentRemove}
		for _, apply := range edits {
			apply(&gate)
		}
		def.Spec.Gates = append(def.Spec.Gates, gate)
	}
}

func withHealth(check *v1alpha1.Check) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Health = append(def.Spec.Health, *check) }
}

func TestChecksAreValidated(t *testing.T) {
	t.Parallel()
	const at = "spec.gates[no-volumes-left]."
	expression := func(text string) edit { return withGate(check(text, "")) }
	message := func(text string) edit { return withGate(check("true", text)) }
	query := func(name string, apply func(*v1alpha1.ResourceQuery)) edit {
		return withGate(check("true", ""), func(gate *v1alpha1.Gate) {
			query := v1alpha1.ResourceQuery{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster"}
			apply(&query)
			gate.Resources = map[string]v1alpha1.ResourceQuery{name: query}
		})
	}
	none := func(*v1alpha1.ResourceQuery) {}
	for name, test := range map[string]struct {
		edit edit
		errs string
	}{
		"valid":              {edit: withGate(check(noVolumesLeft, noVolumesLeftMessage))},
		"valid health check": {edit: withHealth(check(noVolumesLeft, noVolumesLeftMessage))},
		"everything in a query": {edit: query("clusters", func(q *v1alpha1.ResourceQuery) {
			q.Namespace, q.Name, q.Selector = "rook", "my.cluster", &metav1.LabelSelector{}
		})},
		"result known only live":  {edit: expression(`pvs[0].spec.paused`)},
		"syntax error":            {edit: expression("pvs.all(p,\n  p.spec.x ="), errs: at + `expression: Invalid value: "pvs.all(p, p.spec.x =": line 2, column 12: Syntax error: token recognition error at: '='; line 2, column 13: Syntax error: missing ')' at '<EOF>'`},
		"result of another type":  {edit: expression(`pvs.size()`), errs: at + `expression: Invalid value: "pvs.size()": must give true or false, but gives the type int`},
		"operands of two types":   {edit: expression(`addon.name == 1`), errs: at + `expression: Invalid value: "addon.name == 1": line 1, column 12: found no matching overload for '_==_' applied to '(string, int)'`},
		"unknown variable":        {edit: expression(`pv.size() == 0`), errs: at + `expression: Invalid value: "pv.size() == 0": line 1, column 1: undeclared reference to 'pv' (there are addon, nodes, pvs)`},
		"unknown function":        {edit: expression(`pvs.sized() == 0`), errs: at + `expression: Invalid value: "pvs.sized() == 0": line 1, column 10: undeclared reference to 'sized' (there are addon, nodes, pvs)`},
		"pattern that is none":    {edit: expression(`addon.name.matches("(")`), errs: at + "expression: Invalid value: \"addon.name.matches(\\\"(\\\")\": line 1, column 20: invalid matches argument"},
		"message of another type": {edit: message(`pvs.size()`), errs: at + `message: Invalid value: "pvs.size()": must give text, but gives the type int`},
		"no expression":           {edit: expression(""), errs: at + `expression: Required value: text in CEL that is true or false`},
		"two of one name": {
			edit: func(def *v1alpha1.AddonDefinition) {
				withHealth(check("true", ""))(def)
				withGate(check("true", ""))(def)
			},
			errs: at + `name: Duplicate value: "no-volumes-left"`,
		},
		"name":                            {edit: withGate(check("true", ""), func(g *v1alpha1.Gate) { g.Name = "No" }), errs: `spec.gates[No].name: Invalid value: "No": must be lower case letters, digits and dashes, with a letter or digit at both ends`},
		"unknown moment":                  {edit: withGate(check("true", ""), func(g *v1alpha1.Gate) { g.When = "Rollback" }), errs: at + `when: Unsupported value: "Rollback": supported values: "Install", "Upgrade", "Remove"`},
		"negative time":                   {edit: withGate(check("true", ""), func(g *v1alpha1.Gate) { g.StableFor = &metav1.Duration{Duration: -time.Second} }), errs: at + `stableFor: Invalid value: "-1s": must not be negative`},
		"no resources":                    {edit: withGate(check("true", ""), func(g *v1alpha1.Gate) { g.Resources = nil }), errs: at + `resources: Required value: a check looks at objects of at least one kind`},
		"resource that is no variable":    {edit: query("my-pvs", none), errs: at + `resources[my-pvs]: Invalid value: "my-pvs": names of resources are variables: a lower case letter, then up to 31 letters, digits and underscores`},
		"resource of a taken name":        {edit: query("addon", none), errs: at + `resources[addon]: Invalid value: "addon": names of resources are variables, and this word has another meaning in expressions`},
		"resource named as a CEL word":    {edit: query("namespace", none), errs: at + `resources[namespace]: Invalid value: "namespace": names of resources are variables, and this word has another meaning in expressions`},
		"resource named as a CEL type":    {edit: query("list", none), errs: at + `resources[list]: Invalid value: "list": names of resources are variables, and this word has another meaning in expressions`},
		"apiVersion of three parts":       {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.APIVersion = "a/b/c" }), errs: at + `resources[a].apiVersion: Invalid value: "a/b/c": must be a version, such as v1, or a group and a version, such as apps/v1`},
		"apiVersion that is only a group": {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.APIVersion = "ceph.rook.io" }), errs: at + `resources[a].apiVersion: Invalid value: "ceph.rook.io": must be a version, such as v1, or a group and a version, such as apps/v1`},
		"no apiVersion":                   {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.APIVersion = "" }), errs: at + `resources[a].apiVersion: Invalid value: "": must be a version, such as v1, or a group and a version, such as apps/v1`},
		"Secrets":                         {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.APIVersion, q.Kind = "v1", "Secret" }), errs: at + `resources[a].kind: Forbidden: checks do not look at Secrets: a message would show to everybody what is in them`},
		"kind":                            {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.Kind = "apps/Deployment" }), errs: at + `resources[a].kind: Invalid value: "apps/Deployment": must be the name of a kind, such as PersistentVolume`},
		"namespace":                       {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.Namespace = "a.b" }), errs: at + `resources[a].namespace: Invalid value: "a.b": must be lower case letters, digits and dashes, with a letter or digit at both ends`},
		"name of an object":               {edit: query("a", func(q *v1alpha1.ResourceQuery) { q.Name = "a/b" }), errs: at + `resources[a].name: Invalid value: "a/b": may not contain '/'`},
		"selector": {edit: query("a", func(q *v1alpha1.ResourceQuery) {
			q.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		}), errs: at + `resources[a].selector: Invalid value: "<error>": "Near" is not a valid label selector operator`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define("a", test.edit)
			err := ValidateDefinition(&def).ToAggregate()
			if test.errs == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.errs)
		})
	}
}

func TestCatalogKeepsProbes(t *testing.T) {
	t.Parallel()
	builtin := []v1alpha1.AddonDefinition{define("a", withGate(check("true", "'b'"))), define("b", withHealth(check("pvs.size() == 0", ""))), define("c")}
	catalog := NewCatalog(builtin, nil)
	require.NotNil(t, catalog.Probe("a", "no-volumes-left"))
	assert.True(t, catalog.Probe("a", "no-volumes-left").Gate)
	assert.False(t, catalog.Probe("b", "no-volumes-left").Gate)
	assert.Nil(t, catalog.Probe("a", "other"))
	assert.Nil(t, catalog.Probe("c", "no-volumes-left"))
	assert.Nil(t, catalog.Probe("d", "no-volumes-left"))
	assert.Equal(t, Finding{Message: "b"}, NewCatalog([]v1alpha1.AddonDefinition{define("a", withGate(check("false", "'b'")))}, nil).Probe("a", "no-volumes-left").Evaluate(volumes(), Subject{}))

	renewed := catalog.Renew(builtin, []v1alpha1.AddonDefinition{define("b", withHealth(check("pvs.size() == 1", ""))), define("a", withGate(check("tru", "'b'")))})
	assert.Nil(t, renewed.Probe("a", "no-volumes-left"), "the definition is broken")
	_, err := renewed.Get("a")
	require.ErrorContains(t, err, `the AddonDefinition "a" is broken: spec.gates[no-volumes-left].expression: Invalid value: "tru": line 1, column 1: undeclared reference to 'tru'`)
	assert.Equal(t, "pvs.size() == 1", renewed.Probe("b", "no-volumes-left").Check.Expression)

	again := renewed.Renew(builtin, nil)
	assert.Same(t, catalog.Probe("a", "no-volumes-left").expression, again.Probe("a", "no-volumes-left").expression, "compiled once")
	assert.Len(t, again.programs, 3, "what nobody needs any more is forgotten")
}

// BenchmarkCatalog measures what a change of one definition costs among many with checks: what an operator that starts has to compile, and
// what has been compiled before.
func BenchmarkCatalog(b *testing.B) {
	var definitions []v1alpha1.AddonDefinition
	for i := range 1000 {
		name := fmt.Sprintf("addon-%d", i)
		definitions = append(definitions, define(name, withGate(check(noVolumesLeft+fmt.Sprintf(" && pvs.size() < %d", i), noVolumesLeftMessage)),
			func(def *v1alpha1.AddonDefinition) {
				health := *check(fmt.Sprintf("nodes.size() > %d", i), "")
				health.Name = "health"
				withHealth(&health)(def)
			}))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			NewCatalog(definitions, nil)
		}
	})
	before := NewCatalog(definitions, nil)
	b.Run("renewed", func(b *testing.B) {
		for b.Loop() {
			before = before.Renew(definitions, nil)
		}
	})
}
