package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// past is a world that something was done to: base-a, which has a gate for its removal, and mid-a, which needs it, both at 1.0.0.
type past struct {
	*watcher

	start    time.Time
	revision int64
}

func newPast() *past {
	w := &watcher{world: map[string]member{}, diary: &diary{}, passed: &passage{}, tally: newTally(), journal: &journal{}}
	for _, m := range theWorld() {
		w.world[m.name] = m
	}
	p := &past{watcher: w, start: time.Now().Add(-time.Hour)}
	p.list(-100, "base-a", "mid-a", "solo")
	for _, name := range []string{"base-a", "mid-a", "solo"} {
		p.addon(-100, name, v1alpha1.Present)
		p.release(-100, name, release{})
	}
	return p
}

func (p *past) at(seconds float64) time.Time {
	return p.start.Add(time.Duration(seconds * float64(time.Second)))
}

func (p *past) moment(seconds float64) moment {
	p.revision++
	return moment{revision: p.revision, at: p.at(seconds)}
}

func (p *past) list(seconds float64, names ...string) {
	p.installers.add(installerName, state[installer]{moment: p.moment(seconds), is: installer{listed: names}})
}

func (p *past) addon(seconds float64, name string, presence v1alpha1.Presence) change {
	after := state[addon]{moment: p.moment(seconds), is: addon{installer: installerName, presence: presence}}
	before, _ := p.addons.add(name, after)
	return change{name: name, addonBefore: &before, addonAfter: &after, when: after.moment}
}

// release of the add-on of the same name, at 1.0.0 where nothing else is said.
func (p *past) release(seconds float64, name string, is release) change {
	is.uid, is.addon = name, name
	if is.asked == "" {
		is.asked = "1.0.0"
	}
	if is.deployed == nil {
		is.deployed = []string{"1.0.0"}
	}
	after := state[release]{moment: p.moment(seconds), is: is}
	before, _ := p.releases.add(name, after)
	return change{name: name, releaseBefore: &before, releaseAfter: &after, when: after.moment}
}

// removal is the deletion of base-a's HelmRelease, by the operator, ten seconds after the start, as it should be, but for what happens
// before.
func (p *past) removal() change {
	p.deletes = append(p.deletes, cluster.Request{User: operatorUser, Name: "base-a", Received: p.at(10)})
	return p.release(10.01, "base-a", release{deleting: true, fluxHolds: true})
}

func (p *past) read(gate string, from, to float64) {
	p.passed.reads = append(p.passed.reads, read{namespace: gate, arrived: p.at(from), replied: p.at(to)})
}

func (p *past) did(kind, name string, from, to float64) {
	p.diary.deeds = append(p.diary.deeds, &deed{kind: kind, name: name, removals: []string{name}, began: p.at(from), ended: p.at(to)})
}

const baseGate = "switch-base-a-remove"

func TestDeletions(t *testing.T) {
	for name, test := range map[string]struct {
		past     func(p *past) change
		violates string
	}{
		"as it should be": {past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"not asked for": {violates: "nobody had asked for the removal of add-on base-a", past: func(p *past) change {
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"taken back within the pass": {past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.read(baseGate, 9.8, 9.9)
			p.addon(9.9, "base-a", v1alpha1.Present)
			return p.removal()
		}},
		"taken back long before": {violates: "nobody had asked", past: func(p *past) change {
			p.addon(1, "base-a", v1alpha1.Absent)
			p.addon(2, "base-a", v1alpha1.Present)
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"before what depends on it": {violates: "while mid-a depended on it", past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.release(6, "mid-a", release{dependsOn: "other,base-a,"})
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"before what depends on it is uninstalled": {violates: "while mid-a depended on it", past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.release(6, "mid-a", release{dependsOn: "base-a,", deleting: true, fluxHolds: true})
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"after what depends on it is uninstalled": {past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.release(6, "mid-a", release{dependsOn: "base-a,", deleting: true})
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"while it was suspended": {violates: "while it was suspended", past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.read(baseGate, 9.8, 9.9)
			p.removal()
			suspended, deleted := p.release(11, "base-a", release{suspended: true}), p.release(11.1, "base-a", release{suspended: true, deleting: true})
			deleted.releaseBefore = suspended.releaseAfter
			return deleted
		}},
		"without a look at its gate": {violates: "gate " + baseGate + " was closed", past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.read(baseGate, 2, 2.1)
			p.read("switch-solo-remove", 9.8, 9.9)
			return p.removal()
		}},
		"behind a closed gate": {violates: "gate " + baseGate + " was closed", past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.did(deedSwitchOff, baseGate, 3, 3.1)
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"behind a gate that is being opened": {past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.did(deedSwitchOff, baseGate, 3, 3.1)
			p.did(deedSwitchOn, baseGate, 9.85, 10.5)
			p.read(baseGate, 9.8, 9.9)
			return p.removal()
		}},
		"behind a gate that is closed after the look": {past: func(p *past) change {
			p.addon(5, "base-a", v1alpha1.Absent)
			p.read(baseGate, 9.8, 9.9)
			p.did(deedSwitchOff, baseGate, 9.91, 9.95)
			return p.removal()
		}},
		"by somebody else": {violates: "was deleted by kubernetes-admin", past: func(p *past) change {
			c := p.removal()
			p.deletes[0].User = "kubernetes-admin"
			return c
		}},
		"by a person who means it": {past: func(p *past) change {
			p.did(deedDelete, "base-a", 9.9, 10.1)
			c := p.removal()
			p.deletes[0].User = "kubernetes-admin"
			return c
		}},
		"by nobody known": {violates: "does not say by whom", past: func(p *past) change {
			c := p.removal()
			p.deletes = nil
			return c
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast()
			requireVerdict(t, "I1", test.violates, p.verdicts(test.past(p)))
		})
	}
}

func requireVerdict(t *testing.T, invariant, violates string, found []violation) {
	t.Helper()
	if violates == "" {
		assert.Empty(t, found)
		return
	}
	if assert.Len(t, found, 1) {
		assert.Equal(t, invariant, found[0].invariant)
		assert.Contains(t, found[0].what, violates)
	}
}

func TestResumptions(t *testing.T) {
	p := newPast()
	p.release(1, "solo", release{suspended: true})
	requireVerdict(t, "I3", "resumed by nobody", p.verdicts(p.release(2, "solo", release{})))
	p.release(11, "solo", release{suspended: true})
	p.did(deedResume, "solo", 12, 12.1)
	requireVerdict(t, "I3", "", p.verdicts(p.release(12.05, "solo", release{})))
}

func TestVersions(t *testing.T) {
	for name, test := range map[string]struct {
		asked    string
		deployed []string
		violates string
	}{
		"a hop":         {asked: "1.1.0"},
		"a leap":        {asked: "2.0.0", violates: "runs 1.0.0, asked for 1.0.0 and now asks for 2.0.0"},
		"down":          {asked: "0.9.0", violates: "now asks for 0.9.0"},
		"Helm's leap":   {deployed: []string{"1.0.0", "2.0.0"}, violates: "from 1.0.0 to 2.0.0"},
		"Helm's hops":   {asked: "1.1.0", deployed: []string{"1.0.0", "1.1.0"}},
		"the same anew": {deployed: []string{"1.0.0", "1.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast()
			requireVerdict(t, "I4", test.violates, p.verdicts(p.release(1, "mid-a", release{asked: test.asked, deployed: test.deployed})))
		})
	}
}

func TestRemovals(t *testing.T) {
	for name, test := range map[string]struct {
		past     func(p *past)
		violates string
	}{
		"one of three":                  {past: func(p *past) { p.list(1, "base-a", "solo") }},
		"unasked":                       {past: func(*past) {}, violates: "mid-a was marked"},
		"two of three":                  {past: func(p *past) { p.list(1, "base-a") }, violates: "mid-a was marked"},
		"all":                           {past: func(p *past) { p.list(1) }, violates: "mid-a was marked"},
		"of a list just replaced":       {past: func(p *past) { p.list(1, "base-a", "solo"); p.list(9) }},
		"of a list replaced long ago":   {past: func(p *past) { p.list(-60, "base-a", "solo"); p.list(-50) }, violates: "mid-a was marked"},
		"all, approved":                 {past: func(p *past) { p.list(1); p.did(deedApprove, "mid-a", 2, 2.1) }},
		"all, others approved":          {past: func(p *past) { p.list(1); p.did(deedApprove, "solo", 2, 2.1) }, violates: "mid-a was marked"},
		"all, approved another time":    {past: func(p *past) { p.list(-70); p.did(deedApprove, "mid-a", -60, -59); p.list(-50, "mid-a"); p.list(1) }, violates: "mid-a was marked"},
		"one after the others":          {past: func(p *past) { p.addon(1, "solo", v1alpha1.Absent); p.list(2, "base-a") }},
		"the Installer is to go":        {past: func(p *past) { p.installerGoes(true) }},
		"the Installer is not meant to": {past: func(p *past) { p.installerGoes(false) }, violates: "mid-a was marked"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast()
			test.past(p)
			requireVerdict(t, "I6", test.violates, p.verdicts(p.addon(10, "mid-a", v1alpha1.Absent)))
		})
	}
}

func (p *past) installerGoes(confirmed bool) {
	is := installer{listed: []string{"base-a", "mid-a", "solo"}, deleting: true, confirmed: confirmed}
	p.installers.add(installerName, state[installer]{moment: p.moment(1), is: is})
}
