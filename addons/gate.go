package addons

import (
	"fmt"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Answer adds the result of a check to what was observed.
func (o *Observation) Answer(q Question, finding Finding) {
	if o.findings == nil {
		o.findings = map[checkKey]Finding{}
	}
	o.findings[checkKey{q.Addon, q.Check}] = finding
}

type checkKey struct{ addon, check string }

// failed finds the first of an add-on's checks that does not pass. What is not known yet is asked for: ok is then false, and the
// decision has to be made again. Fresh facts are asked for only where all checks pass on older ones.
func (d *Decision) failed(o Observation, addon string, checks []*v1alpha1.Check, fresh bool) (failed *v1alpha1.Check, finding Finding, ok bool) {
	var unknown, stale []Question
	for _, check := range checks {
		finding, known := o.findings[checkKey{addon, check.Name}]
		switch {
		case !known:
			unknown = append(unknown, Question{Addon: addon, Check: check.Name})
		case !finding.Passed:
			return check, finding, true
		case fresh && !finding.Fresh:
			stale = append(stale, Question{Addon: addon, Check: check.Name, Fresh: true})
		}
	}
	if len(unknown) > 0 {
		stale = nil
	}
	d.Ask.Checks = append(d.Ask.Checks, append(unknown, stale...)...)
	return nil, Finding{}, len(unknown)+len(stale) == 0
}

// asked holds a decision that has to be made again once what it asks for is known. Nobody sees it.
func asked() *Hold {
	return &Hold{State: v1alpha1.StateBlocked, Message: "its checks are being evaluated"}
}

// holdGates holds the add-on in front of a closed gate. Only fresh facts open one: older ones may be from before the last hop.
func (d *Decision) holdGates(o Observation, when v1alpha1.Moment) *Hold {
	gate, finding, ok := d.failed(o, o.Addon.Name, gatesAt(o.Definition, when), true)
	switch {
	case !ok:
		return asked()
	case gate == nil:
		return nil
	}
	deed := map[v1alpha1.Moment]string{
		v1alpha1.MomentInstall: "is not installed", v1alpha1.MomentUpgrade: "is not upgraded", v1alpha1.MomentRemove: "is not removed",
	}[when]
	return &Hold{
		State: v1alpha1.StateBlocked, Message: fmt.Sprintf("it %s while its gate %s is closed: %s", deed, gate.Name, finding.Message),
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerGate, Name: gate.Name, Message: finding.Message},
	}
}

// holdUnhealthy holds the next hop of an add-on until its health checks hold, after the last one.
func (d *Decision) holdUnhealthy(o Observation, next string) *Hold {
	check, finding, ok := d.failed(o, o.Addon.Name, healthChecks(o.Definition), true)
	switch {
	case !ok:
		return asked()
	case check == nil:
		return nil
	}
	hold := unhealthy(check, finding)
	hold.Message = fmt.Sprintf("the upgrade to %s waits until it is healthy: %s", next, hold.Message)
	return hold
}

func unhealthy(check *v1alpha1.Check, finding Finding) *Hold {
	return &Hold{
		State: v1alpha1.StateBlocked, Message: fmt.Sprintf("%s: %s", check.Name, finding.Message),
		By: v1alpha1.Blocker{Kind: v1alpha1.BlockerHealth, Name: check.Name, Message: finding.Message},
	}
}

// holdUnhealthyDependency holds an add-on until a dependency's health checks hold. What is upgraded asks for fresh facts: the dependency
// may have come to its version a moment ago, and older facts be about the one before.
func (d *Decision) holdUnhealthyDependency(o Observation, dependency *Dependency) *Hold {
	check, finding, ok := d.failed(o, dependency.Name, healthChecks(dependency.Definition), anyDeployed(o.Releases))
	switch {
	case !ok:
		return asked()
	case check == nil:
		return nil
	}
	hold := unhealthy(check, finding)
	return &Hold{
		State:   v1alpha1.StateBlocked,
		Message: fmt.Sprintf("waits for add-on %q, which runs but is not healthy: %s", dependency.Name, hold.Message),
		By:      v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: dependency.Name, Message: "not healthy"},
		Chain:   []v1alpha1.Blocker{hold.By},
	}
}

func healthChecks(def *v1alpha1.AddonDefinition) []*v1alpha1.Check {
	var checks []*v1alpha1.Check
	for i := range def.Spec.Health {
		checks = append(checks, &def.Spec.Health[i])
	}
	return checks
}

func gatesAt(def *v1alpha1.AddonDefinition, when v1alpha1.Moment) []*v1alpha1.Check {
	var checks []*v1alpha1.Check
	for i := range def.Spec.Gates {
		if def.Spec.Gates[i].When == when {
			checks = append(checks, &def.Spec.Gates[i].Check)
		}
	}
	return checks
}

// gateStatuses lists the gates that the decision came to.
func gateStatuses(o Observation) []v1alpha1.GateStatus {
	if o.Definition == nil {
		return nil
	}
	var statuses []v1alpha1.GateStatus
	for i := range o.Definition.Spec.Gates {
		gate := &o.Definition.Spec.Gates[i]
		if finding, known := o.findings[checkKey{o.Addon.Name, gate.Name}]; known {
			statuses = append(statuses, v1alpha1.GateStatus{Name: gate.Name, When: gate.When, Passed: finding.Passed, Message: finding.Message})
		}
	}
	return statuses
}
