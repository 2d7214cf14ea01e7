package flux

import (
	"cmp"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// written is when our part of the HelmReleases of these tests was written last.
var written = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// wrote gives a HelmRelease a change at the time written, and conditions of an hour before, but for those of what Flux does.
func (w *world) wrote(said time.Duration) {
	w.hr.CreationTimestamp = metav1.NewTime(written.Add(-time.Hour))
	if w.hr.DeletionTimestamp != nil {
		w.hr.DeletionTimestamp = new(metav1.NewTime(written))
	}
	w.hr.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "addon-operator", Time: new(metav1.NewTime(written))},
		{Manager: "helm-controller", Subresource: "status", Time: new(metav1.NewTime(written.Add(time.Hour)))},
	}
	for i := range w.hr.Status.Conditions {
		condition := &w.hr.Status.Conditions[i]
		condition.LastTransitionTime = metav1.NewTime(written.Add(-time.Hour))
		if condition.Type == meta.ReadyCondition || condition.Type == meta.ReconcilingCondition {
			condition.LastTransitionTime = metav1.NewTime(written.Add(said))
		}
	}
	if w.chart != nil {
		w.chart.CreationTimestamp = metav1.NewTime(written.Add(-time.Hour))
		w.chart.Status.Conditions[0].LastTransitionTime = w.chart.CreationTimestamp
	}
}

func runFor(timeout string) func(*world) {
	return func(w *world) {
		w.hr.Status.History[0].Status = "failed"
		w.ready(metav1.ConditionUnknown, meta.ProgressingReason, upgrading)
		w.reconciling("Running 'upgrade' action with timeout of " + timeout)
	}
}

func await(w *world) {
	w.respec()
	w.ready(metav1.ConditionFalse, helmv2.DependencyNotReadyReason, "waits")
}

func TestDeadlines(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		said   time.Duration // when Flux last said something new, since written; not meant if 0
		after  time.Duration // the deadline, since written; 0 means never
		late   string
	}{
		"runs as asked": {change: func(*world) {}},
		"not looked at": {change: (*world).respec, after: 2 * time.Minute, late: "helm-controller is down, or busy"},
		"new":           {change: func(w *world) { w.hr.Status, w.chart = helmv2.HelmReleaseStatus{}, nil }, after: 2 * time.Minute, late: "helm-controller"},
		"looked at since": {change: func(w *world) {
			w.respec()
			w.ready(metav1.ConditionUnknown, meta.ProgressingReason, prerequisites)
		}, said: time.Minute, after: 3 * time.Minute, late: "helm-controller"},
		"suspended":                 {change: func(w *world) { w.respec(); w.hr.Spec.Suspend = true }},
		"an action runs":            {change: runFor("5m0s"), said: time.Minute, after: 13 * time.Minute, late: "Running 'upgrade' action with timeout of 5m0s has not come to an end"},
		"an action of another time": {change: runFor("30s"), said: time.Minute, after: 4 * time.Minute, late: "kubectl get pods,jobs,events -n web-system"},
		"an action without a time":  {change: runFor("ever"), said: time.Minute, after: 13 * time.Minute, late: "has not come to an end"},
		"chart not fetched": {change: func(w *world) {
			w.ask("1.1.0")
			w.ready(metav1.ConditionFalse, reasonSourceUnready, "not ready")
		}, said: time.Hour, after: 3 * time.Minute, late: "source-controller is down"},
		"chart suspended": {change: func(w *world) {
			w.ask("1.1.0")
			w.ready(metav1.ConditionFalse, reasonSourceUnready, "not ready")
			w.chart.Spec.Suspend, w.chart.Name, w.chart.Namespace = true, "web-chart", "kurl-addons"
		}, after: 3 * time.Minute, late: "flux resume source chart web-chart -n kurl-addons"},
		"repository suspended": {change: func(w *world) {
			w.ask("1.1.0")
			w.ready(metav1.ConditionFalse, reasonSourceUnready, "not ready")
			w.repository.Spec.Suspend = true
		}, after: 3 * time.Minute, late: "flux resume source helm " + settledWorld().repository.Name},
		"chart that failed": {change: func(w *world) {
			w.ask("1.1.0")
			w.chart.Status.ObservedGeneration = w.chart.Generation
			w.chartReady(metav1.ConditionFalse, "ChartPullError", "no such chart")
			w.ready(metav1.ConditionFalse, reasonSourceUnready, "not ready")
		}},
		"failed": {change: func(w *world) {
			w.hr.Status.History[0].Status = "failed"
			w.ready(metav1.ConditionFalse, helmv2.UpgradeFailedReason, "failed")
		}},
		"waits": {change: await},
		"waits, and was asked": {change: func(w *world) {
			await(w)
			w.hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "look"}
		}, after: 2 * time.Minute, late: "helm-controller"},
		"being uninstalled": {change: (*world).delete, after: 12 * time.Minute, late: "Flux has not uninstalled it"},
		"uninstalled":       {change: func(w *world) { w.delete(); w.letGo() }},
		"uninstall failed": {change: func(w *world) {
			w.delete()
			w.ready(metav1.ConditionFalse, helmv2.UninstallFailedReason, "hook failed")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			test.change(w)
			w.wrote(cmp.Or(test.said, -time.Hour))
			got := Observe(w.hr, w.sources())
			if test.after == 0 {
				assert.Zero(t, got.Deadline, got.Late)
				return
			}
			assert.Equal(t, written.Add(test.after), got.Deadline)
			assert.Contains(t, got.Late, test.late)
			before, after := got.AsOf(got.Deadline.Add(-time.Second)), got.AsOf(got.Deadline)
			assert.False(t, before.Overdue)
			assert.Equal(t, got.Message, before.Message)
			assert.True(t, after.Overdue)
			assert.Equal(t, got.Late, after.Message)
		})
	}
}
