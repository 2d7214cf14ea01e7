package flux

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
)

func TestATimeoutIsExplained(t *testing.T) {
	w := settledWorld()
	w.ask("1.1.0")
	w.hr.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Minute}
	w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed for release web-system/web with chart web@1.1.0: context deadline exceeded")

	o := Observe(w.hr, w.sources())
	assert.Equal(t, addons.PhaseFailing, o.Phase)
	assert.Equal(t, "Helm upgrade failed for release web-system/web with chart web@1.1.0: context deadline exceeded: "+
		"not ready within 5m0s; see what is missing with: kubectl get pods,events -n web-system", o.Message)
}
