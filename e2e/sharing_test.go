package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// quiet is how long nothing has to be written for two Installers to be at peace: those that fight write many times a second.
const quiet = 5 * time.Second

func TestTheFirstInstallerKeepsAnAddonThatTwoName(t *testing.T) {
	s := beside(t, "share")
	late := tell(t, s.world, "share-late")
	s.define("share-a", "tiny")
	s.define("share-b", "tiny")
	s.install(`{addons: [{name: share-a}]}`)
	s.installerReady()
	late.install(`{addons: [{name: share-a, values: {message: late}}, {name: share-b}]}`)
	late.ready("share-b")
	late.installerSays(v1alpha1.ConditionResolved, "share-a", `"share"`)
	assert.Equal(t, "hello", s.rendered(t, "share-a").Data["message"])
	s.installerReady()

	var before []string
	var since time.Time
	s.eventually("nothing is written any more", func(t *assert.CollectT) {
		now := []string{
			s.installer(t).ResourceVersion, late.installer(t).ResourceVersion,
			s.addon(t, "share-a").ResourceVersion, s.helmRelease(t, "share-a").ResourceVersion,
		}
		if !slices.Equal(before, now) {
			before, since = now, time.Now()
		}
		assert.Greater(t, time.Since(since), quiet)
	})

	release := s.helmRelease(t, "share-a")
	s.install(`{addons: []}`)
	late.installerReady()
	s.installerReady()
	assert.Equal(t, "share-late", s.addon(t, "share-a").Spec.Installer)
	assert.Equal(t, release.UID, s.helmRelease(t, "share-a").UID, "handed over without an uninstall")
	config := s.rendered(t, "share-a")
	assert.Equal(t, "late", config.Data["message"])
}

func TestASuspendedInstallerHoldsChanges(t *testing.T) {
	s := beside(t, "paused")
	s.define("paused-a", "tiny")
	s.define("paused-b", "tiny")
	s.install(`{addons: [{name: paused-a}]}`)
	s.installerReady()
	before := s.helmRelease(t, "paused-a")

	s.install(`{suspend: true, addons: [{name: paused-a, values: {message: later}}, {name: paused-b}]}`)
	s.installerSays(v1alpha1.ConditionReady, "spec.suspend", "paused-a", "paused-b")
	plan := s.installer(t).Status.Plan
	require.NotNil(t, plan)
	assert.Len(t, plan.Changes, 2)
	assert.NotEmpty(t, plan.Digest)
	assert.Equal(t, before.Generation, s.helmRelease(t, "paused-a").Generation)

	s.install(`{addons: [{name: paused-a, values: {message: later}}, {name: paused-b}]}`)
	s.installerReady()
	assert.Equal(t, "later", s.rendered(t, "paused-a").Data["message"])
	assert.Nil(t, s.installer(t).Status.Plan)
}

func TestChartsComeFromTheMirror(t *testing.T) {
	s := beside(t, "mirror")
	s.define("mirror-a", "tiny", from("https://charts.invalid/stable"))
	s.define("mirror-b", "webapp", from("oci://registry.invalid/charts"), requires("mirror-a"))
	s.install(`{charts: {mirror: "` + s.charts.OCIURL() + `", insecure: true}, addons: [{name: mirror-a}, {name: mirror-b}]}`)
	s.installerReady()
	assert.Equal(t, "1.0.0", s.rendered(t, "mirror-a").Data["version"])
}

func TestAVendorsDefinitionMakesAnUnknownAddonResolve(t *testing.T) {
	s := beside(t, "vendor")
	s.define("vendor-known", "tiny")
	s.install(`{addons: [{name: vendor-new}, {name: vendor-known}]}`)
	s.installerSays(v1alpha1.ConditionResolved, "vendor-new", "not in the catalogue")
	s.ready("vendor-known")

	s.define("vendor-new", "tiny")
	s.installerReady()
}
