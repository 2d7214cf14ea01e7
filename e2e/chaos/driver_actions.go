package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// writeList does nothing while there is no Installer: it gets the list when it is made anew.
func (d *driver) writeList(ctx context.Context) (bool, error) {
	if !d.will.installer {
		return false, nil
	}
	return true, d.applyInstaller(ctx)
}

func (d *driver) upgrade(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(func(m member) bool { return d.wants(m) && d.will.wanted[m.name] != m.versions[len(m.versions)-1] }))
	if !found {
		return false, nil
	}
	higher := slices.DeleteFunc(slices.Clone(m.versions), func(v string) bool { return v <= d.will.wanted[m.name] })
	d.will.wanted[m.name], _ = pick(d, higher)
	return d.writeList(ctx)
}

func (d *driver) lower(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(func(m member) bool { return d.wants(m) && d.will.wanted[m.name] != m.versions[0] }))
	if !found {
		return false, nil
	}
	d.will.wanted[m.name] = m.versions[0]
	return d.writeList(ctx)
}

func (d *driver) reconfigure(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(d.wants))
	if !found {
		return false, nil
	}
	d.will.values[m.name]++
	return d.writeList(ctx)
}

// remove takes an add-on out of the list, mostly with all that need it.
func (d *driver) remove(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(d.wants))
	if !found {
		return false, nil
	}
	if d.rng.IntN(5) > 0 {
		for _, name := range d.dependents(m.name) {
			delete(d.will.wanted, name)
		}
	}
	delete(d.will.wanted, m.name)
	return d.writeList(ctx)
}

// putBack brings an add-on back into the list with all that it needs. One that has gone for good may begin at any version.
func (d *driver) putBack(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(func(m member) bool { return !d.wants(m) }))
	if !found {
		return false, nil
	}
	if err := d.forgetGone(ctx); err != nil {
		return false, err
	}
	d.want(m)
	return d.writeList(ctx)
}

// forgetGone forgets how high add-ons were of which nothing is left.
func (d *driver) forgetGone(ctx context.Context) error {
	for _, m := range d.members(func(m member) bool { return !d.wants(m) }) {
		objects := []client.Object{addonNamed(m.name)}
		for _, name := range m.releases() {
			objects = append(objects, releaseNamed(name))
		}
		gone := true
		for _, object := range objects {
			missing, err := d.missing(ctx, object)
			if err != nil {
				return err
			}
			gone = gone && missing
		}
		if gone {
			delete(d.will.highest, m.name)
		}
	}
	return nil
}

func (d *driver) empty(ctx context.Context) (bool, error) {
	if len(d.will.wanted) == 0 {
		return false, nil
	}
	before := maps.Clone(d.will.wanted)
	clear(d.will.wanted)
	if done, err := d.writeList(ctx); !done || err != nil {
		return done, err
	}
	if err := pause(ctx, time.Duration(1+d.rng.IntN(4))*time.Second); err != nil {
		return false, err
	}
	if d.rng.IntN(3) == 0 {
		return d.approve(ctx)
	}
	d.will.wanted = before
	return d.writeList(ctx)
}

// approve approves the plan that waits for it, if one does.
func (d *driver) approve(ctx context.Context) (bool, error) {
	installer := installerObject()
	if missing, err := d.missing(ctx, installer); missing || err != nil {
		return false, err
	}
	plan := installer.Status.Plan
	if plan == nil || !apimeta.IsStatusConditionFalse(installer.Status.Conditions, v1alpha1.ConditionApproved) {
		return false, nil
	}
	approved := deed{kind: deedApprove}
	for _, change := range plan.Changes {
		if change.Action == v1alpha1.ActionRemove {
			approved.removals = append(approved.removals, change.Addon)
		}
	}
	d.journal.write("people: approve the removal of %v, %s", approved.removals, plan.Digest)
	return true, d.diary.note(approved, func() error {
		return client.IgnoreNotFound(d.annotate(ctx, installer, v1alpha1.AnnotationApprovedPlan, plan.Digest))
	})
}

// approveElse approves what nobody has planned.
func (d *driver) approveElse(ctx context.Context) (bool, error) {
	err := d.annotate(ctx, installerObject(), v1alpha1.AnnotationApprovedPlan, "sha256:0")
	return err == nil, client.IgnoreNotFound(err)
}

func (d *driver) switchOff(ctx context.Context) (bool, error) {
	var on []string
	for _, m := range d.world {
		on = append(on, m.switches()...)
	}
	name, found := pick(d, slices.DeleteFunc(on, func(name string) bool { return d.will.off[name] }))
	if !found {
		return false, nil
	}
	return true, d.turn(ctx, name, false)
}

func (d *driver) switchOn(ctx context.Context) (bool, error) {
	name, found := pick(d, slices.Sorted(maps.Keys(d.will.off)))
	if !found {
		return false, nil
	}
	return true, d.turn(ctx, name, true)
}

func (d *driver) suspend(ctx context.Context) (bool, error) {
	var names []string
	for _, m := range d.world {
		names = append(names, m.releases()...)
	}
	name, found := pick(d, slices.DeleteFunc(names, func(name string) bool { return d.will.suspended[name] }))
	if !found {
		return false, nil
	}
	return true, d.setSuspended(ctx, name, true)
}

func (d *driver) resume(ctx context.Context) (bool, error) {
	name, found := pick(d, slices.Sorted(maps.Keys(d.will.suspended)))
	if !found {
		return false, nil
	}
	return true, d.setSuspended(ctx, name, false)
}

func (d *driver) deleteRelease(ctx context.Context) (bool, error) {
	var names []string
	for _, m := range d.members(d.wants) {
		names = append(names, m.releases()...)
	}
	name, found := pick(d, slices.DeleteFunc(names, func(name string) bool { return d.will.suspended[name] }))
	if !found {
		return false, nil
	}
	d.journal.write("people: delete HelmRelease %s", name)
	return true, d.diary.note(deed{kind: deedDelete, name: name}, func() error { return d.deleteAllowed(ctx, releaseNamed(name)) })
}

func (d *driver) deleteAddon(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(d.wants))
	if !found {
		return false, nil
	}
	d.journal.write("people: delete Addon %s", m.name)
	return true, d.deleteAllowed(ctx, addonNamed(m.name))
}

// breakDefinition makes a definition useless, in one of several ways.
func (d *driver) breakDefinition(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(func(m member) bool { return !d.will.broken[m.name] }))
	if !found {
		return false, nil
	}
	d.will.broken[m.name] = true
	def := m.definition(d.repository)
	d.journal.write("people: break definition %s", m.name)
	switch d.rng.IntN(3) {
	case 0:
		return true, client.IgnoreNotFound(d.api.Delete(ctx, def))
	case 1:
		def.Spec.Versions[0].UpgradeFrom = "nonsense"
	default:
		def.Spec.Gates = append(def.Spec.Gates, v1alpha1.Gate{Check: check("broken"), When: v1alpha1.MomentRemove})
		def.Spec.Gates[len(def.Spec.Gates)-1].Expression = "switches.exists("
	}
	return true, d.apply(ctx, def)
}

func (d *driver) mendDefinition(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(func(m member) bool { return d.will.broken[m.name] }))
	if !found {
		return false, nil
	}
	d.journal.write("people: mend definition %s", m.name)
	return true, d.define(ctx, m)
}

func (d *driver) deleteInstaller(ctx context.Context) (bool, error) {
	if !d.will.installer || d.rng.IntN(2) == 0 {
		return false, nil
	}
	d.will.installer = false
	d.journal.write("people: delete the Installer")
	object := installerObject()
	return true, errors.Join(d.annotate(ctx, object, v1alpha1.AnnotationConfirmDelete, installerName), d.api.Delete(ctx, object))
}

// makeInstaller begins anew once the deleted Installer has gone.
func (d *driver) makeInstaller(ctx context.Context) (bool, error) {
	if d.will.installer {
		return false, nil
	}
	if missing, err := d.missing(ctx, installerObject()); !missing || err != nil {
		return false, err
	}
	d.will.installer = true
	d.will.highest = map[string]string{}
	return d.writeList(ctx)
}
