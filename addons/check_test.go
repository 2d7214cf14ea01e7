package addons

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// check looks at volumes and at nodes.
func check(expression, message string) *v1alpha1.Check {
	return &v1alpha1.Check{
		Name: "no-volumes-left", Expression: expression, Message: message,
		Resources: map[string]v1alpha1.ResourceQuery{"pvs": {APIVersion: "v1", Kind: "PersistentVolume"}, "nodes": {APIVersion: "v1", Kind: "Node"}},
	}
}

func probe(t require.TestingT, expression, message string) *Probe {
	p, errs := NewProbe(field.NewPath("spec", "gates").Key("no-volumes-left"), check(expression, message))
	require.Empty(t, errs)
	return p
}

// volumes are persistent volumes of a storage add-on.
func volumes(names ...string) map[string][]map[string]any {
	var list []map[string]any
	for _, name := range names {
		list = append(list, map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolume",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"capacity": map[string]any{"storage": "10Gi"}, "storageClassName": "rook",
				"csi": map[string]any{"driver": "rook-ceph.rbd.csi.ceph.com", "volumeHandle": "0001-" + name},
			},
			"status": map[string]any{"phase": "Bound", "retries": int64(3), "share": 0.5},
		})
	}
	return map[string][]map[string]any{"pvs": list, "nodes": nil}
}

// A gate as a storage add-on would have it.
const (
	noVolumesLeft        = `pvs.all(p, !has(p.spec.csi) || !p.spec.csi.driver.endsWith("rbd.csi.ceph.com"))`
	noVolumesLeftMessage = `cel.bind(left, pvs.filter(p, has(p.spec.csi) && p.spec.csi.driver.endsWith("rbd.csi.ceph.com")).map(p, p.metadata.name),
  "%d volumes are still in %s: %s%s; move them with: kubectl installer migrate volumes --from rook".format([
    left.size(), addon.name, left.slice(0, [3, left.size()].min()).join(", "), left.size() > 3 ? ", …" : ""]))`
)

func TestChecksAreEvaluated(t *testing.T) {
	t.Parallel()
	removal := Subject{Name: "rook", From: "1.18.0"}
	demands := func(problem, expression string) string {
		return `check "no-volumes-left" is not passed: ` + problem + `it demands ` + expression
	}
	for name, test := range map[string]struct {
		expression, message string
		facts               map[string][]map[string]any
		passed              bool
		says                string
	}{
		"passed":                     {expression: `true`, message: `"never seen"`, passed: true},
		"nothing there":              {expression: noVolumesLeft, message: noVolumesLeftMessage, facts: volumes(), passed: true},
		"one volume":                 {expression: noVolumesLeft, message: noVolumesLeftMessage, facts: volumes("a"), says: "1 volumes are still in rook: a; move them with: kubectl installer migrate volumes --from rook"},
		"many volumes":               {expression: noVolumesLeft, message: noVolumesLeftMessage, facts: volumes("a", "b", "c", "d", "e"), says: "5 volumes are still in rook: a, b, c, …; move them with: kubectl installer migrate volumes --from rook"},
		"versions":                   {expression: `semver(addon.from).isLessThan(semver("1.19.0")) && addon.to == ""`, passed: true},
		"quantities":                 {expression: `pvs.all(p, quantity(p.spec.capacity.storage).isGreaterThan(quantity("9Gi")))`, passed: true},
		"numbers":                    {expression: `pvs.all(p, p.status.retries < 4 && p.status.share > 0 && p.status.retries < 3.5)`, passed: true},
		"a field of type bool":       {expression: `pvs[0].metadata == pvs[0].metadata`, passed: true},
		"no message":                 {expression: `pvs.size() == 0`, says: demands("", "pvs.size() == 0")},
		"division by zero":           {expression: `1 / pvs[0].metadata.name.indexOf("a") == 1`, says: `check "no-volumes-left" is not passed: its expression cannot be evaluated: division by zero; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`},
		"field that is not there":    {expression: `pvs.all(p, p.spec.nfs.server == "a")`, says: `check "no-volumes-left" is not passed: its expression cannot be evaluated: no such key: nfs; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook", for example by asking first whether there is such a field, with has()`},
		"index out of range":         {expression: `pvs[7].spec.x == 1`, says: `check "no-volumes-left" is not passed: its expression cannot be evaluated: index out of bounds: 7; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`},
		"operator of the wrong type": {expression: `pvs.all(p, p.spec + 1 == 2)`, says: `check "no-volumes-left" is not passed: its expression cannot be evaluated: no such overload: _+_; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`},
		"result of the wrong type":   {expression: `pvs[0].metadata.name`, says: `check "no-volumes-left" is not passed: its expression gives text instead of true or false; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`},
		"result of null":             {expression: `dyn(null)`, says: `check "no-volumes-left" is not passed: its expression gives null instead of true or false; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`},
		"message that fails":         {expression: `false`, message: `pvs[0].spec.nfs.server`, says: demands(`its message cannot be evaluated: no such key: nfs; correct spec.gates[no-volumes-left].message of the AddonDefinition "rook", for example by asking first whether there is such a field, with has(); `, "false")},
		"message of the wrong type":  {expression: `false`, message: `pvs[0].spec`, says: demands(`its message gives the type map instead of text; correct spec.gates[no-volumes-left].message of the AddonDefinition "rook"; `, "false")},
		"empty message":              {expression: `false`, message: `" \n "`, says: demands(`its message is empty; correct spec.gates[no-volumes-left].message of the AddonDefinition "rook"; `, "false")},
		"message of several lines":   {expression: `false`, message: `"a\n\tb\x00 c\u2028"`, says: "a b c"},
		"facts that were not read":   {expression: `true`, facts: map[string][]map[string]any{"nodes": nil}, says: `check "no-volumes-left" is not passed: its resource "pvs" (kind PersistentVolume) cannot be read: nobody tried`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := test.facts
			if facts == nil {
				facts = volumes("a")
			}
			p := probe(t, test.expression, test.message)
			assert.Equal(t, Finding{Passed: test.passed, Message: test.says}, p.Evaluate(facts, removal))
			assert.Equal(t, Finding{Passed: test.passed, Message: test.says}, p.Evaluate(facts, removal), "a second time")
		})
	}
}

func TestEvaluationIsLimited(t *testing.T) {
	t.Parallel()
	facts := volumes(strings.Fields(strings.Repeat("pvc-0 ", 10_000))...)
	const advice = `: narrow the resources by selector, namespace or name, and avoid loops in loops; correct spec.gates[no-volumes-left].expression of the AddonDefinition "rook"`
	for name, test := range map[string]struct {
		expression string
		says       string
	}{
		"loop":                          {expression: noVolumesLeft, says: `10000 volumes are still in rook: pvc-0, pvc-0, pvc-0, …; move them with: kubectl installer migrate volumes --from rook`},
		"list in a loop":                {expression: `pvs.all(p, !(p.metadata in pvs))`, says: `check "no-volumes-left" is not passed: its expression costs more than the limit of 3000000` + advice},
		"loop in a loop, nothing in it": {expression: `pvs.all(p, pvs.all(q, true))`, says: `check "no-volumes-left" is not passed: its expression takes more than 200000 turns of loops` + advice},
		"loop in a loop, result unused": {expression: `pvs.all(p, pvs.all(q, true)) || true`, says: `check "no-volumes-left" is not passed: its expression takes more than 200000 turns of loops` + advice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, Finding{Message: test.says}, probe(t, test.expression, noVolumesLeftMessage).Evaluate(facts, Subject{Name: "rook"}))
		})
	}
	long := probe(t, "false", `pvs.map(p, p.metadata.name).join("é")`).Evaluate(facts, Subject{Name: "rook"}).Message
	assert.LessOrEqual(t, len(long), 1024)
	assert.Greater(t, len(long), 1000)
	assert.True(t, utf8.ValidString(long) && strings.HasSuffix(long, "…"), long)
}

// Whatever objects there are, evaluating does not panic, and passes nothing but what is true.
func TestOnlyTruthPasses(t *testing.T) {
	t.Parallel()
	var value *rapid.Generator[any]
	names := rapid.SampledFrom([]string{"metadata", "name", "spec", "status", "csi", "driver", "x"})
	value = rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny(),
		rapid.Deferred(func() *rapid.Generator[any] { return rapid.SliceOfN(value, 0, 3).AsAny() }),
		rapid.Deferred(func() *rapid.Generator[any] { return rapid.MapOfN(names, value, 0, 4).AsAny() }),
	)
	expressions := []string{
		noVolumesLeft, noVolumesLeftMessage, `pvs.all(p, p.x)`, `pvs[0].spec.x`, `pvs[0].spec.x.y == pvs[1].x`, `pvs.exists(p, p.status.x in p.spec.x)`,
		`pvs.map(p, p.x).sum() > 0`, `pvs.map(p, p.metadata.name).join(",")`, `pvs.sortBy(p, p.x)[0].x`, `pvs.all(p, quantity(p.x).isGreaterThan(quantity("1")))`,
		`pvs.map(p, p.spec).flatten().distinct() == []`, `pvs.all(p, p.?spec.?x.orValue(true))`, `pvs[0].x.matches(pvs[0].spec.x)`, `1 / pvs[0].x == 1`,
		`semver(pvs[0].x).major() == 1`, `duration(pvs[0].x) > duration("1s")`, `pvs.transformMap(i, p, p.x)[0]`, `"%s %d %.3f".format([pvs[0], pvs[1].x, pvs[2].x])`,
	}
	rapid.Check(t, func(t *rapid.T) {
		facts := map[string][]map[string]any{"nodes": nil, "pvs": rapid.SliceOfN(rapid.MapOfN(names, value, 0, 4), 0, 4).Draw(t, "pvs")}
		p, errs := NewProbe(field.NewPath("spec"), check(rapid.SampledFrom(expressions).Draw(t, "expression"), rapid.SampledFrom(expressions).Draw(t, "message")))
		if len(errs) > 0 {
			return
		}
		finding := p.Evaluate(facts, Subject{Name: "a"})
		require.Equal(t, finding.Passed, finding.Message == "")
		require.LessOrEqual(t, len(finding.Message), 1024)
		require.NotContains(t, finding.Message, "\n")
		truth, err := p.expression.run(map[string]any{"pvs": facts["pvs"], "nodes": facts["nodes"], "addon": map[string]string{"name": "a", "from": "", "to": ""}})
		require.Equal(t, finding.Passed, err == nil && truth.Value() == true)
	})
}

// FuzzExpressions looks for text on which the compiler or an evaluation panics.
func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{noVolumesLeft, noVolumesLeftMessage, "", "(", "pvs.map(p,", "'", "1/0 == 1", "pvs[-1].a", "nodes == pvs", "\x00", "{1: pvs}", "size(addon) > 2"} {
		f.Add(seed, seed)
	}
	facts := volumes("a", "b")
	f.Fuzz(func(t *testing.T, expression, message string) {
		p, errs := NewProbe(field.NewPath("spec"), check(expression, message))
		require.NotEqual(t, p == nil, len(errs) == 0)
		if p != nil {
			finding := p.Evaluate(facts, Subject{Name: "a"})
			require.Equal(t, finding.Passed, finding.Message == "")
		}
	})
}
