package addons

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// longPaths are definitions that make much work for a path. The CRD allows for 256 versions; a definition in a file may have more, and 450
// have some 100,000 hops.
func longPaths(size int) map[string]v1alpha1.AddonDefinition {
	name := func(i int) string { return fmt.Sprintf("1.%d.%d", i/4, i%4) }
	var names []string
	for i := range size {
		names = append(names, name(i))
	}
	each := func(from func(i int) string) edit {
		return func(def *v1alpha1.AddonDefinition) {
			for i := range def.Spec.Versions {
				def.Spec.Versions[i].UpgradeFrom = from(i)
			}
		}
	}
	return map[string]v1alpha1.AddonDefinition{
		"minors":         define("minors", versions(names...)),
		"all hops":       define("all-hops", versions(names...), each(func(int) string { return ">=1.0.0" })),
		"one by one":     define("one-by-one", versions(names...), each(func(i int) string { return name(max(0, i-1)) })),
		"none to target": define("none", versions(names...), each(func(i int) string { return ">=1." + fmt.Sprint(i/(size-1)*1000) })),
		"gap in the middle": define("gap", versions(names...), each(func(i int) string {
			if i == size/2 {
				return "0.9.0"
			}
			return name(max(0, i-1))
		})),
		"all but the first withdrawn": define("withdrawn", versions(names...), func(def *v1alpha1.AddonDefinition) {
			for i := 1; i < size; i++ {
				def.Spec.Versions[i].Withdrawn = "it loses data"
			}
		}),
	}
}

func BenchmarkPath(b *testing.B) {
	for _, size := range []int{20, 256, 450} {
		definitions := longPaths(size)
		for _, name := range sortedKeys(definitions) {
			def := definitions[name]
			to := def.Spec.Versions[size-1].Version
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				for b.Loop() {
					path, err := Path(&def, "1.0.0", to, Limits{Kubernetes: "1.33.0", Needs: []Need{{Addon: "x", Running: "1.0.0", Range: ">=1.0.0 <2"}}})
					if (err == nil) != (len(path) > 0) {
						b.Fatal(path, err)
					}
				}
			})
		}
	}
}

// The work for a path grows with the versions, and not with the hops between them, let alone with the ways through these: allocations stand
// for work, since time would depend on the machine's other work.
func TestLongPathsTakeLinearWork(t *testing.T) {
	work := func(def v1alpha1.AddonDefinition) float64 {
		last := def.Spec.Versions[len(def.Spec.Versions)-1].Version
		return testing.AllocsPerRun(1, func() { _, _ = Path(&def, "1.0.0", last, Limits{Kubernetes: "1.33.0"}) })
	}
	short, long := longPaths(45), longPaths(450)
	for _, name := range sortedKeys(long) {
		require.NoError(t, validity(new(long[name])), name)
		each, ofMany := work(short[name])/45, work(long[name])/450
		t.Logf("%s: %.0f allocations for each of 45 versions, %.0f of 450", name, each, ofMany)
		require.Less(t, ofMany, 1.5*each+10, name)
	}
}
