package pins

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A suspension is acknowledged, by observedGeneration and by the token, only when the action that was under way has ended; other
// releases get theirs meanwhile.
func TestSuspensionIsAcknowledgedAfterTheAction(t *testing.T) {
	w := share(t)
	busy := w.start(t, w.release(t, "ack-busy", "hooks", "1.0.0", ""))
	idle := w.start(t, w.release(t, "ack-idle", "tiny", "1.0.0", ""))
	busy.awaitSettled(t)
	idle.awaitSettled(t)
	busy.apply(t, w.release(t, "ack-busy", "hooks", "2.0.0", hold))
	busy.awaitHeld(t)

	const token = "quiet"
	suspend := func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend = true
		annotate(hr, meta.ReconcileRequestAnnotation, token)
	}
	suspended := busy.patch(t, suspend)
	idle.patch(t, suspend)
	acknowledged := func(m moment) bool {
		return m.Spec.Suspend && m.observed() && m.Status.LastHandledReconcileAt == token
	}
	idle.await(t, "acknowledged", acknowledged)
	idle.patch(t, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	idle.awaitSettled(t)

	held := busy.get(t)
	assert.Less(t, held.Status.ObservedGeneration, suspended.Generation)
	assert.NotEqual(t, token, held.Status.LastHandledReconcileAt)
	require.Equal(t, []string{"v2 pending-upgrade", "v1 deployed"}, busy.stored(t))

	mark := busy.mark()
	busy.unhold(t)
	after := busy.await(t, "acknowledged", acknowledged)
	assert.Equal(t, []string{"v2 deployed 2.0.0", "v1 superseded 1.0.0"}, after.history())
	assert.Equal(t, []string{"v2 deployed", "v1 superseded"}, busy.stored(t))
	for _, m := range busy.since(mark) {
		if m.Status.ObservedGeneration == suspended.Generation || m.Status.LastHandledReconcileAt == token {
			assert.Equal(t, "v2 deployed 2.0.0", m.history()[0], m)
		}
	}
	assert.Equal(t, manager, after.seen.SuspendedBy)
}
