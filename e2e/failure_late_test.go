package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// It takes minutes until Flux is called late, so this story has a cluster of its own and runs beside others.
func TestAnAddonSaysThatFluxIsAway(t *testing.T) {
	t.Parallel()
	s := tell(t, ownWorld(t), "late")
	for _, name := range []string{"late-moves", "late-stays", "late-new", "late-newer"} {
		s.define(name, "tiny", versions("1.0.0", "1.1.0", "2.0.0"))
	}
	s.define("late-goes", "tiny", timeout(5*time.Second))
	s.install(`{addons: [{name: late-goes}, {name: late-moves, version: 1.0.0}, {name: late-stays}]}`)
	s.installerReady()

	require.NoError(t, s.Kill(t.Context(), cluster.HelmController))
	s.install(`{addons: [{name: late-moves, version: 1.1.0}, {name: late-stays}, {name: late-new}]}`)
	const away = "kubectl logs -n flux-system deployment/helm-controller"
	s.says("late-new", v1alpha1.StateFailed, "helm-controller is down", away)
	s.says("late-moves", v1alpha1.StateFailed, "helm-controller is down", away)
	s.says("late-goes", v1alpha1.StateRemoving, "helm-controller is down", away, "kubectl describe helmrelease late-goes -n kurl-addons")
	s.installerSays(v1alpha1.ConditionReady, "helm-controller is down")
	s.ready("late-stays")
	require.NoError(t, s.Restart(t.Context(), cluster.HelmController))
	s.installerReady()
	s.gone("late-goes")

	require.NoError(t, s.Kill(t.Context(), cluster.SourceController))
	s.install(`{addons: [{name: late-moves, version: 2.0.0}, {name: late-stays}, {name: late-new}, {name: late-newer}]}`)
	const unfetched = "kubectl logs -n flux-system deployment/source-controller"
	s.says("late-newer", v1alpha1.StateFailed, "source-controller is down", unfetched, "kubectl describe helmchart kurl-addons-late-newer -n kurl-addons")
	s.says("late-moves", v1alpha1.StateUpgrading, "source-controller is down", unfetched)
	s.ready("late-stays", "late-new")
	require.NoError(t, s.Restart(t.Context(), cluster.SourceController))
	s.installerReady()
}
