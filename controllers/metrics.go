package controllers

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

var (
	infoMetric = prometheus.NewDesc("addon_operator_addon_info",
		"Add-ons by the version that runs and their state; always 1.", []string{"addon", "version", "state"}, nil)
	readyMetric = prometheus.NewDesc("addon_operator_addon_ready",
		"Whether an add-on is ready: 1 or 0.", []string{"addon"}, nil)
	blockedMetric = prometheus.NewDesc("addon_operator_addon_blocked_seconds",
		"How long an add-on has been blocked by the root cause that the labels name.", []string{"addon", "kind", "name"}, nil)
	closedMetric = prometheus.NewDesc("addon_operator_gate_closed",
		"Gates that hold an add-on back; always 1.", []string{"addon", "gate", "when"}, nil)

	// removals counts how removals ended since the operator started.
	removals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "addon_operator_removals_total", Help: "Add-ons that have gone, by how that ended: Removed or Orphaned.",
	}, []string{"outcome"})
)

// addonMetrics tells what the Addons say of themselves, read from the cache when it is asked for: nothing can go stale.
type addonMetrics struct {
	reader client.Reader
	clock  clock.PassiveClock
}

// Describe implements prometheus.Collector.
func (m addonMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{infoMetric, readyMetric, blockedMetric, closedMetric} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (m addonMetrics) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // until the cache has synced it answers nobody
	defer cancel()
	var list v1alpha1.AddonList
	if err := m.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	for i := range list.Items {
		addon := &list.Items[i]
		ready := 0.0
		if apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionReady) {
			ready = 1
		}
		gauge(infoMetric, 1, addon.Name, addon.Status.Version, string(addon.Status.State))
		gauge(readyMetric, ready, addon.Name)
		if chain := addon.Status.BlockedBy; len(chain) > 0 && chain[0].Since != nil {
			root := chain[len(chain)-1]
			gauge(blockedMetric, m.clock.Since(chain[0].Since.Time).Seconds(), addon.Name, root.Kind, root.Name)
		}
		for _, gate := range addon.Status.Gates {
			if !gate.Passed {
				gauge(closedMetric, 1, addon.Name, gate.Name, string(gate.When))
			}
		}
	}
}
