package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// The first story here kills helm-controller, so it runs before those beside it.

// When helm-controller goes on after its death in the middle of a hop, and that fails, its history names nothing deployed any more. What
// was deployed counts all the same: the hop is neither skipped nor taken for a first install.
func TestAHopThatFailsAfterHelmControllerDiedIsNotSkipped(t *testing.T) {
	s := before(t, "doomed")
	recorded := s.record()
	s.define("doomed-a", "hooks", versions("1.0.0", "1.1.0", "2.0.0"), at110(`{hook: {hold: true}}`))
	s.install(`{addons: [{name: doomed-a, version: 1.0.0}]}`)
	s.installerReady()
	s.install(`{addons: [{name: doomed-a}]}`)
	run := s.heldHook("doomed-a")
	require.NoError(t, s.Kill(t.Context(), cluster.HelmController))
	require.NoError(t, s.Restart(t.Context(), cluster.HelmController))
	s.heldHook("doomed-a", run)
	s.says("doomed-a", v1alpha1.StateUpgrading, "1.1.0", "Running 'upgrade'")
	s.endHook("doomed-a", "1")

	s.says("doomed-a", v1alpha1.StateFailed, "pre-upgrade hook")
	for _, snapshot := range s.helmRelease(t, "doomed-a").Status.History {
		assert.NotEqual(t, "deployed", snapshot.Status)
	}
	addon := s.addon(t, "doomed-a")
	assert.Equal(t, "1.0.0", addon.Status.Version)
	assert.Equal(t, []string{"1.1.0", "2.0.0"}, addon.Status.Path)
	assert.Equal(t, "1.1.0", s.helmRelease(t, "doomed-a").Spec.Chart.Spec.Version)

	s.redefine("doomed-a", "hooks", versions("1.0.0", "1.1.0", "1.1.1", "2.0.0"), at110(fails))
	s.installerReady()
	s.requireSeen(recorded, "running doomed-a 1.0.0", "asked doomed-a 1.1.0", "asked doomed-a 1.1.1", "running doomed-a 1.1.1", "asked doomed-a 2.0.0", "running doomed-a 2.0.0")
}

// heldHook waits until a release is in the middle of an action, held by its hook, and returns which run of the hook that is.
func (s *story) heldHook(name string, but ...types.UID) types.UID {
	s.t.Helper()
	job := &batchv1.Job{}
	s.eventually("the hook holds "+name, func(t *assert.CollectT) {
		require.NoError(t, s.api.Get(s.t.Context(), client.ObjectKey{Namespace: s.name, Name: name + "-prepare"}, job))
		require.NotContains(t, but, job.UID)
		require.True(t, job.DeletionTimestamp == nil && job.Spec.Suspend != nil && *job.Spec.Suspend)
	})
	return job.UID
}

// endHook lets a held hook come to its end.
func (s *story) endHook(name, exitCode string) {
	s.t.Helper()
	_, err := s.kubectl("", "patch", "job", name+"-prepare", "-n", s.name, "-p",
		`{"spec":{"suspend":false,"template":{"metadata":{"annotations":{"simulation/exit-code":"`+exitCode+`"}}}}}`)
	require.NoError(s.t, err)
}

func TestWhatWasDoneToAReleaseByHandIsMadeGood(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(s *story, addon string){
		"uninstalled": func(s *story, addon string) { require.NoError(s.t, s.helm("uninstall", addon, "-n", s.name)) },
		"record-deleted": func(s *story, addon string) {
			_, err := s.kubectl("", "delete", "secret", "-n", s.name, "-l", "owner=helm,name="+addon)
			require.NoError(s.t, err)
		},
		"newest-record-deleted": func(s *story, addon string) {
			_, err := s.kubectl("", "delete", "secret", "-n", s.name, "sh.helm.release.v1."+addon+".v2")
			require.NoError(s.t, err)
		},
		"upgraded": func(s *story, addon string) {
			require.NoError(s.t, s.helm("upgrade", addon, "tiny", "--repo", s.charts.HTTPURL(), "--version", "2.0.0", "-n", s.name))
		},
		"rolled-back": func(s *story, addon string) { require.NoError(s.t, s.helm("rollback", addon, "1", "-n", s.name)) },
		"failed": func(s *story, addon string) {
			_, err := s.kubectl("", "label", "--overwrite", "secret", "-n", s.name, "sh.helm.release.v1."+addon+".v2", "status=pending-upgrade")
			require.NoError(s.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, "byhand-"+name)
			addon := s.name + "-a"
			s.define(addon, "tiny", versions("1.0.0", "1.1.0", "2.0.0"))
			s.install(`{addons: [{name: ` + addon + `, version: 1.0.0}]}`)
			s.installerReady()
			s.install(`{addons: [{name: ` + addon + `, version: 1.1.0}]}`)
			s.installerReady()
			recorded := s.record()
			do(s, addon)
			s.request("installer", s.name, "one")
			s.eventually("it is as it was", func(t *assert.CollectT) {
				assert.Equal(t, "one", s.helmRelease(t, addon).Status.LastHandledReconcileAt)
				assert.Equal(t, "1.1.0", s.rendered(t, addon).Data["version"])
			})
			s.installerReady()
			t.Logf("%s: %v", name, recorded.seen())
			s.install(`{addons: [{name: ` + addon + `}]}`)
			s.installerReady()
			assert.Equal(t, "2.0.0", s.rendered(t, addon).Data["version"])
		})
	}
}
