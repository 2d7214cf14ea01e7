package controllers

import (
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// progressInterval is how often a status is written at most while nothing but news of progress changes in it. Flux goes through
// four stages in an install of three seconds.
const progressInterval = 5 * time.Second

// progress remembers when the status of each object was last written. Lost in a restart, it only costs a write.
type progress struct {
	mu   sync.Mutex
	told map[types.UID]time.Time
}

// hold returns how long a new status has to wait, given whether it is only news of progress; zero means that it is to be written now.
func (p *progress) hold(object types.UID, onlyProgress bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told == nil {
		p.told = map[types.UID]time.Time{}
	}
	if wait := p.told[object].Add(progressInterval).Sub(now); wait > 0 && onlyProgress {
		return wait
	}
	p.told[object] = now
	return 0
}

func (p *progress) forget(object types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.told, object)
}

// onlyWords says whether two statuses of an add-on on its way differ in messages alone.
func onlyWords(before, after v1alpha1.AddonStatus) bool {
	switch after.State {
	case v1alpha1.StateInstalling, v1alpha1.StateUpgrading, v1alpha1.StateRemoving, v1alpha1.StateBlocked:
		return apiequality.Semantic.DeepEqual(wordless(before), wordless(after))
	default:
		return false
	}
}

func wordless(status v1alpha1.AddonStatus) *v1alpha1.AddonStatus {
	bare := status.DeepCopy()
	for i := range bare.Conditions {
		bare.Conditions[i].Message = ""
	}
	for i := range bare.Releases {
		bare.Releases[i].Message = ""
	}
	for i := range bare.BlockedBy {
		bare.BlockedBy[i].Message = ""
	}
	return bare
}

// onlySummaries says whether two statuses of an Installer that is on its way differ in nothing but its add-ons' lines and the
// sentence that sums them up.
func onlySummaries(before, after v1alpha1.InstallerStatus) bool {
	if !apimeta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReconciling) {
		return false
	}
	return apiequality.Semantic.DeepEqual(withoutSummaries(before), withoutSummaries(after))
}

func withoutSummaries(status v1alpha1.InstallerStatus) *v1alpha1.InstallerStatus {
	bare := status.DeepCopy()
	bare.Addons = nil
	for i := range bare.Conditions {
		bare.Conditions[i].Message = ""
	}
	return bare
}
