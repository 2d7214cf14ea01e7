package flux

import (
	"fmt"
	"maps"
	"reflect"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/runtime"
)

// annotationDeployed holds the revision and the chart version that were deployed when the HelmRelease's spec was last changed.
const annotationDeployed = "addons.kurl.sh/deployed"

// Remember takes down on a HelmRelease that is about to be written what is deployed, as the live one's history has it: helm-controller
// empties the history when it goes on after its death in the middle of an action, and fills it with the outcome of that alone. A
// HelmRelease that is as it should be is not changed by it. Live is empty when there is none.
func Remember(desired, live *helmv2.HelmRelease) {
	if live.Spec.Chart == nil || live.Spec.Chart.Spec.Chart != desired.Spec.Chart.Spec.Chart || live.Spec.TargetNamespace != desired.Spec.TargetNamespace {
		return // Flux makes another release of it
	}
	known := live.Annotations[annotationDeployed]
	if snapshot := (report{history: newestFirst(live.Status.History)}).deployed(); snapshot != nil && !sameSpec(desired, live) {
		known = fmt.Sprintf("v%d %s", snapshot.Version, snapshot.ChartVersion)
	}
	if known != "" {
		desired.Annotations = maps.Clone(desired.Annotations)
		if desired.Annotations == nil {
			desired.Annotations = map[string]string{}
		}
		desired.Annotations[annotationDeployed] = known
	}
}

// sameSpec leaves out the suspension, which is not ours.
func sameSpec(desired, live *helmv2.HelmRelease) bool {
	a, b := desired.Spec.DeepCopy(), live.Spec.DeepCopy()
	a.Suspend, b.Suspend = false, false
	wanted, errA := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	there, errB := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	return errA == nil && errB == nil && reflect.DeepEqual(wanted, there)
}

// remembered is what was deployed according to Remember, where the history names nothing. Once Helm's revisions begin anew, as
// after somebody uninstalled the release, that is over.
func (r report) remembered() (chartVersion string, revision int) {
	if r.hr.DeletionTimestamp != nil {
		return "", 0
	}
	if _, err := fmt.Sscanf(r.hr.Annotations[annotationDeployed], "v%d %s", &revision, &chartVersion); err != nil {
		return "", 0
	}
	if len(r.history) > 0 && r.history[0].Version <= revision {
		return "", 0
	}
	return chartVersion, revision
}
