package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// passLength is for how long a pass may act on what it has read fresh, on a busy machine, apart from repetitions by its client.
	passLength = 3 * time.Second
	// cacheLag is how far behind the operator's cache may be while the proxy cuts and delays its watches.
	cacheLag = 15 * time.Second
)

// judgeDeletion is I1: the operator deletes a HelmRelease only if its removal was asked for, nothing depends on it any more and its gates
// were open, all within the pass that deletes it.
//
// A pass reads and then deletes, so what it read must have been true at some moment of the pass. The proxy knows when a deletion was
// first sent, and has seen every read of the switches: a gate counts as passed if one of the reads of its switch shortly before has
// not been answered while the switch was surely off.
func (w *watcher) judgeDeletion(c change) []violation {
	by, known := w.deletion(c.name, c.when.at)
	if !known {
		return []violation{{"I1", fmt.Sprintf("HelmRelease %s is being deleted, and the audit log does not say by whom", c.name)}}
	}
	if by.User != operatorUser {
		w.tally.count(talliedSeen, "releases deleted by hand")
		if !w.diary.did(deedDelete, c.name, by.Received, by.Received) {
			return []violation{{"I1", fmt.Sprintf("HelmRelease %s was deleted by %s", c.name, by.User)}}
		}
		return nil
	}
	w.tally.count(talliedSeen, "releases removed")
	begun := w.passed.begun(c.name, by.Received)
	var found []violation
	violate := func(format string, args ...any) {
		found = append(found, violation{"I1", fmt.Sprintf("the operator deleted HelmRelease "+c.name+" "+format, args...)})
	}
	if c.releaseBefore.is.suspended {
		violate("while it was suspended")
	}
	states := w.addons.between(c.releaseBefore.is.addon, begun.Add(-passLength), c.when.at)
	if !slices.ContainsFunc(states, func(s state[addon]) bool { return !s.gone && s.is.presence == v1alpha1.Absent }) {
		violate("although nobody had asked for the removal of add-on %s", c.releaseBefore.is.addon)
	}
	for _, dependent := range w.dependents(c) {
		violate("while %s depended on it", dependent)
	}
	for _, gate := range w.closedGates(c.releaseBefore.is.addon, begun) {
		violate("while gate %s was closed", gate)
	}
	return found
}

// dependents are HelmReleases that depend on the deleted one. Those that Flux has uninstalled and that are only held as evidence do not
// count, nor those that came within the pass and that Flux has not begun to install.
func (w *watcher) dependents(c change) []string {
	var names []string
	for name, other := range w.releases.at(c.when.revision) {
		depends := slices.Contains(strings.Split(other.is.dependsOn, ","), c.name)
		held := other.is.deleting && !other.is.fluxHolds
		fresh := len(other.is.deployed) == 0 && c.when.at.Sub(other.at) < passLength
		if depends && !held && !fresh {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *watcher) closedGates(name string, begun time.Time) []string {
	m := w.world[name]
	if !slices.Contains(m.gates, v1alpha1.MomentRemove) {
		return nil
	}
	w.tally.count(talliedVerdicts, "gates at deletions")
	gate := m.gateSwitch(v1alpha1.MomentRemove)
	for _, r := range w.passed.readsBetween(gate, begun.Add(-passLength), begun) {
		if !w.diary.offThroughout(gate, r.arrived, r.replied) {
			return nil
		}
	}
	return []string{gate}
}

// judgeResume is I3: only people resume HelmReleases here, so each resumption must be one of theirs.
func (w *watcher) judgeResume(c change) []violation {
	w.tally.count(talliedVerdicts, "resumptions")
	if w.diary.did(deedResume, c.name, c.when.at.Add(-passLength), c.when.at) {
		return nil
	}
	return []violation{{"I3", fmt.Sprintf("HelmRelease %s was resumed by nobody", c.name)}}
}

// judgeVersion is I4: what is asked for moves by hops from what runs, and what Helm has deployed one after the other are hops.
func (w *watcher) judgeVersion(c change, same bool) []violation {
	before, after, m := c.releaseBefore.is, c.releaseAfter.is, w.world[c.releaseAfter.is.addon]
	var found []violation
	for i := 1; i < len(after.deployed); i++ {
		from, to := after.deployed[i-1], after.deployed[i]
		if from != to && !m.hops(from, to) {
			found = append(found, violation{"I4", fmt.Sprintf("Helm moved release %s from %s to %s, which is no hop", c.name, from, to)})
		}
	}
	if !same || before.asked == after.asked || len(before.deployed) == 0 {
		return found
	}
	w.tally.count(talliedSeen, "hops asked for")
	running := before.deployed[len(before.deployed)-1]
	if !m.hops(running, after.asked) {
		found = append(found, violation{"I4", fmt.Sprintf("HelmRelease %s runs %s, asked for %s and now asks for %s", c.name, running, before.asked, after.asked)})
	}
	return found
}

// judgeAddon is I6: the operator marks an add-on for removal only because of a list that lacks it and that removes neither everything nor
// more than half of three or more, or because a person approved the removal or confirmed that the Installer is to go. What it saw of
// lists and Addons may be as old as its cache.
func (w *watcher) judgeAddon(c change) []violation {
	if c.addonAfter.is.presence != v1alpha1.Absent || !c.addonBefore.gone && c.addonBefore.is.presence == v1alpha1.Absent {
		return nil
	}
	w.tally.count(talliedSeen, "add-ons marked for removal")
	oldest := c.when.at.Add(-cacheLag)
	var lists [][]string
	for _, s := range w.installers.between(installerName, oldest, c.when.at) {
		if s.is.deleting && s.is.confirmed {
			return nil
		}
		if !s.gone && !slices.Contains(s.is.listed, c.name) {
			lists = append(lists, s.is.listed)
		}
	}
	if len(lists) > 0 && w.approved(c) {
		return nil
	}
	for _, revision := range append(w.addons.revisions(oldest, c.when.at), c.when.revision-1) {
		present := w.present(c.name, revision)
		if slices.ContainsFunc(lists, func(listed []string) bool { return !mass(present, listed) }) {
			return nil
		}
	}
	return []violation{{"I6", fmt.Sprintf("add-on %s was marked for removal without approval; present were %v, and wanted without it %v", c.name, w.present(c.name, c.when.revision-1), lists)}}
}

// present names an add-on and all others that were to stay at a revision.
func (w *watcher) present(name string, revision int64) []string {
	names := []string{name}
	for other, s := range w.addons.at(revision) {
		if other != name && s.is.presence == v1alpha1.Present {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return names
}

// mass says whether a list removes so much that it has to be approved.
func mass(present, listed []string) bool {
	removed := len(slices.DeleteFunc(slices.Clone(present), func(name string) bool { return slices.Contains(listed, name) }))
	return removed == len(present) || len(present) >= 3 && 2*removed > len(present)
}

// approved says whether a person approved the removal, and nobody has put the add-on back since.
func (w *watcher) approved(c change) bool {
	return slices.ContainsFunc(w.diary.approvals(c.name, c.when.at), func(at time.Time) bool {
		return !slices.ContainsFunc(w.installers.between(installerName, at.Add(time.Millisecond), c.when.at.Add(-cacheLag)), func(s state[installer]) bool {
			return slices.Contains(s.is.listed, c.name)
		})
	})
}
