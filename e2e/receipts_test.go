package e2e

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

func TestAReceiptTellsThatHelmsStorageWasGone(t *testing.T) {
	s := beside(t, "amnesia")
	s.define("amnesia-a", "tiny", inNamespace("amnesia-space"))
	s.define("amnesia-other", "tiny")
	s.install(`{addons: [{name: amnesia-a}, {name: amnesia-other}]}`)
	s.installerReady()
	require.NoError(t, s.api.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace("amnesia-space"), client.MatchingLabels{"owner": "helm"}))

	s.install(`{addons: [{name: amnesia-other}]}`)
	s.gone("amnesia-a")
	receipt := s.receipt("amnesia-a")
	assert.Equal(t, v1alpha1.OutcomeOrphaned, receipt.Result)
	assert.Equal(t, []string{"configmaps/amnesia-space/amnesia-a", "namespaces/amnesia-space"}, receipt.LeftBehind)
	assert.Contains(t, receipt.Message, "Flux found no Helm release amnesia-a in namespace amnesia-space and took it for uninstalled, but 1 object is left: configmaps/amnesia-space/amnesia-a")
	s.event("Installer", "amnesia", "Orphaned", "amnesia-a", "Flux found no Helm release")
}

func TestAReceiptTellsThatAHelmReleaseWasForcedAway(t *testing.T) {
	s := beside(t, "forced")
	s.define("forced-a", "tiny", inNamespace("forced-space"), gated(v1alpha1.MomentRemove, switchboard("forced")))
	s.define("forced-other", "tiny")
	s.install(`{addons: [{name: forced-a}, {name: forced-other}]}`)
	s.installerReady()
	s.install(`{addons: [{name: forced-other}]}`)
	s.says("forced-a", v1alpha1.StateBlocked, "switch it on")

	for _, args := range [][]string{
		{"annotate", "helmrelease", "forced-a", "-n", v1alpha1.Namespace, "addons.kurl.sh/allow-delete=forced-a"},
		{"patch", "helmrelease", "forced-a", "-n", v1alpha1.Namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`},
		{"delete", "helmrelease", "forced-a", "-n", v1alpha1.Namespace},
	} {
		_, err := s.kubectl("", args...)
		require.NoError(t, err)
	}
	s.gone("forced-a")
	receipt := s.receipt("forced-a")
	assert.Equal(t, v1alpha1.OutcomeOrphaned, receipt.Result)
	assert.Equal(t, "1.0.0", receipt.Version)
	assert.Equal(t, []string{"configmaps/forced-space/forced-a", "namespaces/forced-space", "secrets/forced-space/sh.helm.release.v1.forced-a.v1"}, receipt.LeftBehind)
	assert.Contains(t, receipt.Message, "HelmRelease forced-a was deleted past the operator")
	s.event("Installer", "forced", "Orphaned", "forced-a", "past the operator")

	s.advised("helm", receipt.Message)
	assert.Empty(t, s.helmStorageIn("forced-space", "forced-a"))
	err := s.api.Get(t.Context(), client.ObjectKey{Namespace: "forced-space", Name: "forced-a"}, &corev1.ConfigMap{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestASuspendedReleaseIsNotUninstalled(t *testing.T) {
	s := beside(t, "asleep")
	s.define("asleep-a", "tiny")
	s.define("asleep-other", "tiny")
	s.install(`{addons: [{name: asleep-a}, {name: asleep-other}]}`)
	s.installerReady()
	begin := time.Now()
	s.suspend("asleep-a", true)
	s.says("asleep-a", v1alpha1.StateSuspended, `"ann"`)

	s.install(`{addons: [{name: asleep-other}]}`)
	s.says("asleep-a", v1alpha1.StateSuspended, `suspended by "ann"`, "is not uninstalled while it is", "flux resume helmrelease asleep-a -n kurl-addons")
	s.lookAgain("asleep-a")
	assert.Empty(t, s.deletions(begin))
	assert.Empty(t, s.installer(t).Status.Removed)
	s.suspend("asleep-a", false)
	s.gone("asleep-a")
	assert.Equal(t, v1alpha1.OutcomeRemoved, s.receipt("asleep-a").Result)
	assert.Empty(t, s.helmStorage("asleep-a"))
}

// suspend does what `flux suspend` and `flux resume` do.
func (s *story) suspend(release string, suspended bool) {
	s.t.Helper()
	patch := `{"spec":{"suspend":false}}`
	if suspended {
		patch = `{"spec":{"suspend":true}}`
	}
	_, err := s.kubectl("", "patch", "helmrelease", release, "-n", v1alpha1.Namespace, "--type=merge", "--field-manager=ann", "-p", patch)
	require.NoError(s.t, err)
}

// Flux lets go of a HelmRelease without an uninstall, and without a word, if the ServiceAccount that it acts as is not there, or if it
// is suspended. Nothing else runs meanwhile: helm-controller is down here.
func TestNothingIsClaimedWhileFluxIsDown(t *testing.T) {
	s := before(t, "away")
	names := []string{"away-a", "away-account", "away-suspended"}
	for _, name := range append(names, "away-other") {
		s.define(name, "tiny")
	}
	s.install(`{addons: [{name: away-a}, {name: away-account}, {name: away-suspended}, {name: away-other}]}`)
	s.installerReady()

	require.NoError(t, s.Kill(t.Context(), cluster.HelmController))
	s.install(`{addons: [{name: away-other}]}`)
	s.approve()
	for _, name := range names {
		s.says(name, v1alpha1.StateRemoving, "uninstalling release "+name, "waiting for Flux")
		assert.NotNil(t, s.helmRelease(t, name).DeletionTimestamp)
	}
	s.installerSays(v1alpha1.ConditionReady, "away-a is Removing", "waiting for Flux")
	s.patchRelease("away-account", `{"spec":{"serviceAccountName":"nobody"}}`)
	s.suspend("away-suspended", true)
	s.says("away-suspended", v1alpha1.StateSuspended, "flux resume helmrelease away-suspended")
	s.lookAgain(names...)
	assert.Empty(t, s.installer(t).Status.Removed, "nothing is known yet")
	for _, name := range names {
		assert.Contains(t, s.helmRelease(t, name).Finalizers, helmv2.HelmReleaseFinalizer)
		assert.Len(t, s.helmStorage(name), 1)
	}

	require.NoError(t, s.Restart(t.Context(), cluster.HelmController))
	s.gone("away-a", "away-account")
	assert.Equal(t, v1alpha1.OutcomeRemoved, s.receipt("away-a").Result)
	assert.Empty(t, s.receipt("away-a").LeftBehind)
	orphan := s.receipt("away-account")
	assert.Equal(t, v1alpha1.OutcomeOrphaned, orphan.Result)
	assert.Equal(t, []string{"configmaps/away/away-account", "secrets/away/sh.helm.release.v1.away-account.v1"}, orphan.LeftBehind)
	assert.Contains(t, orphan.Message, "was not uninstalled")
	assert.Contains(t, orphan.Message, "ServiceAccount")

	s.says("away-suspended", v1alpha1.StateSuspended, "flux resume helmrelease away-suspended")
	s.eventually("Flux has let go of the suspended one", func(t *assert.CollectT) {
		assert.Equal(t, []string{v1alpha1.FinalizerUninstall}, s.helmRelease(t, "away-suspended").Finalizers)
	})
	assert.Len(t, s.helmStorage("away-suspended"), 1)
	s.suspend("away-suspended", false)
	s.gone("away-suspended")
	assert.Equal(t, v1alpha1.OutcomeRemoved, s.receipt("away-suspended").Result)
	assert.Empty(t, s.helmStorage("away-suspended"))

	s.advised("helm", orphan.Message)
	assert.Empty(t, s.helmStorage("away-account"))
}

func (s *story) patchRelease(name, patch string) {
	s.t.Helper()
	_, err := s.kubectl("", "patch", "helmrelease", name, "-n", v1alpha1.Namespace, "--type=merge", "-p", patch)
	require.NoError(s.t, err)
}
