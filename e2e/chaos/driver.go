package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// driver plays people: it walks at random through what they do to Installers, add-ons, HelmReleases, definitions and whatever gates
// look at. It talks to the API server itself, without chaos.
type driver struct {
	api        client.WithWatch
	cluster    *cluster.Cluster
	world      []member
	repository string
	rng        *rand.Rand
	diary      *diary
	tally      *tally
	journal    *journal

	will will
}

// will is what people want at present.
type will struct {
	installer bool // that there is one
	wanted    map[string]string
	values    map[string]int
	// highest version that was asked for of an add-on that may be running; it cannot go below.
	highest   map[string]string
	off       map[string]bool // switches
	suspended map[string]bool // HelmReleases
	broken    map[string]bool // definitions
}

// longestBreak is how long people wait between two things that they do.
const longestBreak = 1200 * time.Millisecond

// action is something that people do. It reports whether there was any occasion for it.
type action struct {
	name   string
	weight int
	do     func(context.Context) (bool, error)
}

func (d *driver) actions() []action {
	return []action{
		{"upgrade", 5, d.upgrade},
		{"ask for a lower version", 1, d.lower},
		{"change values", 2, d.reconfigure},
		{"remove", 3, d.remove},
		{"put back", 5, d.putBack},
		{"empty the list", 1, d.empty},
		{"approve", 2, d.approve},
		{"approve something else", 1, d.approveElse},
		{"switch off", 3, d.switchOff},
		{"switch on", 4, d.switchOn},
		{"suspend", 1, d.suspend},
		{"resume", 2, d.resume},
		{"delete a release", 1, d.deleteRelease},
		{"delete an Addon", 1, d.deleteAddon},
		{"break a definition", 1, d.breakDefinition},
		{"mend a definition", 3, d.mendDefinition},
		{"delete the Installer", 1, d.deleteInstaller},
		{"make the Installer anew", 3, d.makeInstaller},
		{"try what is denied", 2, d.trespass},
		{"kill helm-controller", 2, d.killFlux(cluster.HelmController)},
		{"kill source-controller", 1, d.killFlux(cluster.SourceController)},
	}
}

// walk does one thing after another until the storm ends. What it has begun it finishes.
func (d *driver) walk(ctx, storm context.Context) error {
	actions := d.actions()
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	for storm.Err() == nil {
		point := d.rng.IntN(total)
		at := slices.IndexFunc(actions, func(a action) bool { point -= a.weight; return point < 0 })
		done, err := actions[at].do(ctx)
		if err != nil {
			return fmt.Errorf("people: %s: %w", actions[at].name, err)
		}
		if !done {
			continue
		}
		d.tally.count(talliedPeople, actions[at].name)
		_ = pause(storm, time.Duration(d.rng.Int64N(int64(longestBreak)))) // cut short by the storm's end
	}
	return nil
}

// pick chooses one of several at random, from the same seed always the same.
func pick[T any](d *driver, all []T) (chosen T, found bool) {
	if len(all) == 0 {
		return chosen, false
	}
	return all[d.rng.IntN(len(all))], true
}

// members selects by a condition, in the order of the world.
func (d *driver) members(which func(member) bool) []member {
	return slices.DeleteFunc(slices.Clone(d.world), func(m member) bool { return !which(m) })
}

func (d *driver) wants(m member) bool { return d.will.wanted[m.name] != "" }

// dependents are all wanted add-ons that need one, through others too.
func (d *driver) dependents(name string) []string {
	var names []string
	for _, m := range d.members(d.wants) {
		if slices.Contains(m.needs, name) {
			names = append(append(names, m.name), d.dependents(m.name)...)
		}
	}
	return names
}

// want adds an add-on and what it needs, each at its lowest version unless it may be running a higher one.
func (d *driver) want(m member) {
	for _, other := range d.world {
		if slices.Contains(m.needs, other.name) && !d.wants(other) {
			d.want(other)
		}
	}
	if !d.wants(m) {
		d.will.wanted[m.name] = max(m.versions[0], d.will.highest[m.name])
	}
}

// wantAll puts everything into the list.
func (d *driver) wantAll(ctx context.Context) error {
	if err := d.forgetGone(ctx); err != nil {
		return err
	}
	for _, m := range d.world {
		d.want(m)
	}
	d.will.installer = true
	return d.applyInstaller(ctx)
}

// mend takes everything back that would keep the world from settling, as people do at the end of a bad day.
func (d *driver) mend(ctx context.Context) error {
	d.complete()
	for _, name := range slices.Sorted(maps.Keys(d.will.off)) {
		if err := d.turn(ctx, name, true); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.will.suspended)) {
		if err := d.setSuspended(ctx, name, false); err != nil {
			return err
		}
	}
	for _, m := range d.members(func(m member) bool { return d.will.broken[m.name] }) {
		if err := d.define(ctx, m); err != nil {
			return err
		}
	}
	if d.will.installer {
		return d.applyInstaller(ctx)
	}
	return nil
}

// complete makes the list one that can be met: with all that its add-ons need, and nowhere below what may be running.
func (d *driver) complete() {
	for _, m := range slices.Backward(d.world) {
		if d.wants(m) {
			d.will.wanted[m.name] = max(d.will.wanted[m.name], d.will.highest[m.name])
			for _, other := range d.members(func(other member) bool { return slices.Contains(m.needs, other.name) }) {
				d.want(other)
			}
		}
	}
}
