package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAnUpgradeWalksHopByHop(t *testing.T) {
	s := beside(t, "hops")
	s.define("hops-a", "webapp", versions("1.0.0", "1.1.0", "2.0.0"))
	s.install(`{addons: [{name: hops-a, version: 1.0.0}]}`)
	s.installerReady()
	recorded := s.record()

	s.install(`{addons: [{name: hops-a, version: latest}]}`)
	s.requireSeen(recorded, "running hops-a 1.0.0", "asked hops-a 1.1.0", "running hops-a 1.1.0", "asked hops-a 2.0.0", "running hops-a 2.0.0")
	s.installerReady()
	addon := s.addon(t, "hops-a")
	assert.Equal(t, "2.0.0", addon.Status.Version)
	assert.Empty(t, addon.Status.Path)
	assert.Equal(t, 3, s.helmRelease(t, "hops-a").Status.History.Latest().Version)
}

func TestADowngradeIsRefused(t *testing.T) {
	s := beside(t, "down")
	s.define("down-a", "tiny", versions("1.0.0", "1.1.0"))
	s.install(`{addons: [{name: down-a, version: 1.1.0}]}`)
	s.installerReady()
	before := s.helmRelease(t, "down-a")

	s.install(`{addons: [{name: down-a, version: 1.0.0}]}`)
	s.says("down-a", v1alpha1.StateBlocked, "1.1.0", "1.0.0", "never goes down")
	assert.Equal(t, before.Generation, s.helmRelease(t, "down-a").Generation)
	s.installerSays(v1alpha1.ConditionReady, "down-a", "never goes down")

	s.install(`{addons: [{name: down-a, version: 1.1.0}]}`)
	s.installerReady()
	assert.Len(t, s.helmStorage("down-a"), 1)
}

func TestAnUpgradeWithoutAPathIsRefused(t *testing.T) {
	s := beside(t, "no-path")
	s.define("no-path-a", "tiny", versions("1.0.0", "1.1.0", "2.0.0", "2.1.0"),
		atVersion("1.1.0", func(v *v1alpha1.VersionDefinition) { v.Kubernetes = "<1.20" }),
		atVersion("2.1.0", func(v *v1alpha1.VersionDefinition) { v.Kubernetes = ">=1.60" }))
	s.install(`{addons: [{name: no-path-a, version: 1.0.0}]}`)
	s.installerReady()
	before := s.helmRelease(t, "no-path-a")

	s.install(`{addons: [{name: no-path-a, version: 2.0.0}]}`)
	tooNew := "version 1.1.0 needs Kubernetes <1.20, and this cluster runs " + s.kubernetes()
	s.says("no-path-a", v1alpha1.StateBlocked, `no upgrade path of "no-path-a" leads from 1.0.0 to 2.0.0: `+tooNew)
	s.installerSays(v1alpha1.ConditionReady, "no-path-a", tooNew)
	s.install(`{addons: [{name: no-path-a, version: 2.1.0}]}`)
	s.installerSays(v1alpha1.ConditionResolved, "spec.addons[no-path-a].version", "version 2.1.0 needs Kubernetes >=1.60, and this cluster runs "+s.kubernetes())
	assert.Equal(t, before.Generation, s.helmRelease(t, "no-path-a").Generation)

	s.install(`{addons: [{name: no-path-a, version: 1.0.0}]}`)
	s.installerReady()
	assert.Len(t, s.helmStorage("no-path-a"), 1)
}

func TestADependencyIsUpgradedBeforeItsDependent(t *testing.T) {
	s := beside(t, "lockstep")
	s.define("lockstep-a", "tiny", versions("1.0.0", "1.1.0"))
	s.define("lockstep-b", "tiny", versions("1.0.0", "1.1.0"), requires("lockstep-a"))
	s.install(`{addons: [{name: lockstep-a, version: 1.0.0}, {name: lockstep-b, version: 1.0.0}]}`)
	s.installerReady()
	recorded := s.record()

	s.install(`{addons: [{name: lockstep-a}, {name: lockstep-b}]}`)
	s.requireSeen(recorded, "asked lockstep-a 1.1.0", "running lockstep-a 1.1.0", "asked lockstep-b 1.1.0", "running lockstep-b 1.1.0")
	s.installerReady()
}

func TestAnUpgradeBringsNewCRDs(t *testing.T) {
	s := beside(t, "crds")
	s.define("crds-operator", "operator", versions("1.0.0", "2.0.0"))
	s.define("crds-instance", "instance", requires("crds-operator"))
	s.install(`{addons: [{name: crds-operator, version: 1.0.0}, {name: crds-instance}]}`)
	s.installerReady()

	s.install(`{addons: [{name: crds-operator, version: 2.0.0}, {name: crds-instance, values: {colour: red}}]}`)
	s.installerReady()
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, s.api.Get(t.Context(), client.ObjectKey{Name: "widgets.example.com"}, &crd))
	assert.Contains(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "colour")
	colour, err := s.kubectl("", "get", "widget", "crds-instance", "-n", "crds", "-o", "jsonpath={.spec.colour}")
	require.NoError(t, err)
	assert.Equal(t, "red", colour)
}
