package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// holdLength is how long the operator is killed and its requests disturbed while something has to be held.
const holdLength = 10 * time.Second

// hold is a reason for which nothing may go.
type hold struct {
	name string
	// begin makes the reason, and then asks for the removal of the add-on.
	begin func(ctx context.Context, m member) error
	// all means that the removal of everything is asked for.
	all bool
	// blind means that the operator cannot take the removal back before the reason has gone.
	blind bool
}

func (d *driver) holds() []hold {
	return []hold{
		{name: "a closed gate", begin: func(ctx context.Context, m member) error {
			return errors.Join(d.turn(ctx, m.gateSwitch(v1alpha1.MomentRemove), false), d.withdraw(ctx, m))
		}},
		{name: "a suspended release", begin: func(ctx context.Context, m member) error {
			return errors.Join(d.setSuspended(ctx, m.name, true), d.withdraw(ctx, m))
		}},
		{name: "no definition", blind: true, begin: func(ctx context.Context, m member) error {
			d.will.broken[m.name] = true
			return errors.Join(d.api.Delete(ctx, m.definition(d.repository)), d.withdraw(ctx, m))
		}},
		{name: "no approval", all: true, begin: func(ctx context.Context, _ member) error {
			clear(d.will.wanted)
			return d.applyInstaller(ctx)
		}},
	}
}

func (d *driver) withdraw(ctx context.Context, m member) error {
	delete(d.will.wanted, m.name)
	return d.applyInstaller(ctx)
}

// held is a trial on a settled world: something is asked to go that has to be held, the operator is killed all the while, and at rest
// everything must be as it was, and held. Then either the removal is taken back, or what held it.
func (c *chaos) held(ctx context.Context) error {
	d := c.driver
	m, found := pick(d, d.members(func(m member) bool {
		needed := slices.ContainsFunc(d.members(d.wants), func(o member) bool { return slices.Contains(o.needs, m.name) })
		return d.wants(m) && !needed && slices.Contains(m.gates, v1alpha1.MomentRemove)
	}))
	if !found || len(d.will.wanted) < 2 {
		return nil
	}
	h, _ := pick(d, d.holds())
	c.journal.write("hold %s by %s", m.name, h.name)
	before, wanted := map[string]string{}, maps.Clone(d.will.wanted)
	if err := c.prints(ctx, before); err != nil {
		return err
	}
	if err := h.begin(ctx, m); err != nil {
		return err
	}
	if err := c.storm(ctx, holdLength, func(context.Context) error { return nil }); err != nil {
		return err
	}
	if err := c.until(ctx, "hold", func() ([]string, error) { return c.notHeld(ctx, h, m, before) }); err != nil {
		return err
	}
	c.tally.count(talliedVerdicts, "held by "+h.name)
	if d.rng.IntN(2) == 0 {
		return c.settle(ctx)
	}
	d.will.wanted = wanted
	if err := d.applyInstaller(ctx); err != nil {
		return err
	}
	err := c.until(ctx, "take the removal back", func() ([]string, error) { return c.notTakenBack(ctx, h, m) })
	if err != nil {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	return c.unchanged(ctx, m, before)
}

// notTakenBack lists what the operator still has to learn of a removal that was taken back.
func (c *chaos) notTakenBack(ctx context.Context, h hold, m member) ([]string, error) {
	f, installer, addon := &findings{driver: c.driver}, installerObject(), addonNamed(m.name)
	err := errors.Join(c.driver.api.Get(ctx, client.ObjectKeyFromObject(installer), installer), c.driver.api.Get(ctx, client.ObjectKeyFromObject(addon), addon))
	f.same("observedGeneration of the Installer", installer.Generation, installer.Status.ObservedGeneration)
	if !h.blind {
		f.same("state wanted of Addon "+m.name, v1alpha1.Present, addon.Spec.State)
	}
	return f.lines, err
}

// prints identify what Flux has made of each HelmRelease: an uninstall, an upgrade or another object would show.
func (c *chaos) prints(ctx context.Context, into map[string]string) error {
	var list helmv2.HelmReleaseList
	if err := c.driver.api.List(ctx, &list, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		hr := &list.Items[i]
		revision := 0
		if latest := hr.Status.History.Latest(); latest != nil {
			revision = latest.Version
		}
		into[hr.Name] = fmt.Sprintf("%s, revision %d, deleting %t", hr.UID, revision, hr.DeletionTimestamp != nil)
	}
	return nil
}

// notHeld lists what is not as it has to be while something is held.
func (c *chaos) notHeld(ctx context.Context, h hold, m member, before map[string]string) ([]string, error) {
	f := &findings{driver: c.driver}
	now := map[string]string{}
	if err := c.prints(ctx, now); err != nil {
		return nil, err
	}
	for name, fingerprint := range before {
		f.same("HelmRelease "+name, fingerprint, now[name])
	}
	installer, addon := installerObject(), addonNamed(m.name)
	if err := errors.Join(c.driver.api.Get(ctx, client.ObjectKeyFromObject(installer), installer), c.driver.api.Get(ctx, client.ObjectKeyFromObject(addon), addon)); err != nil {
		return nil, err
	}
	f.same("observedGeneration of the Installer", installer.Generation, installer.Status.ObservedGeneration)
	if h.all {
		f.same("Approved", true, apimeta.IsStatusConditionFalse(installer.Status.Conditions, v1alpha1.ConditionApproved))
		f.same("state wanted of Addon "+m.name, v1alpha1.Present, addon.Spec.State)
		return f.lines, nil
	}
	f.same("state wanted of Addon "+m.name, v1alpha1.Absent, addon.Spec.State)
	f.same("observedGeneration of Addon "+m.name, addon.Generation, addon.Status.ObservedGeneration)
	if addon.Status.State != v1alpha1.StateBlocked && addon.Status.State != v1alpha1.StateSuspended {
		f.add("Addon %s is %s", m.name, addon.Status.State)
	}
	return f.lines, nil
}

// unchanged checks that a removal that was taken back has left no trace.
func (c *chaos) unchanged(ctx context.Context, m member, before map[string]string) error {
	now := map[string]string{}
	if err := c.prints(ctx, now); err != nil {
		return err
	}
	f := &findings{driver: c.driver}
	for _, name := range m.releases() {
		f.same("HelmRelease "+name, before[name], now[name])
	}
	if len(f.lines) == 0 {
		return nil
	}
	return c.violated(violation{"I1", "a removal that was taken back has left traces: " + strings.Join(f.lines, "; ")})
}
