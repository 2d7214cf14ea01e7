package addons

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// clusterInStep draws a catalogue whose add-ons need one another at certain versions more often than not.
func clusterInStep(t *rapid.T) *cluster {
	c := newCluster(t)
	for i := range rapid.IntRange(2, 6).Draw(t, "add-ons") {
		name := string(rune('a' + i))
		edits := []edit{someVersions(t, name)}
		for j := range c.definitions {
			if rapid.IntRange(0, 2).Draw(t, "needs") > 0 {
				edits = append(edits, requires(c.definitions[j].Name), inStep(t, &c.definitions[j]))
			}
		}
		c.definitions = append(c.definitions, define(name, edits...))
	}
	return c
}

// wantSome has the first Installer list all add-ons, or some that need no others beside them, at versions that can do with one another.
func (c *cluster) wantSome(t *rapid.T) {
	wanted, lowest := c.finalWants(t)
	minors := c.finalMinors(t, wanted, lowest)
	subject := c.installers[0]
	subject.Spec.Addons = nil
	for _, name := range sortedKeys(minors) {
		def := &c.definitions[slices.IndexFunc(c.definitions, func(d v1alpha1.AddonDefinition) bool { return d.Name == name })]
		subject.Spec.Addons = append(subject.Spec.Addons, v1alpha1.InstallerAddon{Name: name, Version: def.Spec.Versions[minors[name]].Version})
	}
	subject.Generation++
}

// work is what operator and Flux do, in any order, with passes that die half way and work of Flux that fails.
func (c *cluster) work() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for i := range 3 {
		n := strconv.Itoa(i)
		all["installer pass "+n] = c.drawInstaller(func(t *rapid.T, i *v1alpha1.Installer) { c.installerPass(i, someWrites(t)) })
		all["add-on pass "+n] = c.drawAddon(func(t *rapid.T, name string) { c.addonPass(name, someWrites(t)) })
		all["Flux "+n] = c.drawRelease(func(t *rapid.T, r *helmRelease) { c.flux(r, rapid.IntRange(0, 3).Draw(t, "fails") > 0) })
	}
	return all
}

func TestAddonsThatNeedOneAnotherMoveInTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := clusterInStep(t)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			c.wantSome(t)
			if rapid.Bool().Draw(t, "interrupted") {
				t.Repeat(c.work())
				continue
			}
			c.settleWillingly()
			c.requireSettled()
		}
		c.settleWillingly()
		c.requireSettled()
	})
}
