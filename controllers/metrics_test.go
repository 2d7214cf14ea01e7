package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// gather renders what the Addons say as metrics.
func (s *stage) gather() []string {
	s.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(s, registry.Register(addonMetrics{reader: s.cached, clock: s.clock}))
	families, err := registry.Gather()
	require.NoError(s, err)
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			line := family.GetName()
			for _, label := range metric.GetLabel() {
				line += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
			}
			lines = append(lines, fmt.Sprintf("%s: %g", line, metric.GetGauge().GetValue()))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestMetricsTellWhatBlocksAnAddOn(t *testing.T) {
	s := newStage(t, gated(definition("base", nil, "base"), v1alpha1.MomentInstall), definition("app", nil, "app"))
	s.close("base")
	s.apply(installer("default", wanted("app", ""), wanted("base", "")))
	s.settle()
	s.playFlux("app")
	s.settle()
	s.clock.SetTime(s.clock.Now().Add(90 * time.Second))
	s.catchUp()
	assert.Equal(t, []string{
		"addon_operator_addon_blocked_seconds addon=base kind=Gate name=nothing-left: 90",
		"addon_operator_addon_info addon=app state=Ready version=1.1.0: 1",
		"addon_operator_addon_info addon=base state=Blocked version=: 1",
		"addon_operator_addon_ready addon=app: 1",
		"addon_operator_addon_ready addon=base: 0",
		"addon_operator_gate_closed addon=base gate=nothing-left when=Install: 1",
	}, s.gather())
}
