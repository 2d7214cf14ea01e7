package addons

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestBadVersionsAreExplained(t *testing.T) {
	t.Parallel()
	gap := define("gap", versions("1.1.0", "1.2.0", "1.3.0", "1.5.0", "1.6.0", "2.0.0", "2.1.0"))
	for name, test := range map[string]struct {
		def  v1alpha1.AddonDefinition
		ask  func(def *v1alpha1.AddonDefinition) error
		says string
	}{
		"a minor is missing on the way": {gap, pathTo("1.1.0", "1.6.0"),
			`no upgrade path of "gap" leads from 1.1.0 to 1.6.0: 1.6.0 can be reached from 1.5.0 only, and no hop leads from 1.3.0 to 1.5.0; add the hop to the AddonDefinition`},
		"a minor is missing on the way to another major": {gap, pathTo("1.1.0", "2.1.0"),
			`no upgrade path of "gap" leads from 1.1.0 to 2.1.0: 2.1.0 can be reached from 2.0.0 only, and no hop leads from 1.3.0 to 1.5.0; add the hop to the AddonDefinition`},
		"nothing leads to the target": {define("island", versions("1.0.0", "1.1.0", "3.0.0")), pathTo("1.0.0", "3.0.0"),
			`no upgrade path of "island" leads from 1.0.0 to 3.0.0: the catalogue lists no version from which 3.0.0 can be reached; add one to the AddonDefinition`},
		"upgradeFrom matches nothing": {define("narrow", versions("1.0.0", "1.1.0"), upgradeFrom("1.1.0", ">=1.0.5 <1.1")), pathTo("1.0.0", "1.1.0"),
			`no upgrade path of "narrow" leads from 1.0.0 to 1.1.0: 1.1.0 can be reached from >=1.0.5 <1.1 only (its upgradeFrom), and the catalogue lists no such version; add one to the AddonDefinition, or widen that range`},
		"a version twice": {define("twice", versions("1.0.0", "1.0.0"), charted("1.0.0", map[string]string{"twice": "1"})), validity,
			`spec.versions[1].version: Duplicate value: "1.0.0"`},
		"a version twice, once with a v": {define("twice", versions("1.0.0", "v1.0.0"), func(def *v1alpha1.AddonDefinition) {
			def.Spec.Versions[1].Releases = map[string]v1alpha1.ReleaseVersion{"twice": {ChartVersion: "2"}}
		}), validity, `spec.versions[1].version: Duplicate value: "v1.0.0"`},
		"a requested range matches nothing": {gap, selection("1.4.x", ""),
			`the catalogue has no version of "gap" that matches "1.4.x"; the nearest: 1.2.0, 1.3.0, 1.5.0, 1.6.0`},
		"a channel that does not exist": {define("canal", versions("1.0.0", "1.1.0"), inChannel("stable", "1.0.0"), inChannel("edge", "1.1.0")), selection("", "nightly"),
			`there is no channel "nightly" of "canal", which has edge, stable; change spec.channel, or name a version exactly, such as 1.1.0, 1.0.0`},
		"a range that is empty in itself": {gap, selection(">=2 <1", ""),
			`the catalogue has no version of "gap" that matches ">=2 <1"; the nearest: 1.5.0, 1.6.0, 2.0.0, 2.1.0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, test.ask(&test.def), test.says)
		})
	}
}

func pathTo(from, to string) func(*v1alpha1.AddonDefinition) error {
	return func(def *v1alpha1.AddonDefinition) error {
		_, err := Path(def, from, to, Limits{})
		return err
	}
}

func selection(request, channel string) func(*v1alpha1.AddonDefinition) error {
	return func(def *v1alpha1.AddonDefinition) error {
		_, err := SelectVersion(def, request, channel, "", "")
		return err
	}
}

func validity(def *v1alpha1.AddonDefinition) error { return ValidateDefinition(def).ToAggregate() }

func TestRequiredRangesThatMatchNothingAreExplained(t *testing.T) {
	t.Parallel()
	world := World{Catalog: catalogOf(
		define("storage", versions("1.0.0", "1.1.0")),
		define("registry", needs(v1alpha1.Requirement{Addon: "storage", Version: ">=2"})),
		define("ingress", versions("1.0.0"), requires("storage"), runsWith("1.0.0", "storage", "<1.1")),
	), Installers: []*v1alpha1.Installer{installer("default", 1, "storage", "registry", "ingress")}}
	require.Equal(t, []Problem{
		{Addon: "ingress", Message: `spec.addons[ingress]: add-on "ingress" requires "storage" at <1.1, but that is to be 1.1.0; change the version of one of the two`},
		{Addon: "registry", Message: `spec.addons[registry]: add-on "registry" requires "storage" at >=2, but that is to be 1.1.0; the catalogue lists no such version of "storage": add one to its AddonDefinition`},
	}, Resolve(world, world.Installers[0]).Problems)
}
