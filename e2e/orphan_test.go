package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAnInstallerCanLeaveEverythingRunningAndTakeItBack(t *testing.T) {
	s := beside(t, "leftover")
	s.define("leftover-a", "tiny", defaults(`{message: ours}`))
	s.define("leftover-b", "tiny", requires("leftover-a"))
	s.install(`{deletionPolicy: Orphan, addons: [{name: leftover-a}, {name: leftover-b}]}`)
	s.installerReady()
	begin, uids := time.Now(), s.uids("leftover-a", "leftover-b")

	s.confirmAndDelete()
	for _, name := range []string{"leftover-a", "leftover-b"} {
		s.event("Addon", name, "Orphaned", name, "left running as asked", "kubectl delete helmrelease -n kurl-addons "+name)
		s.event("Installer", "leftover", "Orphaned", name)
		hr := s.helmRelease(t, name)
		assert.NotContains(t, hr.Finalizers, v1alpha1.FinalizerUninstall)
		ours := slices.DeleteFunc(slices.Collect(maps.Keys(hr.Labels)), func(l string) bool { return !strings.Contains(l, "kurl.sh") && l != v1alpha1.LabelManagedBy })
		assert.Empty(t, ours)
	}
	s.fluxLooks("leftover-a", "leftover-b")
	assert.Equal(t, uids, s.uids("leftover-a", "leftover-b"), "the same objects, and no new revision")
	assert.Empty(t, s.deletions(begin))
	namespace := &corev1.Namespace{}
	s.get(t, "leftover", namespace)
	assert.Nil(t, namespace.DeletionTimestamp)
	assert.NotContains(t, namespace.Labels, v1alpha1.LabelProtected)
	_, err := s.kubectl("", "delete", "helmrelease", "leftover-a", "-n", v1alpha1.Namespace, "--dry-run=server")
	require.NoError(t, err, "nothing protects it any more")

	s.install(`{addons: [{name: leftover-a}, {name: leftover-b}]}`)
	s.says("leftover-a", v1alpha1.StateBlocked, "leftover-a", "adopt: true")
	s.install(`{addons: [{name: leftover-a, adopt: true}, {name: leftover-b, adopt: true}]}`)
	s.installerReady()
	s.fluxLooks("leftover-a", "leftover-b")
	assert.Equal(t, uids, s.uids("leftover-a", "leftover-b"), "taken over without a new install")
	assert.Equal(t, "ours", s.rendered(t, "leftover-a").Data["message"])
	for _, name := range []string{"leftover-a", "leftover-b"} {
		hr := s.helmRelease(t, name)
		assert.Contains(t, hr.Finalizers, v1alpha1.FinalizerUninstall)
		assert.Equal(t, "true", hr.Labels[v1alpha1.LabelProtected])
	}
}

// uids are those of the HelmReleases, of Helm's revisions and of what the charts made.
func (s *story) uids(releases ...string) map[string][]string {
	s.t.Helper()
	found := map[string][]string{}
	for _, name := range releases {
		found[name] = []string{string(s.helmRelease(s.t, name).UID), string(s.rendered(s.t, name).UID), s.rendered(s.t, name).ResourceVersion}
		for _, secret := range s.helmStorage(name) {
			found[name] = append(found[name], secret.Name, string(secret.UID))
		}
	}
	return found
}

// fluxLooks makes Flux look at HelmReleases, and returns once it has and has found all well.
func (s *story) fluxLooks(releases ...string) {
	s.t.Helper()
	token := time.Now().Format(time.RFC3339Nano)
	_, err := s.kubectl("", slices.Concat([]string{"annotate", "--overwrite", "-n", v1alpha1.Namespace, "helmrelease"}, releases, []string{"reconcile.fluxcd.io/requestedAt=" + token})...)
	require.NoError(s.t, err)
	s.eventually("Flux has looked", func(t *assert.CollectT) {
		for _, name := range releases {
			hr := s.helmRelease(t, name)
			assert.Equal(t, token, hr.Status.LastHandledReconcileAt)
			assert.Equal(t, hr.Generation, hr.Status.ObservedGeneration)
			assert.Equal(t, "True", status(hr.Status.Conditions, v1alpha1.ConditionReady))
		}
	})
}
