package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestChecksAreAnswered(t *testing.T) {
	s := newFactsStage(t)
	query := s.configMaps("checks", 1)
	def := definition("a", nil, "a")
	check := func(name, expression, kind string) v1alpha1.Check {
		query := query
		query.Kind = kind
		return v1alpha1.Check{
			Name: name, Expression: expression, Message: `"there are " + string(maps.size()) + " maps, and " + addon.from + " runs"`,
			Resources: map[string]v1alpha1.ResourceQuery{"maps": query}, StableFor: &metav1.Duration{Duration: 15 * time.Second},
		}
	}
	def.Spec.Health = []v1alpha1.Check{check("healthy", "maps.size() == 1", "ConfigMap")}
	def.Spec.Gates = []v1alpha1.Gate{
		{When: v1alpha1.MomentRemove, Check: check("empty", "maps.size() == 0", "ConfigMap")},
		{When: v1alpha1.MomentRemove, Check: check("misspelt", "true", "ConfigMapp")},
		{When: v1alpha1.MomentRemove, Check: check("open", "maps.size() == 1", "ConfigMap")},
	}
	catalog := addons.NewCatalog([]v1alpha1.AddonDefinition{def}, nil)
	checks := &Checks{Facts: s.facts, Stability: &Stability{}, Clock: s.clock}
	addon := &v1alpha1.Addon{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("a")}}
	running := "1.0.0"
	addon.Status.Version = running
	ask := func(check string, fresh bool) (addons.Finding, time.Duration) {
		return checks.Find(t.Context(), addon, catalog, addons.Question{Addon: "a", Check: check, Fresh: fresh}, addons.Subject{Name: "a", From: running})
	}
	expect := func(check string, fresh bool, want addons.Finding, after time.Duration) {
		t.Helper()
		found, again := ask(check, fresh)
		want.Fresh = fresh
		assert.Equal(t, want, found)
		assert.Equal(t, after, again)
	}
	settling := addons.Finding{Message: `check "open" is passed, but not yet for 15s without a break`}
	expect("open", false, settling, 10*time.Second)
	s.clock.Step(10 * time.Second)
	expect("open", false, settling, 5*time.Second)
	s.clock.Step(5 * time.Second)
	expect("open", true, addons.Finding{Passed: true}, time.Minute)

	expect("misspelt", true, addons.Finding{Message: `check "misspelt" is not passed: its resource "maps" (kind ConfigMapp) cannot be read: the API server serves no kind "ConfigMapp" in apiVersion "v1", which is an API group of Kubernetes itself: correct apiVersion or kind`}, 10*time.Second)
	expect("gone", true, addons.Finding{Message: `the AddonDefinition "a" has no check "gone" any more`}, 10*time.Second)

	apimeta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: "Healthy"})
	expect("healthy", false, addons.Finding{Passed: true}, time.Minute)
	checks.Stability.Forget(addon.UID)
	expect("healthy", false, addons.Finding{Passed: true}, time.Minute)
	expect("open", false, settling, 10*time.Second)
	running = "1.1.0"
	expect("healthy", true, addons.Finding{Message: `check "healthy" is passed, but not yet for 15s without a break`}, 10*time.Second)
	s.clock.Step(15 * time.Second)
	expect("healthy", true, addons.Finding{Passed: true}, time.Minute)
	running = "1.0.0"

	expect("empty", true, addons.Finding{Message: "there are 1 maps, and 1.0.0 runs"}, 10*time.Second)
	require.NoError(t, s.api.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "checks", Name: "map-000"}}))
	expect("empty", false, addons.Finding{Message: "there are 1 maps, and 1.0.0 runs"}, 10*time.Second)
	expect("empty", true, addons.Finding{Message: `check "empty" is passed, but not yet for 15s without a break`}, 10*time.Second)
}
