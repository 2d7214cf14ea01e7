package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// without takes a version out of a definition.
func without(version string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Versions = slices.DeleteFunc(def.Spec.Versions, func(v v1alpha1.VersionDefinition) bool { return v.Version == version })
	}
}

// reachableFrom adds ways to a version.
func reachableFrom(within, version string) trait {
	return atVersion(version, func(v *v1alpha1.VersionDefinition) { v.UpgradeFrom = within })
}

// walks waits until people see these versions ahead of an add-on.
func (s *story) walks(addon string, path ...string) {
	s.t.Helper()
	s.eventually(addon+" goes another way", func(t *assert.CollectT) { assert.Equal(t, path, s.addon(t, addon).Status.Path) })
}

func TestTheCatalogueChangesInTheMiddleOfAPath(t *testing.T) {
	s := beside(t, "detour")
	s.define("detour-a", stepwise, minors(8), held("1.6.0"))
	s.install(`{addons: [{name: detour-a, version: 1.4.0}]}`)
	s.installerReady()
	s.install(`{addons: [{name: detour-a, version: 1.8.0}]}`)
	s.hookRuns("detour", "detour-a-prepare")
	s.walks("detour-a", "1.6.0", "1.7.0", "1.8.0")
	hop, begin := s.identity("detour-a"), time.Now()

	s.revise("detour-a", without("1.7.0"))
	s.says("detour-a", v1alpha1.StateUpgrading, "the upgrade to 1.6.0 has begun and is finished first",
		`after that, no upgrade path of "detour-a" leads from 1.6.0 to 1.8.0`)
	s.walks("detour-a", "1.6.0")
	s.revise("detour-a", reachableFrom(">=1.6.0", "1.8.0"))
	s.walks("detour-a", "1.6.0", "1.8.0")
	assert.Equal(t, hop, s.identity("detour-a"), "the hop that is under way is not disturbed")
	assert.Empty(t, writes(s.requests(begin), "detour-a"))

	s.finishHook("detour", "detour-a-prepare")
	s.installerReady()
	s.requireRevisions("detour-a", "1.4.0", "1.5.0", "1.6.0", "1.8.0")
}

func TestAVersionLeavesTheCatalogueWhileAnUpgradeGoesThere(t *testing.T) {
	s := beside(t, "dropped")
	s.define("dropped-a", stepwise, minors(6), held("1.5.0"))
	s.install(`{addons: [{name: dropped-a, version: 1.4.0}]}`)
	s.installerReady()
	s.install(`{addons: [{name: dropped-a, version: 1.6.0}]}`)
	s.hookRuns("dropped", "dropped-a-prepare")
	hop, begin := s.identity("dropped-a"), time.Now()
	var there []v1alpha1.VersionDefinition
	keep := func(def *v1alpha1.AddonDefinition) { there = slices.Clone(def.Spec.Versions) }

	s.revise("dropped-a", keep, without("1.5.0"), reachableFrom(">=1.4.0", "1.6.0"))
	s.says("dropped-a", v1alpha1.StateUpgrading, "the upgrade to dropped-a 1.5.0 has begun and is finished first")
	assert.Equal(t, hop, s.identity("dropped-a"), "neither is it taken back to 1.4.0, nor overtaken")
	s.finishHook("dropped", "dropped-a-prepare")
	s.eventually("Helm has finished", func(t *assert.CollectT) {
		latest := s.helmRelease(t, "dropped-a").Status.History.Latest()
		assert.Equal(t, []string{"1.5.0", "deployed"}, []string{latest.ChartVersion, latest.Status})
	})
	s.says("dropped-a", v1alpha1.StateBlocked, "it runs dropped-a 1.5.0, which no version of \"dropped-a\" in the catalogue consists of")
	assert.Empty(t, writes(s.requests(begin), "dropped-a"))
	s.requireRevisions("dropped-a", "1.4.0", "1.5.0")

	s.revise("dropped-a", func(def *v1alpha1.AddonDefinition) { def.Spec.Versions = there })
	s.installerReady()
	s.requireRevisions("dropped-a", "1.4.0", "1.5.0", "1.6.0")
}

// Kubernetes is read from the cluster. That it changes on the way is told here by ranges that change: of a cluster that is too old for a hop
// until it is upgraded, and of one that is too new until the catalogue knows better.
func TestAHopWaitsForItsKubernetes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ within, help string }{
		"too-old": {">=1.60", "upgrade Kubernetes first"},
		"too-new": {"<1.30", "Kubernetes has gone ahead of it: add a hop around it to the AddonDefinition"},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, name)
			addon := name + "-a"
			s.define(addon, stepwise, minors(7), held("1.5.0"))
			s.install(`{addons: [{name: ` + addon + `, version: 1.4.0}]}`)
			s.installerReady()
			s.install(`{addons: [{name: ` + addon + `, version: 1.7.0}]}`)
			s.hookRuns(name, addon+"-prepare")

			s.revise(addon, atVersion("1.6.0", func(v *v1alpha1.VersionDefinition) { v.Kubernetes = test.within }))
			obstacle := "version 1.6.0 needs Kubernetes " + test.within + ", and this cluster runs " + s.kubernetes() + "; " + test.help
			s.says(addon, v1alpha1.StateUpgrading, "the upgrade to 1.5.0 has begun and is finished first", "after that", obstacle)
			s.finishHook(name, addon+"-prepare")
			s.says(addon, v1alpha1.StateBlocked, `no upgrade path of "`+addon+`" leads from 1.5.0 to 1.7.0: `+obstacle)
			s.installerSays(v1alpha1.ConditionReady, addon, obstacle)
			s.requireRevisions(addon, "1.4.0", "1.5.0")

			s.revise(addon, atVersion("1.6.0", func(v *v1alpha1.VersionDefinition) { v.Kubernetes = ">=1.30" }))
			s.installerReady()
			s.requireRevisions(addon, "1.4.0", "1.5.0", "1.6.0", "1.7.0")
		})
	}
}

// kubernetes is the cluster's version, without suffixes.
func (s *story) kubernetes() string {
	s.t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(s.RESTConfig())
	require.NoError(s.t, err)
	info, err := client.ServerVersion()
	require.NoError(s.t, err)
	found, err := semver.NewVersion(info.GitVersion)
	require.NoError(s.t, err)
	return fmt.Sprintf("%d.%d.%d", found.Major(), found.Minor(), found.Patch())
}
