package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const storageCRD = "customresourcedefinitions/volumepools.storage.example.com"

// noVolumesLeft is the Remove gate of an add-on that serves the StorageClass of its name.
func noVolumesLeft(class string) trait {
	const message = `cel.bind(mine, things.filter(v, v.spec.storageClassName == %[1]q).map(v, string(v.metadata.name)).sort(), string(mine.size())` +
		` + " volumes still use %[1]s: " + mine.slice(0, mine.size() < 3 ? mine.size() : 3).join(", ")` +
		` + "…; move their data, then delete them with: kubectl delete persistentvolumes -l class=%[1]s")`
	return gated(v1alpha1.MomentRemove, check("no-volumes-left", fmt.Sprintf("!things.exists(v, v.spec.storageClassName == %q)", class), fmt.Sprintf(message, class),
		v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "PersistentVolume"}))
}

// volumes makes PersistentVolumes of a class: CLASS-1, CLASS-2 and so on.
func (s *story) volumes(class string, from, to int) {
	s.t.Helper()
	for i := from; i <= to; i++ {
		_, err := s.kubectl(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]d, labels: {class: %[1]s}}
spec:
  storageClassName: %[1]s
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: %[1]s.storage.example.com, volumeHandle: %[1]s-%[2]d}
`, class, i), "apply", "-f", "-")
		require.NoError(s.t, err)
	}
}

// claim makes a PersistentVolumeClaim that no volume is large enough for.
func (s *story) claim(namespace, name string) {
	s.t.Helper()
	_, err := s.kubectl(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, namespace: %s}
spec: {storageClassName: nobody, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}
`, name, namespace), "apply", "-f", "-")
	require.NoError(s.t, err)
}

func TestStorageStaysWhileVolumesUseIt(t *testing.T) {
	s := beside(t, "depot")
	s.define("depot-a", "storage", inNamespace("depot-storage"), noVolumesLeft("depot-a"))
	s.define("depot-other", "tiny")
	s.install(`{addons: [{name: depot-a}, {name: depot-other}]}`)
	s.installerReady()
	s.volumes("depot-a", 1, 5)
	s.claim("depot-storage", "data")
	before, begin := s.identity("depot-a"), time.Now()

	s.install(`{addons: [{name: depot-other}]}`)
	s.heldByVolumes("depot-a", 5)
	assert.Empty(t, s.deletions(begin))
	assert.Equal(t, before, s.identity("depot-a"))

	s.install(`{addons: [{name: depot-a}, {name: depot-other}]}`)
	s.installerReady()
	assert.Equal(t, before, s.identity("depot-a"), "put back while held: nothing has happened")
	assert.Empty(t, s.deletions(begin))
	addon := s.addon(t, "depot-a")
	assert.Empty(t, addon.Status.Gates)
	assert.Empty(t, addon.Status.BlockedBy)
	assert.Empty(t, status(addon.Status.Conditions, v1alpha1.ConditionGatesPassed))

	s.install(`{addons: [{name: depot-other}]}`)
	s.heldByVolumes("depot-a", 5)
	s.advised("kubectl", message(s.addon(t, "depot-a").Status.Conditions))
	opened := time.Now()
	s.gone("depot-a")
	t.Logf("gone %s after the last volume", time.Since(opened).Round(time.Second))
	receipt := s.receipt("depot-a")
	assert.Equal(t, v1alpha1.OutcomeRemoved, receipt.Result)
	assert.Equal(t, "1.0.0", receipt.Version)
	assert.Equal(t, []string{storageCRD, "namespaces/depot-storage", "persistentvolumeclaims/depot-storage/data"}, receipt.LeftBehind)
	assert.Contains(t, receipt.Message, "namespace depot-storage was kept, since it holds persistentvolumeclaims/depot-storage/data")
	s.event("Installer", "depot", "Removed", "depot-a", "persistentvolumeclaims/depot-storage/data")
	s.event("Addon", "depot-a", "Removed", "was uninstalled")
	s.installerReady()
}

// heldByVolumes waits until the removal of an add-on is held by its volumes, and checks that everybody who looks is told so.
func (s *story) heldByVolumes(name string, count int) {
	s.t.Helper()
	text := fmt.Sprintf("%d volumes still use %[2]s: %[2]s-1, %[2]s-2, %[2]s-3…; move their data, then delete them with: kubectl delete persistentvolumes -l class=%[2]s", count, name)
	s.says(name, v1alpha1.StateBlocked, "it is not removed while its gate no-volumes-left is closed: "+text)
	addon := s.addon(s.t, name)
	require.Len(s.t, addon.Status.Gates, 1)
	gate := addon.Status.Gates[0]
	require.NotNil(s.t, gate.Since)
	assert.Equal(s.t, v1alpha1.GateStatus{Name: "no-volumes-left", When: v1alpha1.MomentRemove, Message: text, Since: gate.Since}, gate)
	assert.Equal(s.t, "False", status(addon.Status.Conditions, v1alpha1.ConditionGatesPassed))
	assert.Contains(s.t, conditionMessage(addon.Status.Conditions, v1alpha1.ConditionGatesPassed), text)
	require.Len(s.t, addon.Status.BlockedBy, 1)
	link := addon.Status.BlockedBy[0]
	require.NotNil(s.t, link.Since)
	assert.Equal(s.t, v1alpha1.Blocker{Kind: v1alpha1.BlockerGate, Name: "no-volumes-left", Message: text, Since: link.Since}, link)
	s.event("Addon", name, "Blocked", text)
	s.eventually("the Installer shows it too", func(t *assert.CollectT) {
		installer := s.installer(t)
		assert.Contains(t, message(installer.Status.Conditions), text)
		for _, summary := range installer.Status.Addons {
			if summary.Name == name {
				assert.Equal(t, v1alpha1.StateBlocked, summary.State)
				assert.Equal(t, addon.Status.BlockedBy, summary.BlockedBy)
				assert.Contains(t, summary.Message, text)
				return
			}
		}
		assert.Fail(t, "it is not listed")
	})
}

// Nothing else runs meanwhile: the operator dies here.
func TestARemovalGoesOnWhereTheOperatorDied(t *testing.T) {
	s := before(t, "vault")
	s.define("vault-a", "storage", inNamespace("vault-storage"), following("vault-a-hooks", "hooks"), noVolumesLeft("vault-a"), versions("1.0.0"))
	s.define("vault-other", "tiny")
	s.install(`{addons: [{name: vault-a, releases: [{name: vault-a-hooks, values: {hook: {holdDelete: true}}}]}, {name: vault-other}]}`)
	s.installerReady()
	s.volumes("vault-a", 1, 5)
	s.claim("vault-storage", "data")
	before, begin := s.identity("vault-a", "vault-a-hooks"), time.Now()

	s.install(`{addons: [{name: vault-other}]}`)
	s.heldByVolumes("vault-a", 5)
	held := s.addon(t, "vault-a").Status
	s.whileTheOperatorIsDead(func() {})
	s.lookAgain("vault-a")
	assert.Equal(t, before, s.identity("vault-a", "vault-a-hooks"))
	assert.Empty(t, s.deletions(begin))
	assert.Equal(t, held.Gates, s.addon(t, "vault-a").Status.Gates, "since when it is closed is not forgotten")
	assert.Equal(t, held.BlockedBy, s.addon(t, "vault-a").Status.BlockedBy)

	s.advised("kubectl", message(s.addon(t, "vault-a").Status.Conditions))
	s.hookRuns("vault-storage", "vault-a-hooks-cleanup")
	s.whileTheOperatorIsDead(func() {
		s.finishHook("vault-storage", "vault-a-hooks-cleanup")
		s.eventually("Flux is done, and our finalizer holds the evidence", func(t *assert.CollectT) {
			hr := s.helmRelease(t, "vault-a-hooks")
			assert.Equal(t, []string{v1alpha1.FinalizerUninstall}, hr.Finalizers)
			assert.Empty(t, hr.Status.History)
		})
		s.volumes("vault-a", 1, 3)
	})
	s.heldByVolumes("vault-a", 3)
	assert.Nil(t, s.helmRelease(t, "vault-a").DeletionTimestamp, "the gate is asked before each release")
	assert.NotNil(t, s.helmRelease(t, "vault-a-hooks").DeletionTimestamp)

	s.advised("kubectl", message(s.addon(t, "vault-a").Status.Conditions))
	s.gone("vault-a", "vault-a-hooks")
	receipt := s.receipt("vault-a")
	assert.Equal(t, v1alpha1.OutcomeRemoved, receipt.Result)
	assert.Equal(t, []string{storageCRD, "namespaces/vault-storage", "persistentvolumeclaims/vault-storage/data"}, receipt.LeftBehind)
	assert.Len(t, s.installer(t).Status.Removed, 1)
}

// whileTheOperatorIsDead kills the operator, and starts it again afterwards.
func (s *story) whileTheOperatorIsDead(during func()) {
	s.t.Helper()
	require.NoError(s.t, s.Kill(s.t.Context(), cluster.Operator))
	during()
	require.NoError(s.t, s.Restart(s.t.Context(), cluster.Operator))
}

func (s *story) hookRuns(namespace, job string) {
	s.t.Helper()
	s.eventually("the hook "+job+" runs", func(t *assert.CollectT) {
		require.NoError(t, s.api.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: job}, &batchv1.Job{}))
	})
}

func (s *story) finishHook(namespace, job string) {
	s.t.Helper()
	_, err := s.kubectl("", "patch", "job", job, "-n", namespace, "-p", `{"spec":{"suspend":false}}`)
	require.NoError(s.t, err)
}
