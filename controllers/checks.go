package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// againClosed is after how long it is worth looking again at a check that is not passed.
	againClosed = sharedFor
	// againOpen is after how long a check that is passed is worth looking at again.
	againOpen = time.Minute
	// effort is by how much longer than an evaluation takes it is not repeated, so that a check over very many objects, or one that is too
	// costly to be evaluated at all, takes up to a hundredth of a processor.
	effort = 100
)

// Checks evaluates gates and health checks.
type Checks struct {
	Facts     *Facts
	Stability *Stability
	Clock     clock.PassiveClock
}

// Find answers a question about the add-on whose Addon is given, and says after how long it is worth asking again. Whatever goes wrong is
// a finding that is not passed, with the reason.
func (c *Checks) Find(ctx context.Context, addon *v1alpha1.Addon, catalog addons.Catalog, question addons.Question, subject addons.Subject) (finding addons.Finding, again time.Duration) {
	probe := catalog.Probe(question.Addon, question.Check)
	if probe == nil {
		return addons.Finding{Message: fmt.Sprintf("the AddonDefinition %q has no check %q any more", question.Addon, question.Check), Fresh: question.Fresh}, againClosed
	}
	finding, took := c.evaluate(ctx, probe, question, subject)
	finding.Fresh = question.Fresh
	key, now := CheckKey{Addon: addon.UID, Name: question.Check, Version: subject.From}, c.Clock.Now()
	if !probe.Gate && addon.Status.Version == subject.From && apimeta.IsStatusConditionTrue(addon.Status.Conditions, v1alpha1.ConditionHealthy) {
		c.Stability.Seed(key, now)
	}
	stable, remaining := c.Stability.Settle(key, finding.Passed, probe.StableFor(), now)
	switch {
	case !finding.Passed:
		return finding, max(againClosed, effort*took)
	case !stable:
		finding.Passed = false
		finding.Message = fmt.Sprintf("check %q is passed, but not yet for %s without a break", question.Check, probe.StableFor())
		return finding, max(min(againClosed, remaining), effort*took)
	}
	return finding, max(againOpen, effort*took)
}

// evaluate a check, and say how long that took, without the time for reading.
func (c *Checks) evaluate(ctx context.Context, probe *addons.Probe, question addons.Question, subject addons.Subject) (addons.Finding, time.Duration) {
	facts := map[string][]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(probe.Check.Resources)) {
		objects, err := c.Facts.Read(ctx, probe.Check.Resources[name], question.Fresh)
		if err != nil {
			return probe.Unread(name, err), 0
		}
		facts[name] = objects
	}
	began := c.Clock.Now()
	finding := probe.Evaluate(facts, subject)
	return finding, c.Clock.Since(began)
}
