package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// passageKept is for how long the proxy remembers what passed.
	passageKept = 2 * time.Minute
	// retryGap is how much later the operator's client sends a request again that was refused with 429, at most.
	retryGap = 4 * time.Second
)

// passage is what the proxy remembers of the operator's requests: when it read the switches of gates and had an answer, and when
// it tried to delete HelmReleases. It is safe for concurrent use.
type passage struct {
	mu      sync.Mutex
	reads   []read
	deletes []attempt
}

// read is a read of the switches in a namespace that the operator has the answer of.
type read struct {
	namespace        string
	arrived, replied time.Time
}

// attempt is a request to delete a HelmRelease. The client repeats refused ones by itself, within the same pass.
type attempt struct {
	release string
	arrived time.Time
	repeats bool
}

// sent notes a request that came in, and whether the operator's client will repeat it by itself.
func (p *passage) sent(c call, repeats bool) {
	_, release, found := strings.Cut(c.URL.Path, "/helmreleases/")
	if c.verb != verbDelete || !found {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deletes = append(recent(p.deletes, func(a attempt) time.Time { return a.arrived }), attempt{release: release, arrived: c.arrived, repeats: repeats})
}

// answered notes that the operator has got an answer.
func (p *passage) answered(c call, status int) {
	namespace := between(c.URL.Path, "/namespaces/", "/configmaps")
	if c.verb != verbRead || status != http.StatusOK || !strings.HasPrefix(namespace, switchPrefix) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads = append(recent(p.reads, func(r read) time.Time { return r.arrived }), read{namespace: namespace, arrived: c.arrived, replied: time.Now()})
}

// begun is when the operator first sent the deletion that was carried out at the given time.
func (p *passage) begun(release string, at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	begun, found := at, false
	for _, a := range slices.Backward(p.deletes) {
		if a.release != release || a.arrived.After(at) {
			continue
		}
		if found && (!a.repeats || begun.Sub(a.arrived) > retryGap) {
			break
		}
		begun, found = a.arrived, true
	}
	return begun
}

// readsBetween lists the reads of a namespace's switches that came in from one time to another.
func (p *passage) readsBetween(namespace string, from, to time.Time) []read {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []read
	for _, r := range p.reads {
		if r.namespace == namespace && !r.arrived.Before(from) && !r.arrived.After(to) {
			found = append(found, r)
		}
	}
	return found
}

// recent drops what is too old to matter.
func recent[T any](all []T, at func(T) time.Time) []T {
	limit := time.Now().Add(-passageKept)
	for len(all) > 0 && at(all[0]).Before(limit) {
		all = all[1:]
	}
	return all
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	inner, _, found := strings.Cut(rest, after)
	if !found {
		return ""
	}
	return inner
}
