package addons

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// tangle makes cycles and conflicts too, which someCluster avoids.
func tangle(t *rapid.T, c *cluster) {
	c.current = nil
	for i := range c.definitions {
		def := &c.definitions[i]
		other := c.definitions[rapid.IntRange(0, len(c.definitions)-1).Draw(t, "tangled with")].Name
		switch kind := rapid.IntRange(0, 4).Draw(t, "tangle"); {
		case other == def.Name:
		case kind == 0:
			requires(other)(def)
		case kind == 1:
			conflicts(other, "")(def)
		}
	}
}

func permuted[T any](t *rapid.T, list []T) []T {
	shuffled := make([]T, 0, len(list))
	for _, i := range rapid.Permutation(indices(len(list))).Draw(t, "order") {
		shuffled = append(shuffled, list[i])
	}
	return shuffled
}

func indices(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// shuffled is the same cluster, with everything that has no order of its own in another one.
func (c *cluster) shuffled(t *rapid.T) *cluster {
	other := *c
	other.current, other.definitions, other.installers = nil, nil, nil
	for _, def := range permuted(t, c.definitions) {
		def = *def.DeepCopy()
		def.Spec.Requires, def.Spec.Conflicts, def.Spec.Provides = permuted(t, def.Spec.Requires), permuted(t, def.Spec.Conflicts), permuted(t, def.Spec.Provides)
		for i := range def.Spec.Versions {
			def.Spec.Versions[i].Requires = permuted(t, def.Spec.Versions[i].Requires)
		}
		other.definitions = append(other.definitions, def)
	}
	for _, subject := range permuted(t, c.installers) {
		subject = subject.DeepCopy()
		subject.Spec.Addons = permuted(t, subject.Spec.Addons)
		other.installers = append(other.installers, subject)
	}
	return &other
}

func TestResolveAndPlanDependOnNoOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCluster(t)
		t.Repeat(c.disturbances())
		tangle(t, c)
		if len(c.installers) == 0 || c.installers[0].DeletionTimestamp != nil {
			t.Skip("nothing is wanted")
		}
		subject := c.installers[0]
		before, err := json.Marshal([]any{c.definitions, c.installers, c.addons})
		require.NoError(t, err)
		resolution, plan := c.plan(subject)
		checkResolution(t, c, resolution)
		checkOrder(t, c, plan)

		other := c.shuffled(t)
		world, same := other.world(), other.installers[slices.IndexFunc(other.installers, func(i *v1alpha1.Installer) bool { return i.Name == subject.Name })]
		world.Addons = permuted(t, world.Addons)
		require.Equal(t, resolution, Resolve(world, same))
		require.Equal(t, plan, MakePlan(world, same, Resolve(world, same), other.running()))
		after, err := json.Marshal([]any{c.definitions, c.installers, c.addons})
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), "what was read is not changed")
	})
}

func TestDecisionsDependOnNoOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCluster(t)
		t.Repeat(c.disturbances())
		other := c.shuffled(t)
		for _, name := range sortedKeys(c.addons) {
			observed, decided := c.decide(name)
			again, same := other.decide(name)
			require.Equal(t, decided, same)
			require.Equal(t, Summarize(observed, decided), Summarize(again, same))
		}
	})
}

// checkResolution checks that every entry came to something, and each add-on comes after what it depends on.
func checkResolution(t *rapid.T, c *cluster, resolution Resolution) {
	t.Helper()
	came := map[string]bool{}
	for _, problem := range resolution.Problems {
		require.NotEmpty(t, problem.Message)
		require.False(t, came[problem.Addon], "add-on %s is named twice", problem.Addon)
		came[problem.Addon] = true
	}
	for _, addon := range resolution.Addons {
		require.False(t, came[addon.Name], "add-on %s is named twice", addon.Name)
		for _, earlier := range addon.After {
			require.True(t, came[earlier], "add-on %s comes before %s", addon.Name, earlier)
		}
		came[addon.Name] = true
	}
	for _, entry := range c.installers[0].Spec.Addons {
		require.True(t, came[entry.Name], "add-on %s came to nothing", entry.Name)
	}
	require.Len(t, came, len(c.installers[0].Spec.Addons))
}

// checkOrder checks that installs come after, and removals before, those of what they depend on.
func checkOrder(t *rapid.T, c *cluster, plan Plan) {
	t.Helper()
	catalog := c.world().Catalog
	cyclic := onCycles(catalog)
	removing := map[string]bool{}
	changes := slices.DeleteFunc(slices.Clone(plan.Changes), c.putsBack) // these come first, in whatever order
	for i, change := range changes {
		def, err := catalog.Get(change.Addon)
		if err != nil {
			require.Equal(t, v1alpha1.ActionRemove, change.Action)
			continue
		}
		removing[change.Addon] = change.Action == v1alpha1.ActionRemove
		for _, requirement := range def.Spec.Requires {
			at := slices.IndexFunc(changes, func(other PlannedChange) bool { return other.Addon == requirement.Addon })
			tied := at >= 0 && (changes[at].Action == v1alpha1.ActionRemove) == removing[change.Addon]
			if tied && cyclic[change.Addon] == "" && cyclic[requirement.Addon] == "" {
				require.Equal(t, removing[change.Addon], at > i, "the change of %s is on the wrong side of that of %s", change.Addon, requirement.Addon)
			}
		}
	}
}

// onCycles names the add-ons on a cycle: where they are concerned there is no right order.
func onCycles(catalog Catalog) map[string]string {
	definitions := map[string]*v1alpha1.AddonDefinition{}
	for _, name := range catalog.Names() {
		definitions[name], _ = catalog.Get(name)
	}
	_, cyclic := order(dependenciesAmong(definitions))
	return cyclic
}

func TestOrderFindsExactlyTheCycles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		graph := map[string][]string{}
		for _, name := range names {
			others := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "of "+name)
			graph[name] = slices.DeleteFunc(slices.Sorted(slices.Values(others)), func(other string) bool { return other == name })
		}
		ordered, cyclic := order(graph)
		for _, name := range names {
			require.Equal(t, reaches(graph, name, name, map[string]bool{}), cyclic[name] != "", "%s in %v", name, graph)
			require.Equal(t, cyclic[name] == "", slices.Contains(ordered, name), "%s is either ordered or on a cycle", name)
		}
		for i, name := range ordered {
			for _, dependency := range graph[name] {
				require.True(t, cyclic[dependency] != "" || slices.Contains(ordered[:i], dependency), "%s comes before %s in %v", name, dependency, ordered)
			}
		}
	})
}

func reaches(graph map[string][]string, from, to string, seen map[string]bool) bool {
	for _, next := range graph[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(graph, next, to, seen) {
				return true
			}
		}
	}
	return false
}

func FuzzResolve(f *testing.F) {
	f.Add("a", "1.x", "stable", "v1.31.0", `{"a":1}`, ">=1")
	f.Add("b", "RELEASE.1", "", "main", `[]`, "")
	f.Fuzz(func(t *testing.T, name, version, channel, kubernetes, values, within string) {
		def := define("a", versions("1.0.0", "1.1.0"), upgradeFrom("1.1.0", within), onKubernetes("1.0.0", within))
		subject := installer("default", 1, "a@"+version)
		subject.Spec.Channel = channel
		subject.Spec.Addons[0].Name, subject.Spec.Addons[0].Values = name, rawJSON(values)
		world := World{Catalog: catalogOf(def), Kubernetes: kubernetes, Installers: []*v1alpha1.Installer{subject}}
		resolution := Resolve(world, subject)
		require.Equal(t, 1, len(resolution.Addons)+len(resolution.Problems))
		MakePlan(world, subject, resolution, map[string]string{name: version})
	})
}
