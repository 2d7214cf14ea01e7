package controllers

import (
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// progressInterval is how often an Addon's status is written at most while nothing but the words on its progress change. Flux
// goes through four of them in an install of three seconds.
const progressInterval = 5 * time.Second

// progress remembers when each Addon's status was last written. Lost in a restart, it only costs a write.
type progress struct {
	mu   sync.Mutex
	told map[types.UID]time.Time
}

// hold returns how long a new status has to wait; zero means that it is to be written now.
func (p *progress) hold(addon types.UID, before, after v1alpha1.AddonStatus, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told == nil {
		p.told = map[types.UID]time.Time{}
	}
	if wait := p.told[addon].Add(progressInterval).Sub(now); wait > 0 && onlyWords(before, after) {
		return wait
	}
	p.told[addon] = now
	return 0
}

func (p *progress) forget(addon types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.told, addon)
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
