package controllers

import (
	"fmt"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestARemovalEndsInAReceipt(t *testing.T) {
	const namespace = "ns-app"
	record := "secrets/ns-app/sh.helm.release.v1.app.v1"
	for name, test := range map[string]struct {
		uninstall addons.Uninstall
		there     func(removal)
		receipt   v1alpha1.Receipt
		says      []string
		event     string
		stays     bool // the namespace
	}{
		"uninstalled": {
			uninstall: addons.UninstallDone,
			receipt:   v1alpha1.Receipt{Result: v1alpha1.OutcomeRemoved},
			event:     "Normal Removed add-on app was uninstalled",
		},
		"uninstalled, with what an uninstall leaves": {
			uninstall: addons.UninstallDone,
			there: func(r removal) {
				kept := madeByApp("kept")
				kept.Annotations = map[string]string{"helm.sh/resource-policy": "keep"}
				r.create(kept)
				r.create(volumeClaim(namespace, "data-app-0", "app"))
			},
			receipt: v1alpha1.Receipt{Result: v1alpha1.OutcomeRemoved, LeftBehind: []string{
				"configmaps/ns-app/kept", "namespaces/ns-app", "persistentvolumeclaims/ns-app/data-app-0",
			}},
			says: []string{"namespace ns-app was kept, since it holds", "persistentvolumeclaims/ns-app/data-app-0"}, event: "Normal Removed", stays: true,
		},
		"uninstalled, but something was left out": {
			uninstall: addons.UninstallDone,
			there:     func(r removal) { r.create(madeByApp("forgotten")) },
			receipt:   v1alpha1.Receipt{Result: v1alpha1.OutcomeOrphaned, LeftBehind: []string{"configmaps/ns-app/forgotten", "namespaces/ns-app"}},
			says:      []string{"1 object is left: configmaps/ns-app/forgotten"}, event: "Warning Orphaned", stays: true,
		},
		"skipped": {
			uninstall: addons.UninstallSkipped,
			there: func(r removal) {
				r.create(madeByApp("running"))
				r.create(helmRecord("app"))
			},
			receipt: v1alpha1.Receipt{Result: v1alpha1.OutcomeOrphaned, LeftBehind: []string{"configmaps/ns-app/running", "namespaces/ns-app", record}},
			says:    []string{"release app was not uninstalled", "helm uninstall app -n ns-app"}, event: "Warning Orphaned", stays: true,
		},
		"Helm's record was gone": {
			uninstall: addons.UninstallAssumed,
			there:     func(r removal) { r.create(madeByApp("running")) },
			receipt:   v1alpha1.Receipt{Result: v1alpha1.OutcomeOrphaned, LeftBehind: []string{"configmaps/ns-app/running", "namespaces/ns-app"}},
			says:      []string{"Flux found no Helm release app"}, event: "Warning Orphaned", stays: true,
		},
		"Helm's record was gone, and all else": {
			uninstall: addons.UninstallAssumed, receipt: v1alpha1.Receipt{Result: v1alpha1.OutcomeRemoved}, event: "Normal Removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemoval(t, definition("app", nil, "app"))
			if test.there != nil {
				test.there(r)
			}
			r.remove("app")
			r.endUninstall("app", test.uninstall)
			r.settle()

			receipts := r.receipts()
			require.Len(t, receipts, 1)
			for _, text := range test.says {
				assert.Contains(t, receipts[0].Message, text)
			}
			if len(test.says) == 0 {
				assert.Empty(t, receipts[0].Message)
			}
			test.receipt.Name, test.receipt.Version, test.receipt.Message = "app", "1.0.0", receipts[0].Message
			assert.Equal(t, test.receipt, receipts[0])
			assert.Contains(t, fmt.Sprint(r.events()), test.event)
			assert.Equal(t, test.stays, r.namespace(namespace) != nil, "the namespace stays")
			r.goneExcept("stays")
		})
	}
}

// goneExcept checks that of all add-ons but one nothing of ours is left.
func (r removal) goneExcept(name string) {
	r.Helper()
	assert.Len(r, r.versions(r.api), 5, "an Installer, and of one add-on an Addon, a HelmRelease, a HelmRepository and its defaults")
	assert.False(r, r.missing(name, &v1alpha1.Addon{}))
}

func TestARemovalWaitsForWhatIsStillBeingDeleted(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	slow := madeByApp("slow")
	slow.Finalizers = []string{"example.com/slow"}
	r.create(slow)
	require.NoError(t, r.api.Delete(r.ctx, slow))
	r.later(0)
	r.remove("app")
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	addon := get(r.stage, "app", &v1alpha1.Addon{})
	assert.Equal(t, v1alpha1.StateRemoving, addon.Status.State)
	assert.Equal(t, "Flux is done; waiting until this is gone too: configmaps/ns-app/slow (held by example.com/slow)", readyMessage(addon))
	assert.False(t, r.missing("app", &helmv2.HelmRelease{}), "the evidence is kept")
	result, err := r.addon.Reconcile(r.ctx, addon)
	require.NoError(t, err)
	assert.Equal(t, time.Second, result.RequeueAfter)

	r.later(9 * time.Minute)
	r.settle()
	assert.Empty(t, r.receipts())
	r.later(11 * time.Minute)
	r.settle()
	receipts := r.receipts()
	require.Len(t, receipts, 1)
	assert.Equal(t, v1alpha1.OutcomeOrphaned, receipts[0].Result)
	assert.Contains(t, receipts[0].Message, "still being deleted")
	assert.Contains(t, receipts[0].Message, "held by example.com/slow")
	assert.Equal(t, []string{"configmaps/ns-app/slow"}, receipts[0].LeftBehind, "nothing else is in the namespace, which goes as soon as that does")
}

func TestAnAddOnThatNeverRanGetsAReceiptWithoutAVersion(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	r.create(&v1alpha1.Addon{
		ObjectMeta: metav1.ObjectMeta{Name: "never", Finalizers: []string{v1alpha1.FinalizerUninstall}},
		Spec:       v1alpha1.AddonSpec{Installer: "default", Version: "1.0.0", State: v1alpha1.Absent},
	})
	r.definitions = append(r.definitions, definition("never", nil, "never"))
	r.work(r.cached, r.definitions)
	r.settle()
	assert.Equal(t, []v1alpha1.Receipt{{Name: "never", Result: v1alpha1.OutcomeRemoved}}, r.receipts())
}

func TestAHelmReleaseThatWasDeletedPastTheOperatorIsReported(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	r.create(helmRecord("app"))
	r.remove("app")
	hr := get(r.stage, "app", &helmv2.HelmRelease{})
	hr.Finalizers = nil
	require.NoError(t, r.api.Update(r.ctx, hr))
	r.settle()
	receipts := r.receipts()
	require.Len(t, receipts, 1)
	assert.Equal(t, v1alpha1.OutcomeOrphaned, receipts[0].Result)
	assert.Equal(t, "1.0.0", receipts[0].Version)
	assert.Contains(t, receipts[0].Message, "HelmRelease app was deleted past the operator")
	assert.Contains(t, receipts[0].LeftBehind, "secrets/ns-app/sh.helm.release.v1.app.v1")
}

func TestAnInstallerKeepsTheLastTenReceipts(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	holder := get(r.stage, "default", &v1alpha1.Installer{})
	for i := range 10 {
		holder.Status.Removed = append(holder.Status.Removed, v1alpha1.Receipt{
			Name: fmt.Sprintf("old-%d", i), Result: v1alpha1.OutcomeRemoved, UID: types.UID(fmt.Sprint(i)), At: holder.CreationTimestamp,
		})
	}
	require.NoError(t, r.api.Status().Update(r.ctx, holder))
	r.remove("app")
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	receipts := r.receipts()
	require.Len(t, receipts, 10)
	assert.Equal(t, "old-1", receipts[0].Name)
	assert.Equal(t, "app", receipts[9].Name)
}

func TestAnAddOnWhoseInstallerHasGoneStillGoes(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	r.remove("app")
	holder := get(r.stage, "default", &v1alpha1.Installer{})
	holder.Finalizers = nil
	require.NoError(t, r.api.Update(r.ctx, holder))
	require.NoError(t, r.api.Delete(r.ctx, holder))
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	assert.True(t, r.missing("app", &v1alpha1.Addon{}))
	assert.Contains(t, fmt.Sprint(r.events()), "Normal Removed add-on app was uninstalled")
}

func TestKindsThatMayNotBeListedAreNamedAndKeepTheNamespace(t *testing.T) {
	r := newRemoval(t, definition("app", nil, "app"))
	r.remove("app")
	nobody := rest.CopyConfig(config)
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	blind, err := metadata.NewForConfig(nobody)
	require.NoError(t, err)
	r.addon.Census.Metadata = blind
	r.endUninstall("app", addons.UninstallDone)
	r.settle()
	receipts := r.receipts()
	require.Len(t, receipts, 1)
	assert.Equal(t, v1alpha1.OutcomeRemoved, receipts[0].Result, "the uninstall was seen")
	assert.Equal(t, []string{"namespaces/ns-app"}, receipts[0].LeftBehind)
	assert.Contains(t, receipts[0].Message, "namespace ns-app was kept, since it may hold")
	assert.Contains(t, receipts[0].Message, `the label addons.kurl.sh/aggregate-to-facts: "true"`)
	assert.NotNil(t, r.namespace("ns-app"))
}
