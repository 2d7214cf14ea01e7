package addons

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// large makes a world of many add-ons: each requires up to three others and a capability, has two releases and four versions.
func large(size int) (World, *v1alpha1.Installer) {
	subject := installer("default", 1)
	var definitions []v1alpha1.AddonDefinition
	for i := range size {
		name := fmt.Sprintf("addon-%04d", i)
		edits := []edit{versions("1.0.0", "1.1.0", "1.2.0", "1.3.0"), releases(name, name+"-extra"), onKubernetes("1.3.0", ">=1.31 <1.40")}
		for _, distance := range []int{1, 10, 100} {
			if i >= distance && i%distance == 0 {
				edits = append(edits, requires(fmt.Sprintf("addon-%04d", i-distance)))
			}
		}
		if i == 0 {
			edits = append(edits, provides("storage"))
		}
		definitions = append(definitions, define(name, append(edits, needs(v1alpha1.Requirement{Capability: "storage"}))...))
		subject.Spec.Addons = append(subject.Spec.Addons, v1alpha1.InstallerAddon{Name: name, Version: ">=1.0 <2", Releases: []v1alpha1.ReleaseOverride{
			{Name: name, Values: rawJSON(`{"replicas":3,"resources":{"requests":{"cpu":"100m"}}}`)},
		}})
	}
	return World{Catalog: catalogOf(definitions...), Kubernetes: "v1.33.4", Installers: []*v1alpha1.Installer{subject}}, subject
}

// BenchmarkResolve measures a full pass, resolve and plan: of a fresh Installer, and of one whose add-ons all run.
func BenchmarkResolve(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		world, subject := large(size)
		fresh := MakePlan(world, subject, Resolve(world, subject), nil)
		require.Len(b, fresh.Changes, size)
		b.Run(fmt.Sprintf("fresh/%d", size), func(b *testing.B) {
			for b.Loop() {
				MakePlan(world, subject, Resolve(world, subject), nil)
			}
		})
		settled, running := world, map[string]string{}
		for _, change := range fresh.Changes {
			addon := present("default", change.Addon)
			addon.Spec = change.Spec
			settled.Addons = append(settled.Addons, addon)
			running[change.Addon] = change.To
		}
		b.Run(fmt.Sprintf("settled/%d", size), func(b *testing.B) {
			for b.Loop() {
				MakePlan(settled, subject, Resolve(settled, subject), running)
			}
		})
	}
}

// Ten times the add-ons must not take much more than ten times the work, which allocations stand for: time would depend on the
// machine's other work.
func TestResolvingIsLinear(t *testing.T) {
	work := func(size int) float64 {
		world, subject := large(size)
		return testing.AllocsPerRun(1, func() { MakePlan(world, subject, Resolve(world, subject), nil) })
	}
	require.Less(t, work(1000), 15*work(100))
}
