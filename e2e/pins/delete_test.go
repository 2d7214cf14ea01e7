package pins

import (
	"slices"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// delete deletes a HelmRelease that our finalizer holds, and waits until Flux has let go of it.
func (s *subject) delete(t *testing.T) {
	t.Helper()
	require.NoError(t, s.api.Delete(t.Context(), s.get(t)))
	s.await(t, "let go by Flux", func(m moment) bool {
		return m.DeletionTimestamp != nil && !slices.Contains(m.Finalizers, helmv2.HelmReleaseFinalizer)
	})
}

// awaitUninstalled waits until the status says so, and checks that it is true.
func (s *subject) awaitUninstalled(t *testing.T) {
	t.Helper()
	m := s.await(t, "uninstalled", func(m moment) bool { return m.Status.StorageNamespace == "" })
	assert.Empty(t, m.Status.History)
	released := m.condition(helmv2.ReleasedCondition)
	assert.Equal(t, metav1.ConditionFalse, released.Status)
	assert.Equal(t, helmv2.UninstallSucceededReason, released.Reason)
	assert.True(t, m.observed())
	assert.Equal(t, addons.PhaseDeleting, m.seen.Phase)
	assert.Equal(t, addons.UninstallDone, m.seen.Uninstall)
	assert.True(t, s.gone(t, s.config()))
	assert.Empty(t, s.stored(t))
}

// Held by a finalizer of ours, a HelmRelease shows after Flux has let go that it was uninstalled: history and storageNamespace are
// empty, and Released is False for UninstallSucceeded.
func TestOurFinalizerShowsTheUninstall(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "uninstall", "tiny", "1.0.0", ""))
	s.awaitSettled(t)
	s.delete(t)
	s.awaitUninstalled(t)
}

// A release of which the ServiceAccount is missing is let go without an uninstall and without a word in its conditions: history and
// objects stay. Once the ServiceAccount is back, a poke makes Flux uninstall the object that our finalizer still holds.
func TestOurFinalizerShowsASkippedUninstall(t *testing.T) {
	w := share(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "skipper"}}
	require.NoError(t, w.api.Create(t.Context(), account.DeepCopy()))
	require.NoError(t, w.api.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "skipper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	s := w.start(t, w.release(t, "skipped", "tiny", "1.0.0", ""), func(hr *helmv2.HelmRelease) {
		hr.Spec.ServiceAccountName = account.Name
	})
	before := s.awaitSettled(t)
	require.NoError(t, w.api.Delete(t.Context(), account.DeepCopy()))
	s.delete(t)
	m := s.await(t, "let go by Flux", func(m moment) bool { return m.observed() })
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
	assert.Equal(t, target, m.Status.StorageNamespace)
	assert.Equal(t, before.condition(helmv2.ReleasedCondition), m.condition(helmv2.ReleasedCondition))
	assert.False(t, s.gone(t, s.config()))
	assert.Equal(t, []string{"v1 deployed"}, s.stored(t))
	assert.Equal(t, addons.PhaseDeleting, m.seen.Phase)
	assert.Equal(t, addons.UninstallSkipped, m.seen.Uninstall)

	require.NoError(t, w.api.Create(t.Context(), account.DeepCopy()))
	s.poke(t)
	s.awaitUninstalled(t)
}

// A release that is deleted while suspended is let go without an uninstall; cleared of its suspension while our finalizer holds it,
// Flux uninstalls it after all, and does nothing else to it.
func TestDeletedWhileSuspendedIsUninstalledOnResume(t *testing.T) {
	w := share(t)
	s := w.start(t, w.release(t, "resumed", "tiny", "1.0.0", ""))
	s.awaitSettled(t)
	s.patch(t, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend = true
		hr.Spec.Chart.Spec.Version = "2.0.0"
	})
	s.delete(t)
	m := s.await(t, "let go by Flux", func(m moment) bool { return m.observed() })
	assert.Equal(t, []string{"v1 deployed 1.0.0"}, m.history())
	assert.Equal(t, target, m.Status.StorageNamespace)
	assert.False(t, s.gone(t, s.config()))
	chart := m.sources.Chart
	require.NotNil(t, chart, "the HelmChart is left behind too")

	mark := s.mark()
	s.patch(t, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	s.awaitUninstalled(t)
	for _, m := range s.since(mark) {
		for _, entry := range m.history() {
			assert.Contains(t, entry, "v1 ")
		}
	}
	eventually(t, func(c *assert.CollectT) { assert.True(c, w.gone(c, chart)) })

	released := s.patch(t, func(hr *helmv2.HelmRelease) { hr.Finalizers = nil })
	eventually(t, func(c *assert.CollectT) { assert.True(c, w.gone(c, released)) })
}
