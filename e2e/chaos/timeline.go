package main

import (
	"reflect"
	"sync"
	"time"
)

// moment is when a state of an object began: the revision of the whole cluster's data, and when the watcher heard of it.
type moment struct {
	revision int64
	at       time.Time
}

// state is what the rules need of an object, from a moment until the next state of an object of the same name.
type state[T any] struct {
	moment

	gone bool
	is   T
}

// timeline holds all states of the objects of a kind, by name and in their order. It is safe for concurrent use.
type timeline[T any] struct {
	mu     sync.Mutex
	states map[string][]state[T]
}

// add leaves out states that differ from the one before in nothing that the rules need.
func (t *timeline[T]) add(name string, next state[T]) (before state[T], isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.states == nil {
		t.states = map[string][]state[T]{}
	}
	all := t.states[name]
	before = state[T]{gone: true}
	if len(all) > 0 {
		before = all[len(all)-1]
	}
	if before.gone == next.gone && reflect.DeepEqual(before.is, next.is) {
		return before, false
	}
	t.states[name] = append(all, next)
	return before, true
}

// at is the state of every object at a revision, of those that were there.
func (t *timeline[T]) at(revision int64) map[string]state[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]state[T]{}
	for name, all := range t.states {
		for _, s := range all {
			if s.revision > revision {
				break
			}
			found[name] = s
		}
		if found[name].gone {
			delete(found, name)
		}
	}
	return found
}

// between is every state that an object was in at some time from one moment to another.
func (t *timeline[T]) between(name string, from, to time.Time) []state[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []state[T]
	all := t.states[name]
	for i, s := range all {
		ended := i+1 < len(all) && all[i+1].at.Before(from)
		if !ended && !s.at.After(to) {
			found = append(found, s)
		}
	}
	return found
}

// revisions at which anything changed from one moment to another.
func (t *timeline[T]) revisions(from, to time.Time) []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []int64
	for _, all := range t.states {
		for _, s := range all {
			if !s.at.Before(from) && !s.at.After(to) {
				found = append(found, s.revision)
			}
		}
	}
	return found
}
