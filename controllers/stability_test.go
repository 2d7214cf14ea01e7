package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAStreakIsCountedWithoutABreak(t *testing.T) {
	t.Parallel()
	type step struct {
		after     time.Duration // the step before
		passed    bool
		seed      bool
		stable    bool
		remaining time.Duration
	}
	for name, test := range map[string]struct {
		stableFor time.Duration
		steps     []step
	}{
		"once is enough":           {0, []step{{passed: true, stable: true}, {passed: false}, {passed: true, stable: true}}},
		"long enough":              {time.Minute, []step{{passed: true, remaining: time.Minute}, {after: 50 * time.Second, passed: true, remaining: 10 * time.Second}, {after: 10 * time.Second, passed: true, stable: true}, {after: time.Minute, passed: true, stable: true}}},
		"a break":                  {time.Minute, []step{{passed: true, remaining: time.Minute}, {after: 50 * time.Second, remaining: time.Minute}, {after: 10 * time.Second, passed: true, remaining: time.Minute}, {after: time.Minute, passed: true, stable: true}}},
		"good before":              {time.Minute, []step{{seed: true, passed: true, stable: true}, {after: time.Second, passed: true, stable: true}, {after: time.Second, remaining: time.Minute}, {after: time.Second, seed: true, passed: true, remaining: time.Minute}}},
		"good before, but not now": {time.Minute, []step{{seed: true, remaining: time.Minute}, {after: time.Second, seed: true, passed: true, remaining: time.Minute}}},
		"not watched for long":     {time.Minute, []step{{passed: true, remaining: time.Minute}, {after: time.Hour, passed: true, remaining: time.Minute}, {after: time.Hour, passed: true, seed: true, stable: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, now := &Stability{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			key := CheckKey{Addon: "uid", Name: "check"}
			for i, step := range test.steps {
				now = now.Add(step.after)
				if step.seed {
					s.Seed(key, now)
				}
				stable, remaining := s.Settle(key, step.passed, test.stableFor, now)
				assert.Equal(t, step.stable, stable, "step %d", i)
				assert.Equal(t, step.remaining, remaining, "step %d", i)
			}
		})
	}
}

func TestStreaksAreOfOneCheckOfOneAddon(t *testing.T) {
	t.Parallel()
	s, now := &Stability{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := CheckKey{Addon: "first", Name: "check"}
	s.Settle(first, true, time.Minute, now)
	now = now.Add(time.Minute)
	for _, other := range []CheckKey{{Addon: "second", Name: "check"}, {Addon: "first", Name: "other"}} {
		stable, _ := s.Settle(other, true, time.Minute, now)
		assert.False(t, stable, other)
	}
	stable, _ := s.Settle(first, true, time.Minute, now)
	assert.True(t, stable)
	hopped := first
	hopped.Version = "1.1.0"
	stable, _ = s.Settle(hopped, true, time.Minute, now)
	assert.False(t, stable, "it was stable at another version")
	s.Forget("first")
	stable, _ = s.Settle(first, true, time.Minute, now)
	assert.False(t, stable)
}
