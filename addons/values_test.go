package addons

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ base, over, merged string }{
		"maps merge":             {`{"a":{"b":1,"c":2}}`, `{"a":{"c":3,"d":4}}`, `{"a":{"b":1,"c":3,"d":4}}`},
		"lists replace":          {`{"a":[1,2,3]}`, `{"a":[4]}`, `{"a":[4]}`},
		"scalars replace":        {`{"a":1}`, `{"a":"x"}`, `{"a":"x"}`},
		"a map replaces a list":  {`{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"a scalar replaces":      {`{"a":{"b":1}}`, `{"a":1}`, `{"a":1}`},
		"null stays":             {`{"a":{"b":1}}`, `{"a":null}`, `{"a":null}`},
		"null below is replaced": {`{"a":null}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"nested null stays":      {`{"a":{"b":1}}`, `{"a":{"b":null}}`, `{"a":{"b":null}}`},
		"an empty map adds none": {`{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, err := json.Marshal(Merge(parseValues(t, test.base), parseValues(t, test.over)))
			require.NoError(t, err)
			assert.JSONEq(t, test.merged, string(merged))
		})
	}
	assert.Equal(t, map[string]any{}, Merge(nil, nil))
}

func parseValues(t *testing.T, text string) (values map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &values))
	return values
}

// someValues draws maps of few keys, so that merged ones often meet.
func someValues() *rapid.Generator[map[string]any] {
	return nestedValues(3)
}

func nestedValues(depth int) *rapid.Generator[map[string]any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Float64Range(0, 9).AsAny(), rapid.SampledFrom([]string{"", "x"}).AsAny(),
		rapid.Just[any]([]any{1.0, map[string]any{"a": nil}}),
	}
	if depth > 0 {
		nested := rapid.Custom(func(t *rapid.T) any { return nestedValues(depth-1).Draw(t, "nested") })
		scalars = append(scalars, nested, nested, nested)
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.OneOf(scalars...), 0, 3)
}

func TestMergeLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := someValues().Draw(t, "a"), someValues().Draw(t, "b"), someValues().Draw(t, "c")
		beforeA, beforeB := cloneMaps(a), cloneMaps(b)
		merged := Merge(a, b)
		require.Equal(t, beforeA, a, "arguments stay as they are")
		require.Equal(t, beforeB, b, "arguments stay as they are")
		require.Equal(t, a, Merge(a, nil), "nothing over something is that")
		require.Equal(t, a, Merge(nil, a), "something over nothing is that")
		require.Equal(t, a, Merge(a, a), "over itself it stays the same")
		require.True(t, contains(merged, b), "%v over %v is %v: what is above wins", b, a, merged)
		for key := range a {
			require.Contains(t, merged, key, "no key is lost, not even one of a null")
		}
		if !clashes(a, b) && !clashes(b, c) && !clashes(a, c) {
			require.Equal(t, Merge(Merge(a, b), c), Merge(a, Merge(b, c)), "layers may be put together in any order")
		}
		scribble(merged)
		require.Equal(t, beforeA, a, "the result shares no map with the arguments")
		require.Equal(t, beforeB, b, "the result shares no map with the arguments")
	})
}

// contains says whether all that is in one map is in another.
func contains(whole, part map[string]any) bool {
	for key, value := range part {
		below, isMap := value.(map[string]any)
		above, areMaps := whole[key].(map[string]any)
		if isMap && areMaps && contains(above, below) {
			continue
		}
		if there, ok := whole[key]; !ok || !reflect.DeepEqual(there, value) {
			return false
		}
	}
	return true
}

// clashes says whether two maps have a map and something else under the same key, where which comes first matters.
func clashes(a, b map[string]any) bool {
	for key, value := range b {
		other, ok := a[key]
		below, isMap := value.(map[string]any)
		above, wasMap := other.(map[string]any)
		if ok && (isMap != wasMap || isMap && clashes(above, below)) {
			return true
		}
	}
	return false
}

func scribble(values map[string]any) {
	for key, value := range values {
		if nested, ok := value.(map[string]any); ok {
			scribble(nested)
		}
		values[key] = "scribbled"
	}
	values["new"] = true
}

func TestReleases(t *testing.T) {
	t.Parallel()
	def := define("rook", releases("operator", "cluster", "later"), versions("1.0.0", "2.0.0"),
		charted("1.0.0", map[string]string{"operator": "v1.0.0", "cluster": "v1.0.0"}))
	operator, cluster := &def.Spec.Releases[0], &def.Spec.Releases[1]
	operator.Values = rawJSON(`{"image":{"tag":"old","repository":"rook"},"debug":true,"list":[1,2]}`)
	operator.NamespaceLabels = map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
	operator.Chart.SecretRef = &v1alpha1.LocalReference{Name: "upstream"}
	cluster.Timeout = &metav1.Duration{Duration: 20 * time.Minute}
	cluster.CRDs, cluster.OnFailure, cluster.DriftDetection = v1alpha1.CRDSkip, v1alpha1.FailureRollback, v1alpha1.DriftWarn
	cluster.DriftIgnorePaths, cluster.Test = []string{"/spec/replicas"}, true
	first := def.Spec.Versions[0].Releases["operator"]
	first.Values = rawJSON(`{"image":{"tag":"v1.0.0"},"debug":null}`)
	def.Spec.Versions[0].Releases["operator"] = first

	override := v1alpha1.ReleaseOverride{Name: "cluster", Values: rawJSON(`{"cephClusterSpec":null}`), ValuesFrom: []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}}
	spec := &v1alpha1.AddonSpec{Releases: []v1alpha1.ReleaseOverride{override}}
	list := Releases(&def, spec, "1.0.0", []string{"cert-manager"})
	require.Len(t, list, 2, "a release that the version does not list is left out")
	assert.Equal(t, Release{
		Addon: "rook", Name: "operator", Namespace: "rook", NamespaceLabels: operator.NamespaceLabels,
		Repository: Repository{URL: "https://charts.example.com", SecretRef: "upstream"},
		Chart:      "operator", ChartVersion: "v1.0.0",
		CRDs: v1alpha1.CRDCreateReplace, Timeout: DefaultTimeout, OnFailure: v1alpha1.FailureRetry, Drift: v1alpha1.DriftDisabled,
		Defaults:  map[string]any{"image": map[string]any{"tag": "v1.0.0", "repository": "rook"}, "debug": nil, "list": []any{1.0, 2.0}},
		DependsOn: []string{"cert-manager"},
	}, list[0], "defaults: the version's over the release's, with nulls; nothing of the user")
	assert.Equal(t, Release{
		Addon: "rook", Name: "cluster", Namespace: "rook", Repository: Repository{URL: "https://charts.example.com"},
		Chart: "cluster", ChartVersion: "v1.0.0",
		CRDs: v1alpha1.CRDSkip, Timeout: 20 * time.Minute, OnFailure: v1alpha1.FailureRollback, Test: true,
		Drift: v1alpha1.DriftWarn, DriftIgnore: []string{"/spec/replicas"},
		Defaults: map[string]any{}, Values: override.Values, ValuesFrom: override.ValuesFrom,
		DependsOn: []string{"operator"},
	}, list[1], "the user's layers stay apart")
	assert.Equal(t, "cluster", LastRelease(&def, "1.0.0"))
	assert.Equal(t, "later", LastRelease(&def, "2.0.0"))
	assert.Empty(t, LastRelease(&def, "3.0.0"))
}

func TestReleaseOfOneTakesTheAddonsValues(t *testing.T) {
	t.Parallel()
	def := define("minio")
	def.Spec.Releases[0].Chart.SecretRef = &v1alpha1.LocalReference{Name: "upstream"}
	spec := &v1alpha1.AddonSpec{
		Values: rawJSON(`{"mode":"standalone"}`), ValuesFrom: []v1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "c"}},
		Charts: &v1alpha1.Charts{
			Mirror: "oci://registry.local/charts", Insecure: true,
			SecretRef: &v1alpha1.LocalReference{Name: "credentials"}, CertSecretRef: &v1alpha1.LocalReference{Name: "ca"},
		},
	}
	list := Releases(&def, spec, "1.0.0", nil)
	require.Len(t, list, 1)
	assert.Equal(t, spec.Values, list[0].Values)
	assert.Equal(t, spec.ValuesFrom, list[0].ValuesFrom)
	assert.Equal(t, Repository{URL: "oci://registry.local/charts", SecretRef: "credentials", CertSecretRef: "ca", Insecure: true}, list[0].Repository,
		"the mirror takes nothing over from the repository it stands in for")
	assert.Empty(t, Releases(&def, spec, "2.0.0", nil))
}
