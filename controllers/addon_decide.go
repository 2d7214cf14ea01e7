package controllers

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// decide makes the decision on an Addon, and finds out on the way what it asks for. It also says after how long a check should be looked
// at again: zero means never, since nothing rests on one.
func (r *AddonReconciler) decide(ctx context.Context, o *addons.Observation) (addons.Decision, time.Duration, error) {
	var again time.Duration
	for {
		d := addons.Decide(*o)
		if d.Ask.Empty() {
			return d, again, nil
		}
		wait, err := r.answer(ctx, o, d)
		if err != nil {
			return d, 0, err
		}
		again = sooner(again, wait)
	}
}

// answer finds out what a decision asks for, and adds it to the observation.
func (r *AddonReconciler) answer(ctx context.Context, o *addons.Observation, d addons.Decision) (time.Duration, error) {
	again, err := r.check(ctx, o, d)
	if err != nil {
		return 0, err
	}
	for _, release := range d.Ask.Owners {
		if o.Owners == nil {
			o.Owners = map[string]addons.OwnerFinding{}
		}
		if o.Owners[release.Name], err = r.Owners.Find(ctx, release); err != nil {
			return 0, err
		}
		if o.Owners[release.Name] != (addons.OwnerFinding{}) {
			again = sooner(again, findingPoll)
		}
	}
	for _, release := range d.Ask.Charts {
		if o.Charts == nil {
			o.Charts = map[string]addons.ChartFinding{}
		}
		if o.Charts[release.Name], err = r.Charts.Find(ctx, release); err != nil {
			return 0, err
		}
		switch finding := o.Charts[release.Name]; {
		case finding.Waiting != "":
			again = sooner(again, chartPoll)
		case finding.Problem != "":
			again = sooner(again, findingPoll)
		}
	}
	return again, nil
}

const (
	// chartPoll is how often a chart that is waited for is looked at, beside what its events tell.
	chartPoll = 5 * time.Second
	// findingPoll is how often an add-on that is held by what others have in the cluster looks whether they have put it right: no watch
	// tells of it.
	findingPoll = 30 * time.Second
)

func (r *AddonReconciler) check(ctx context.Context, o *addons.Observation, d addons.Decision) (time.Duration, error) {
	if len(d.Ask.Checks) == 0 {
		return 0, nil
	}
	catalog, err := r.Catalog.Current(ctx)
	if err != nil {
		return 0, err
	}
	var again time.Duration
	for _, question := range d.Ask.Checks {
		subject := addons.Subject{Name: question.Addon, From: d.Running}
		if len(d.Path) > 0 {
			subject.To = d.Path[0]
		}
		addon := o.Addon
		if question.Addon != addon.Name {
			if addon, subject, err = r.dependency(ctx, o, question.Addon); err != nil {
				return 0, err
			}
		}
		finding, wait := r.Checks.Find(ctx, addon, catalog, question, subject)
		o.Answer(question, finding)
		again = sooner(again, wait)
	}
	return again, nil
}

// dependency is what the health checks of another add-on are about.
func (r *AddonReconciler) dependency(ctx context.Context, o *addons.Observation, name string) (*v1alpha1.Addon, addons.Subject, error) {
	subject := addons.Subject{Name: name}
	for i := range o.Dependencies {
		if other := &o.Dependencies[i]; other.Name == name && other.Definition != nil {
			subject.From = addons.RunningVersion(other.Definition, other.Releases)
		}
	}
	addon := &v1alpha1.Addon{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, addon); err != nil {
		return nil, subject, fmt.Errorf("reading Addon %s: %w", name, err)
	}
	return addon, subject, nil
}

// sooner is the shorter of two waits, where zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
