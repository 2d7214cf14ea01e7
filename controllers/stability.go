package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unwatched is how long a check may go without being evaluated before nothing is known any more of the time since it was.
const unwatched = 5 * time.Minute

// CheckKey names a check of an Addon, at a version that runs. What was before a version ran says nothing of it.
type CheckKey struct {
	Addon   types.UID
	Name    string
	Version string
}

// Stability remembers since when checks have been passed without a break. The zero value is ready to use.
type Stability struct {
	mu     sync.Mutex
	streak map[types.UID]map[string]streak
}

// streak is a time in which a check was passed whenever it was evaluated.
type streak struct {
	version string
	seeded  bool // began long before
	began   time.Time
	last    time.Time // when the check was last evaluated
}

// Seed takes note that a check is known to have been good for long enough, for example since before the operator started. Of a check that
// has been evaluated lately it changes nothing.
func (s *Stability) Seed(check CheckKey, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, remembered := s.get(check, now); !remembered {
		s.put(check, streak{version: check.Version, seeded: true, began: now, last: now})
	}
}

// Settle takes note of whether a check is passed now, and says whether it has been for long enough without a break, or how much time is
// missing.
func (s *Stability) Settle(check CheckKey, passed bool, stableFor time.Duration, now time.Time) (stable bool, remaining time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !passed {
		s.put(check, streak{version: check.Version, last: now})
		return false, stableFor
	}
	known, _ := s.get(check, now)
	if known.version != check.Version {
		known = streak{version: check.Version}
	}
	if known.began.IsZero() {
		known.began = now
	}
	known.last = now
	s.put(check, known)
	if known.seeded {
		return true, 0
	}
	remaining = max(0, stableFor-now.Sub(known.began))
	return remaining == 0, remaining
}

// get what is remembered of a check that has been evaluated lately.
func (s *Stability) get(check CheckKey, now time.Time) (streak, bool) {
	known, remembered := s.streak[check.Addon][check.Name]
	if !remembered || now.Sub(known.last) > unwatched {
		return streak{}, false
	}
	return known, true
}

func (s *Stability) put(check CheckKey, now streak) {
	if s.streak == nil {
		s.streak = map[types.UID]map[string]streak{}
	}
	if s.streak[check.Addon] == nil {
		s.streak[check.Addon] = map[string]streak{}
	}
	s.streak[check.Addon][check.Name] = now
}

// Forget an Addon that has gone.
func (s *Stability) Forget(addon types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streak, addon)
}
