package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Summary is what people are told of an add-on. It has no times: whoever stores it knows since when it holds.
type Summary struct {
	State     v1alpha1.AddonState
	Message   string
	Version   string
	Path      []string
	Releases  []v1alpha1.ReleaseStatus
	BlockedBy []v1alpha1.Blocker
	Gates     []v1alpha1.GateStatus
	// Health is nil while it has not been asked for: the add-on has no health checks, or does not run.
	Health *Finding
	// Good is what runs, where it is settled and healthy; nil otherwise.
	Good *v1alpha1.LastGood
	// Retired says that the version that runs is deprecated or withdrawn; nil when it is neither.
	Retired *Retired
	// Values says whether the user sets only values that are tested; nil where the definition does not say which are.
	Values *Finding
	// Stalled says that nothing will move until a person acts.
	Stalled bool
}

// Summarize puts an observation, made after the decision was carried out, into words.
func Summarize(o Observation, d Decision) Summary {
	s := Summary{Version: d.Running, Path: d.Path}
	if o.Definition != nil {
		s.Version = RunningVersion(o.Definition, o.Releases)
	}
	s.Releases, s.Gates, s.Health, s.Retired = releaseStatuses(o), gateStatuses(o), health(o), runsRetired(o, s.Version)
	s.Values = testedValues(o.Definition, &o.Addon.Spec)
	switch {
	case d.Hold != nil:
		s.hold(o, d.Hold)
	case o.Addon.Spec.State == v1alpha1.Absent:
		s.State, s.Message = v1alpha1.StateRemoving, removalMessage(o)
	case o.Addon.Spec.State == v1alpha1.Orphaned:
		s.State, s.Message = v1alpha1.StateRemoving, "leaving its releases to themselves"
	case s.Health != nil && !s.Health.Passed:
		s.unhealthy(o)
	case Settled(o.Definition, o.Addon.Spec.Version, o.Releases):
		s.State, s.Message, s.Path, s.Good = v1alpha1.StateReady, "running "+o.Addon.Spec.Version, nil, good(o, s.Version)
	default:
		s.unsettled(o, d)
	}
	return s
}

// hold prefers the news that something which runs has failed over the news that its next change waits.
func (s *Summary) hold(o Observation, hold *Hold) {
	s.State, s.Message = hold.State, hold.Message
	s.BlockedBy = append([]v1alpha1.Blocker{hold.By}, hold.Chain...)
	if failing, ok := firstFailing(o); ok && hold.State == v1alpha1.StateUpgrading {
		s.State, s.Stalled = v1alpha1.StateFailed, failing.Stalled
		s.Message += aftermath(o, failing)
	}
	s.Stalled = s.Stalled || hold.Stalled || hold.By.Kind == v1alpha1.BlockerAddonDefinition
}

// unhealthy speaks of an add-on that runs as wanted and does not work, or not yet.
func (s *Summary) unhealthy(o Observation) {
	s.State, s.Path = v1alpha1.StateDegraded, nil
	s.Message = fmt.Sprintf("running %s, but not healthy: %s", o.Addon.Spec.Version, s.Health.Message)
	if check, finding, ok := new(Decision).failed(o, o.Addon.Name, healthChecks(o.Definition), false); ok && check != nil {
		s.BlockedBy = []v1alpha1.Blocker{unhealthy(check, finding).By}
	}
	if !wasReady(o.Addon) {
		s.State = v1alpha1.StateInstalling
		if !firstRevisions(o) {
			s.State = v1alpha1.StateUpgrading
		}
	}
}

// wasReady says whether people have been told that an add-on is ready, at the version that it is to run.
func wasReady(addon *v1alpha1.Addon) bool {
	return addon.Status.ObservedGeneration == addon.Generation && (addon.Status.State == v1alpha1.StateReady || addon.Status.State == v1alpha1.StateDegraded)
}

// health sums up what was asked of the add-on's own health.
func health(o Observation) *Finding {
	if o.Definition == nil || len(o.Definition.Spec.Health) == 0 {
		return nil
	}
	switch check, finding, known := new(Decision).failed(o, o.Addon.Name, healthChecks(o.Definition), false); {
	case !known:
		return nil
	case check == nil:
		return &Finding{Passed: true}
	default:
		return &Finding{Message: fmt.Sprintf("%s: %s", check.Name, finding.Message)}
	}
}

func (s *Summary) unsettled(o Observation, d Decision) {
	if failing, ok := firstIn(o, PhaseFailing); ok {
		s.State, s.Stalled = v1alpha1.StateFailed, failing.Stalled
		s.Message = fmt.Sprintf("release %s fails: %s", failing.Name, failing.Message) + aftermath(o, failing)
		return
	}
	if late, ok := firstOverdue(o); ok {
		s.State, s.Message = v1alpha1.StateFailed, fmt.Sprintf("release %s gets nowhere: %s", late.Name, late.Message)
		return
	}
	if degraded, ok := firstIn(o, PhaseDegraded); ok {
		s.State, s.Message = v1alpha1.StateDegraded, fmt.Sprintf("release %s runs, but cannot be checked: %s", degraded.Name, degraded.Message)
		return
	}
	for i := range o.Dependencies {
		if dependency := &o.Dependencies[i]; !dependency.settled() && s.waits(o) {
			s.hold(o, holdDependency(dependency, "has not settled"))
			return
		}
	}
	s.State, s.Message = s.change(o, d)
	if progressing, ok := firstIn(o, PhaseProgressing); ok {
		s.Message += fmt.Sprintf(": release %s: %s", progressing.Name, progressing.Message)
	}
}

// change says what is under way: nothing that is deployed in another version than asked for means a first install.
func (s *Summary) change(o Observation, d Decision) (v1alpha1.AddonState, string) {
	if s.Version != "" && s.Version == d.Version {
		if firstRevisions(o) {
			return v1alpha1.StateInstalling, "settling at " + d.Version
		}
		return v1alpha1.StateUpgrading, "settling at " + d.Version
	}
	for _, release := range o.Releases {
		if release.ChartVersion != "" && !SameChartVersion(release.ChartVersion, release.AskedVersion) || s.Version != "" {
			return v1alpha1.StateUpgrading, "changing to " + d.Version
		}
	}
	return v1alpha1.StateInstalling, "installing " + d.Version
}

func firstRevisions(o Observation) bool {
	for _, release := range o.Releases {
		if release.Revision != 1 {
			return false
		}
	}
	return true
}

// waits says whether nothing of the add-on moves, and a release of it waits for one of another add-on, or none has come so far.
func (s *Summary) waits(o Observation) bool {
	if _, progressing := firstIn(o, PhaseProgressing); progressing {
		return false
	}
	for _, release := range o.Releases {
		foreign := func(name string) bool { _, ours := o.Releases[name]; return !ours }
		if release.Phase == PhaseWaiting && slices.ContainsFunc(release.DependsOn, foreign) {
			return true
		}
	}
	_, settled := firstIn(o, PhaseSettled)
	return !settled
}

func removalMessage(o Observation) string {
	for _, name := range sortedKeys(o.Releases) {
		if release := o.Releases[name]; release.Phase == PhaseDeleting {
			return fmt.Sprintf("uninstalling release %s: %s", name, release.Message)
		}
	}
	return "uninstalling"
}

func firstIn(o Observation, phase Phase) (Observed, bool) {
	for _, name := range inOrder(o) {
		if o.Releases[name].Phase == phase {
			return o.Releases[name], true
		}
	}
	return Observed{}, false
}

// inOrder names the add-on's releases: those of the definition in its order, then others by name.
func inOrder(o Observation) []string {
	names := sortedKeys(o.Releases)
	if o.Definition == nil {
		return names
	}
	var listed []string
	for _, name := range releaseNames(o.Definition) {
		if _, there := o.Releases[name]; there {
			listed = append(listed, name)
		}
	}
	return append(listed, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(listed, name) })...)
}

func releaseStatuses(o Observation) []v1alpha1.ReleaseStatus {
	var statuses []v1alpha1.ReleaseStatus
	for _, name := range inOrder(o) {
		release := o.Releases[name]
		status := v1alpha1.ReleaseStatus{
			Name: name, Namespace: release.Namespace, ChartVersion: release.ChartVersion, Revision: release.Revision, Ready: release.Phase == PhaseSettled,
		}
		if !status.Ready {
			status.Message = release.Message
		}
		statuses = append(statuses, status)
	}
	return statuses
}
