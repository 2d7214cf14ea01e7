package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// judgeSteadily holds changes against the rules until the context ends. It fails at the first violation.
func (w *watcher) judgeSteadily(ctx context.Context) error {
	for pause(ctx, judgementInterval) == nil {
		if err := w.judge(); err != nil {
			return err
		}
	}
	return nil
}

// finish waits until everything that has happened can be judged, and judges it.
func (w *watcher) finish(ctx context.Context) error {
	if err := pause(ctx, judgementDelay); err != nil {
		return err
	}
	return w.judge()
}

// judge holds against the rules what is old enough that everything about it is known.
func (w *watcher) judge() error {
	limit := time.Now().Add(-judgementDelay)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.readAudit(); err != nil {
		return err
	}
	for len(w.pending) > 0 && w.pending[0].when.at.Before(limit) {
		c := w.pending[0]
		w.pending = w.pending[1:]
		for _, v := range w.verdicts(c) {
			w.tally.violated(v)
			w.journal.write("VIOLATION %s", v)
		}
	}
	if broken := w.tally.broken(); len(broken) > 0 {
		return fmt.Errorf("%d invariants are violated; the first: %s", len(broken), broken[0])
	}
	return nil
}

// readAudit takes in what the API server has written of deletions since the last time.
func (w *watcher) readAudit() error {
	requests, position, err := w.cluster.RequestsSince(w.position)
	if err != nil {
		return err
	}
	w.position = position
	for _, r := range requests {
		if r.Resource == helmReleases && r.Verb == "delete" && r.Subresource == "" && r.Code/100 == 2 {
			w.deletes = append(w.deletes, r)
		}
		if r.User == operatorUser && r.Write() {
			w.tally.count(talliedVerdicts, "writes in the audit log")
		}
	}
	return nil
}

// deletion is the request that deleted a HelmRelease shortly before a change was seen.
func (w *watcher) deletion(name string, seen time.Time) (cluster.Request, bool) {
	const slack, longest = 100 * time.Millisecond, 10 * time.Second
	for _, r := range slices.Backward(w.deletes) {
		if r.Name == name && r.Received.Before(seen.Add(slack)) && r.Received.After(seen.Add(-longest)) {
			return r, true
		}
	}
	return cluster.Request{}, false
}

func (w *watcher) verdicts(c change) []violation {
	if c.addonAfter != nil {
		return w.judgeAddon(c)
	}
	var found []violation
	before, after := *c.releaseBefore, *c.releaseAfter
	same := !before.gone && before.is.uid == after.is.uid
	if same && (after.is.deleting || after.gone) && !before.is.deleting {
		found = append(found, w.judgeDeletion(c)...)
	}
	if same && before.is.suspended && !after.is.suspended && !after.gone {
		found = append(found, w.judgeResume(c)...)
	}
	if !after.gone {
		found = append(found, w.judgeVersion(c, same)...)
	}
	return found
}
