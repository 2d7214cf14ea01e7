package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAHandEditedHelmReleaseIsPutBack(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"changed-field": `{"spec":{"timeout":"1s"}}`,
		"added-field":   `{"spec":{"persistentClient":false}}`,
		"removed-field": `{"spec":{"values":null}}`,
		"removed-label": `{"metadata":{"labels":{"addons.kurl.sh/addon":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, "edit-"+name)
			addon := s.name + "-a"
			s.define(addon, "tiny")
			s.install(`{addons: [{name: ` + addon + `, values: {message: mine}}]}`)
			s.installerReady()
			before := s.helmRelease(t, addon)

			_, err := s.kubectl("", "patch", "helmrelease", addon, "-n", v1alpha1.Namespace, "--type=merge", "-p", patch)
			require.NoError(t, err)
			s.eventually("the HelmRelease is as it was", func(t *assert.CollectT) {
				after := s.helmRelease(t, addon)
				assert.Equal(t, before.Spec, after.Spec)
				assert.Equal(t, before.Labels, after.Labels)
			})
			s.eventually("Flux has settled on that again", func(t *assert.CollectT) {
				hr := s.helmRelease(t, addon)
				assert.Equal(t, before.UID, hr.UID)
				assert.Equal(t, hr.Generation, hr.Status.ObservedGeneration)
				assert.Equal(t, "mine", s.rendered(t, addon).Data["message"])
			})
			s.installerReady()
		})
	}
}

func TestAHelmReleaseDeletedByHandComesBack(t *testing.T) {
	s := beside(t, "revive")
	s.define("revive-a", "tiny")
	s.define("revive-b", "tiny", requires("revive-a"))
	s.install(`{addons: [{name: revive-a}, {name: revive-b}]}`)
	s.installerReady()
	before := s.helmRelease(t, "revive-a")
	dependent := s.helmRelease(t, "revive-b")

	_, err := s.kubectl("", "annotate", "helmrelease", "revive-a", "-n", v1alpha1.Namespace, "addons.kurl.sh/allow-delete=revive-a")
	require.NoError(t, err)
	s.liftedEvent("HelmRelease", "revive-a")
	_, err = s.kubectl("", "delete", "helmrelease", "revive-a", "-n", v1alpha1.Namespace)
	require.NoError(t, err)
	s.eventually("it is back", func(t *assert.CollectT) { assert.NotEqual(t, before.UID, s.helmRelease(t, "revive-a").UID) })
	s.installerReady()
	assert.Equal(t, "1.0.0", s.rendered(t, "revive-a").Data["version"])
	assert.Equal(t, dependent.Generation, s.helmRelease(t, "revive-b").Generation, "what depends on it is not touched")
	assert.Len(t, s.helmStorage("revive-b"), 1)
}

func TestASuspendedHelmReleaseIsLeftAloneUntilItIsResumed(t *testing.T) {
	s := beside(t, "hands-off")
	s.define("hands-off-a", "tiny")
	s.install(`{addons: [{name: hands-off-a}]}`)
	s.installerReady()
	suspend := func(patch string) {
		_, err := s.kubectl("", "patch", "helmrelease", "hands-off-a", "-n", v1alpha1.Namespace, "--type=merge", "--field-manager=ann", "-p", patch)
		require.NoError(t, err)
	}
	suspend(`{"spec":{"suspend":true,"timeout":"7m"}}`)
	s.says("hands-off-a", v1alpha1.StateSuspended, `"ann"`, "flux resume helmrelease hands-off-a -n kurl-addons")
	before := s.helmRelease(t, "hands-off-a")

	s.install(`{addons: [{name: hands-off-a, values: {message: later}}]}`)
	s.eventually("the Installer has seen the change", func(t *assert.CollectT) {
		installer := s.installer(t)
		assert.Equal(t, installer.Generation, installer.Status.ObservedGeneration)
		assert.Contains(t, message(installer.Status.Conditions), `"ann"`)
		assert.Equal(t, s.addon(t, "hands-off-a").Generation, s.addon(t, "hands-off-a").Status.ObservedGeneration)
	})
	assert.Equal(t, before.Generation, s.helmRelease(t, "hands-off-a").Generation)

	suspend(`{"spec":{"suspend":false}}`)
	s.installerReady()
	assert.Equal(t, "later", s.rendered(t, "hands-off-a").Data["message"])
	assert.Equal(t, "5m0s", s.helmRelease(t, "hands-off-a").Spec.Timeout.Duration.String())
}

func TestAnAddonDeletedByHandComesBackWithoutAnUninstall(t *testing.T) {
	s := beside(t, "again")
	s.define("again-a", "tiny")
	s.install(`{addons: [{name: again-a}]}`)
	s.installerReady()
	addon, release := s.addon(t, "again-a"), s.helmRelease(t, "again-a")

	_, err := s.kubectl("", "annotate", "addon", "again-a", "addons.kurl.sh/allow-delete=again-a")
	require.NoError(t, err)
	_, err = s.kubectl("", "delete", "addon", "again-a", "--timeout=1m")
	require.NoError(t, err)
	s.eventually("it is back", func(t *assert.CollectT) { assert.NotEqual(t, addon.UID, s.addon(t, "again-a").UID) })
	s.installerReady()
	after := s.helmRelease(t, "again-a")
	assert.Equal(t, release.UID, after.UID)
	assert.Equal(t, release.Generation, after.Generation)
	assert.Nil(t, after.DeletionTimestamp)
	assert.Len(t, s.helmStorage("again-a"), 1)
}
