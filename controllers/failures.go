package controllers

import (
	"sync"
	"time"
)

// failures remembers since when things have been failing without a success. The zero value is ready to use, by many goroutines.
type failures[K comparable] struct {
	mu    sync.Mutex
	since map[K]time.Time
}

// note takes down a failure; only the first one counts.
func (f *failures[K]) note(key K, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since == nil {
		f.since = map[K]time.Time{}
	}
	if _, failing := f.since[key]; !failing {
		f.since[key] = now
	}
}

// last says whether something has been failing for at least so long.
func (f *failures[K]) last(key K, atLeast time.Duration, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, failing := f.since[key]
	return failing && now.Sub(since) >= atLeast
}

func (f *failures[K]) forget(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since, key)
}
