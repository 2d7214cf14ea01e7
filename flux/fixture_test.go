package flux

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	generation = 4

	// What helm-controller 1.4.0 writes.
	upgraded      = "Helm upgrade succeeded for release web-system/web.v3 with chart webapp@1.0.0"
	prerequisites = "Fulfilling prerequisites"
	upgrading     = "Running 'upgrade' action with timeout of 5m0s"
)

// world is a HelmRelease with its sources, as Flux leaves them; a test changes what it is about.
type world struct {
	hr         *helmv2.HelmRelease
	chart      *sourcev1.HelmChart
	repository *sourcev1.HelmRepository
}

// settledWorld is a release at its third revision that runs as asked.
func settledWorld() *world {
	r := webRelease()
	w := &world{hr: HelmRelease(r), repository: Repository(r.Repository), chart: &sourcev1.HelmChart{}}
	w.hr.Generation = generation
	w.hr.Status = helmv2.HelmReleaseStatus{
		ObservedGeneration:        generation,
		LastAttemptedGeneration:   generation,
		LastAttemptedRevision:     "1.0.0",
		LastAttemptedConfigDigest: "sha256:values",
		History: helmv2.Snapshots{
			snapshot(3, "deployed", "1.0.0"),
			snapshot(2, "superseded", "0.9.0"),
		},
	}
	w.ready(metav1.ConditionTrue, helmv2.UpgradeSucceededReason, upgraded)
	w.set(helmv2.ReleasedCondition, metav1.ConditionTrue, helmv2.UpgradeSucceededReason, upgraded)
	w.chart.Generation, w.chart.Status.ObservedGeneration = 2, 2
	w.chart.Spec.Chart, w.chart.Spec.Version = r.Chart, r.ChartVersion
	w.chart.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: w.repository.Name}
	w.chart.Status.Artifact = &meta.Artifact{Revision: r.ChartVersion}
	w.chartReady(metav1.ConditionTrue, sourcev1.ChartPullSucceededReason, "pulled 'webapp' chart with version '1.0.0'")
	w.repositoryReady(metav1.ConditionTrue, meta.SucceededReason, "stored artifact")
	return w
}

func snapshot(revision int, status, chartVersion string) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		Name: "web", Namespace: "web-system", Version: revision, Status: status,
		ChartName: "webapp", ChartVersion: chartVersion, ConfigDigest: "sha256:values",
	}
}

func (w *world) set(kind string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&w.hr.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: w.hr.Generation,
	})
}

func (w *world) ready(status metav1.ConditionStatus, reason, message string) {
	w.set(meta.ReadyCondition, status, reason, message)
}

func (w *world) reconciling(message string) {
	w.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
}

func (w *world) chartReady(status metav1.ConditionStatus, reason, message string) {
	setReady(&w.chart.Status.Conditions, w.chart.Generation, status, reason, message)
}

func (w *world) repositoryReady(status metav1.ConditionStatus, reason, message string) {
	setReady(&w.repository.Status.Conditions, w.repository.Generation, status, reason, message)
}

func setReady(conditions *[]metav1.Condition, generation int64, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}

// respec is a change of the spec that Flux has not seen.
func (w *world) respec() { w.hr.Generation++ }

// ask is a change to another chart version that helm-controller has passed on to source-controller.
func (w *world) ask(version string) {
	w.respec()
	w.hr.Spec.Chart.Spec.Version = version
	w.chart.Spec.Version = version
	w.chart.Generation++
}

// hooks turns tests on and gives them results.
func (w *world) hooks(success metav1.ConditionStatus, phases map[string]string) {
	w.hr.Spec.Test.Enable = true
	hooks := map[string]*helmv2.TestHookStatus{}
	for name, phase := range phases {
		hooks[name] = &helmv2.TestHookStatus{Phase: phase}
	}
	w.hr.Status.History[0].TestHooks = &hooks
	w.set(helmv2.TestSuccessCondition, success, "Test", "result of the tests")
}

func (w *world) delete() {
	w.respec() // the API server counts a deletion as a change
	w.hr.DeletionTimestamp = new(metav1.NewTime(time.Unix(1700000000, 0)))
	w.hr.Finalizers = []string{v1alpha1.FinalizerUninstall, helmv2.HelmReleaseFinalizer}
}

// letGo is what Flux does last.
func (w *world) letGo() { w.hr.Finalizers = []string{v1alpha1.FinalizerUninstall} }

func (w *world) sources() Sources { return Sources{Chart: w.chart, Repository: w.repository} }

// observation is one case of a table: a change to a settled world, and what is to be seen of it.
type observation struct {
	change  func(*world)
	phase   addons.Phase
	message string // part of it
	stalled bool
	stale   bool
	// uninstall is how far that is.
	uninstall addons.Uninstall
}

func observeAll(t *testing.T, cases map[string]observation) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			w := settledWorld()
			test.change(w)
			got := Observe(w.hr, w.sources())
			assert.Equal(t, test.phase, got.Phase, got.Message)
			assert.Contains(t, got.Message, test.message)
			assert.Equal(t, test.stalled, got.Stalled)
			assert.Equal(t, test.stale, got.Stale)
			assert.Equal(t, test.uninstall, got.Uninstall)
			assert.NotEmpty(t, got.Message)
		})
	}
}
