package controllers

import (
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// The operator is killed after each write of the end of a removal in turn. Started anew, it ends in the same state, with one receipt.
func TestKilledAtTheEndOfARemovalItEndsInTheSameState(t *testing.T) {
	for name, test := range map[string]struct {
		play   func(removal)
		writes int // at least
	}{
		"one release uninstalled and one not": {play: func(r removal) {
			r.create(helmRecord("app"))
			r.remove("app")
			r.endUninstall("app", addons.UninstallSkipped)
			r.settle()
			r.endUninstall("app-crds", addons.UninstallDone)
		}, writes: 7},
		"handed over": {play: func(r removal) { r.orphan("app") }, writes: 8},
	} {
		t.Run(name, func(t *testing.T) {
			var whole map[string]any
			for after := 1; ; after++ {
				writes, now := killedAtTheEnd(t, test.play, after)
				if whole == nil {
					whole = now
				}
				require.Equal(t, whole, now, "killed after write %d", after)
				if writes < after {
					assert.Greater(t, after, test.writes, "the writes were counted")
					return
				}
			}
		})
	}
}

// killedAtTheEnd returns how many writes there were before the operator was killed, and how it all ended.
func killedAtTheEnd(t *testing.T, play func(removal), after int) (writes int, end map[string]any) {
	t.Helper()
	t.Run(fmt.Sprint("after write ", after), func(t *testing.T) {
		r := newRemoval(t, definition("app", nil, "app-crds", "app"))
		play(r)
		r.work(dying(r.cached, &writes, after), r.definitions)
		for killed := false; !killed; {
			before := writes
			r.catchUp()
			addon := &v1alpha1.Addon{}
			if r.missing("app", addon) {
				break
			}
			_, err := r.addon.Reconcile(r.ctx, get(r.stage, "app", addon))
			if killed = err != nil; killed {
				require.ErrorIs(t, err, errKilled)
			}
			if writes == before {
				break
			}
		}
		r.work(r.cached, r.definitions)
		r.finish("app")
		end = r.ending()
	})
	return writes, end
}

// ending is all that there is in the end, but for what differs from run to run.
func (r removal) ending() map[string]any {
	ending := r.specs()
	receipts := r.receipts()
	require.Len(r, receipts, 1)
	ending["receipt"] = receipts[0]
	for _, list := range kinds() {
		for _, object := range r.list(r.api, list) {
			ending[fmt.Sprintf("labels of %T %s", object, object.GetName())] = ourLabels(object)
		}
	}
	var configMaps corev1.ConfigMapList
	require.NoError(r, r.api.List(r.ctx, &configMaps, client.InNamespace(v1alpha1.Namespace)))
	for i := range configMaps.Items {
		ending["ConfigMap "+configMaps.Items[i].Name] = ourLabels(&configMaps.Items[i])
	}
	ending["namespace"] = nil
	if namespace := r.namespace("ns-app"); namespace != nil {
		ending["namespace"] = namespace.Labels
	}
	for _, object := range r.list(r.api, &helmv2.HelmReleaseList{}) {
		ending["finalizers of "+object.GetName()] = object.GetFinalizers()
	}
	return ending
}
