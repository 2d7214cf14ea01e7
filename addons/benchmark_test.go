package addons

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// twenty versions of four minors of two majors.
func twenty() []string {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("%d.%d.%d", 1+i/10, i%10/3, i%10%3))
	}
	return names
}

// large makes a world of many add-ons: each requires up to three others and a capability, has two releases and twenty versions.
func large(size int) (World, *v1alpha1.Installer) {
	subject := installer("default", 1)
	var definitions []v1alpha1.AddonDefinition
	for i := range size {
		name := fmt.Sprintf("addon-%04d", i)
		edits := []edit{versions(twenty()...), releases(name, name+"-extra"), onKubernetes("2.3.0", ">=1.31 <1.40"), upgradeFrom("2.0.0", ">=1.2.0 <3")}
		for _, distance := range []int{1, 10, 100} {
			if i >= distance && i%distance == 0 {
				edits = append(edits, needs(v1alpha1.Requirement{Addon: fmt.Sprintf("addon-%04d", i-distance), Version: ">=1"}))
			}
		}
		if i == 0 {
			edits = append(edits, provides("storage"))
		}
		definitions = append(definitions, define(name, append(edits, needs(v1alpha1.Requirement{Capability: "storage"}))...))
		subject.Spec.Addons = append(subject.Spec.Addons, v1alpha1.InstallerAddon{Name: name, Version: ">=1.0 <3", Releases: []v1alpha1.ReleaseOverride{
			{Name: name, Values: rawJSON(`{"replicas":3,"resources":{"requests":{"cpu":"100m"}}}`)},
		}})
	}
	return World{Catalog: catalogOf(definitions...), Kubernetes: "v1.33.4", Installers: []*v1alpha1.Installer{subject}}, subject
}

// running is a world in which all add-ons of another one run a version.
func running(world World, subject *v1alpha1.Installer, version string) (World, map[string]string) {
	versions := map[string]string{}
	for _, change := range MakePlan(world, subject, Resolve(world, subject), nil).Changes {
		addon := present("default", change.Addon)
		addon.Spec = change.Spec
		addon.Spec.Version = version
		world.Addons = append(world.Addons, addon)
		versions[change.Addon] = version
	}
	return world, versions
}

// BenchmarkLargeWorlds measures the two halves of a pass for an Installer: of a fresh one, of one whose add-ons all run as they should, and of
// one whose add-ons all have several hops to go.
func BenchmarkLargeWorlds(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		fresh, subject := large(size)
		worlds := map[string]string{"fresh": "", "settled": "2.3.0", "upgrading": "1.0.0"}
		for _, name := range sortedKeys(worlds) {
			world, at := fresh, map[string]string(nil)
			if version := worlds[name]; version != "" {
				world, at = running(fresh, subject, version)
			}
			resolution := Resolve(world, subject)
			require.Len(b, resolution.Addons, size)
			benchmarkEach(b, fmt.Sprintf("resolve/%s/%d", name, size), size, func() { Resolve(world, subject) })
			benchmarkEach(b, fmt.Sprintf("plan/%s/%d", name, size), size, func() { MakePlan(world, subject, resolution, at) })
		}
	}
}

// benchmarkEach reports also what each of so many add-ons costs.
func benchmarkEach(b *testing.B, name string, size int, act func()) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			act()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(size), "µs/add-on")
	})
}

// Ten times the add-ons must not take much more than ten times the work, which allocations stand for: time would depend on the
// machine's other work.
func TestLargeWorldsTakeLinearWork(t *testing.T) {
	for name, version := range map[string]string{"fresh": "", "settled": "2.3.0", "upgrading": "1.0.0"} {
		work := func(size int) float64 {
			world, subject := large(size)
			at := map[string]string(nil)
			if version != "" {
				world, at = running(world, subject, version)
			}
			return testing.AllocsPerRun(1, func() { MakePlan(world, subject, Resolve(world, subject), at) })
		}
		ten, hundred, thousand := work(10)/10, work(100)/100, work(1000)/1000
		t.Logf("%s: %.0f allocations for each of 10 add-ons, %.0f of 100, %.0f of 1000", name, ten, hundred, thousand)
		require.Less(t, thousand, 1.5*hundred, name)
		require.Less(t, hundred, 2*ten, name)
	}
}
