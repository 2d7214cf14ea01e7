package main

import (
	"slices"
	"sync"
	"time"
)

// Deeds of people that the rules of the watcher have to know of.
const (
	deedResume    = "resume"         // a HelmRelease
	deedDelete    = "delete release" // through the escape hatch
	deedApprove   = "approve"        // the removals of a plan
	deedSwitchOn  = "switch on"      // what a gate or a health check reads
	deedSwitchOff = "switch off"
)

// deed is something that a person did. It took effect at some moment from began to ended.
type deed struct {
	kind, name   string
	removals     []string // that were approved
	began, ended time.Time
}

// diary remembers what people did, and when. It is safe for concurrent use.
type diary struct {
	mu    sync.Mutex
	deeds []*deed
	left  []string // what receipts say that an uninstall which did not take place has left
}

// leave notes what a receipt names as left behind.
func (d *diary) leave(paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, paths...)
}

// leftovers hands over what was left behind, once.
func (d *diary) leftovers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.left
	d.left = nil
	return left
}

// note does something, and writes it down.
func (d *diary) note(written deed, do func() error) error {
	written.began, written.ended = time.Now(), time.Now().Add(time.Hour) // until it is known
	d.mu.Lock()
	d.deeds = append(d.deeds, &written)
	d.mu.Unlock()
	err := do()
	d.mu.Lock()
	defer d.mu.Unlock()
	written.ended = time.Now()
	return err
}

// did says whether a deed may have taken effect between two moments.
func (d *diary) did(kind, name string, from, to time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.deeds, func(deed *deed) bool {
		return deed.kind == kind && deed.name == name && !deed.began.After(to) && !deed.ended.Before(from)
	})
}

// offThroughout says whether a switch was surely off from one moment to another. In the beginning all are on.
func (d *diary) offThroughout(name string, from, to time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	off := false
	for _, deed := range d.deeds {
		switch {
		case deed.name != name:
		case deed.kind == deedSwitchOff && !deed.ended.After(from):
			off = true
		case deed.kind == deedSwitchOn && !deed.began.After(to):
			off = false
		}
	}
	return off
}

// approvals are the times at which the removal of an add-on was approved, up to a moment.
func (d *diary) approvals(addon string, until time.Time) []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	var times []time.Time
	for _, deed := range d.deeds {
		if deed.kind == deedApprove && slices.Contains(deed.removals, addon) && !deed.began.After(until) {
			times = append(times, deed.began)
		}
	}
	return times
}
