package main

import "sync"

// trap catches the operator right after a write: it lets a given number of writes through to the API server, and holds the answer of
// the last one, and all further writes, until the operator is dead.
type trap struct {
	mu       sync.Mutex
	armed    bool
	left     int
	sprung   chan string   // gets the last write once the API server has carried it out
	released chan struct{} // closed once the operator is dead
}

// arm sets the trap for the given number of writes. The channel gets what the last of them was.
func (t *trap) arm(writes int) <-chan string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed, t.left = true, writes
	t.sprung, t.released = make(chan string, 1), make(chan struct{})
	return t.sprung
}

// release disarms the trap. What it held is severed.
func (t *trap) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed {
		t.armed = false
		close(t.released)
	}
}

// enter says of a write whether it is the last one that goes through. It waits for the operator's death in place of those after it.
func (t *trap) enter(c call) (last, dead bool) {
	if !c.counts() {
		return false, false
	}
	t.mu.Lock()
	if !t.armed {
		t.mu.Unlock()
		return false, false
	}
	if t.left > 0 {
		t.left--
		last = t.left == 0
		t.mu.Unlock()
		return last, false
	}
	released := t.released
	t.mu.Unlock()
	<-released
	return false, true
}

// spring tells that the last write has been carried out, and returns once the operator is dead.
func (t *trap) spring(c call) {
	t.mu.Lock()
	sprung, released := t.sprung, t.released
	t.mu.Unlock()
	sprung <- c.what()
	<-released
}
