package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Observation is everything that a decision on an add-on rests on.
type Observation struct {
	Addon *v1alpha1.Addon
	// Definition of the add-on; nil when there is none that can be used, and then Problem says why.
	Definition *v1alpha1.AddonDefinition
	Problem    string
	// Digest of the definition, by Catalog.Digest.
	Digest string
	// Releases are the add-on's HelmReleases by name, whether or not the definition still lists them.
	Releases map[string]Observed
	// Dependencies are the add-ons that come first, sorted by name.
	Dependencies []Dependency
	// Dependents are other add-ons with a release that depends on one of this add-on's, sorted.
	Dependents []string
	// Leaving holds, for those of them that are on their way out too, what they report of what holds them; it is passed on to people and
	// decides nothing.
	Leaving map[string][]v1alpha1.Blocker
	// Kubernetes is the cluster's version; empty means unknown.
	Kubernetes string
	// Needs are what other add-ons that run demand of this one's version.
	Needs []Need
	// Migrations are those of the add-on, by name.
	Migrations map[string]MigrationState
	// Owners and Charts hold, by release, what a decision has asked for.
	Owners map[string]OwnerFinding
	Charts map[string]ChartFinding

	findings map[checkKey]Finding // by Answer
}

// Dependency is an add-on that comes first.
type Dependency struct {
	Name string
	// Definition is nil when the add-on is required, but not there.
	Definition *v1alpha1.AddonDefinition
	// Desired is the version that it is to run.
	Desired string
	// Releases are its HelmReleases by name.
	Releases map[string]Observed
	// State, Message and BlockedBy are what it reports of itself; they are passed on to people and decide nothing.
	State     v1alpha1.AddonState
	Message   string
	BlockedBy []v1alpha1.Blocker
}

func (d *Dependency) settled() bool {
	return d.Definition != nil && Settled(d.Definition, d.Desired, d.Releases)
}

// Decision is what to do for an add-on now. At most one of Write and Delete is set.
type Decision struct {
	// Ask is what has to be known first. While it is not empty nothing else of the decision counts.
	Ask Ask
	// Version that Write brings about: the wanted one, the next hop towards it, or one that has to settle first; empty when
	// nothing is written.
	Version string
	// Running is the version that runs before anything is done; empty when none does.
	Running string
	// Path lists the versions still to pass through; empty when the wanted one runs.
	Path []string
	// Write holds the releases as they should be, in order.
	Write []Release
	// Poke maps releases to the token with which Flux is asked to look again, since what they wait for has settled.
	Poke map[string]string
	// Force maps releases to the token with which Flux is made to upgrade once more, since it would report a failure that is over
	// for ever.
	Force map[string]string
	// Migrate is a Migration that has to be made; nil when none has.
	Migrate *MigrationRun
	// Delete names HelmReleases to delete now.
	Delete []string
	// LetGo names HelmReleases that Flux is done with, and that are to be made anew.
	LetGo []string
	// Gone says that every release of the add-on has been uninstalled, as far as Flux says.
	Gone bool
	// HandOver says that the add-on's HelmReleases are to be left to themselves.
	HandOver bool
	// Hold says why nothing more is done; nil when nothing holds.
	Hold *Hold
}

// Hold is a reason to wait, in one stable sentence, and what is waited for.
type Hold struct {
	State   v1alpha1.AddonState
	Message string
	By      v1alpha1.Blocker
	// Chain continues By down to the root cause.
	Chain []v1alpha1.Blocker
	// Stalled says that nothing will move until a person acts.
	Stalled bool
}

// Decide is a pure function of what was observed: killed and started anew, the operator decides the same.
func Decide(o Observation) Decision {
	switch o.Addon.Spec.State {
	case v1alpha1.Absent:
		return decideRemoval(o)
	case v1alpha1.Orphaned:
		return decideHandOver(o)
	}
	d := Decision{LetGo: uninstalled(o.Releases)}
	if o.Definition == nil {
		d.Hold = holdDefinition(o, o.Problem)
		return d
	}
	d.Running = RunningVersion(o.Definition, o.Releases)
	if pinned := o.Addon.Spec.Definition; pinned != "" && pinned != o.Digest {
		d.Hold = holdUnapproved(o)
		return d
	}
	if d.Hold = holdSuspended(staying(o.Releases)); d.Hold != nil {
		d.Path = pathAhead(o, d.Running)
		return d
	}
	decideVersion(o, &d)
	if d.Version != "" {
		d.Write = Releases(o.Definition, &o.Addon.Spec, d.Version, lastReleases(o.Dependencies))
	}
	if hold := d.holdWrite(o); hold != nil {
		d.Version, d.Write, d.Hold = "", nil, hold
	}
	if Settled(o.Definition, o.Addon.Spec.Version, o.Releases) {
		d.failed(o, o.Addon.Name, healthChecks(o.Definition), false) // for the summary
	}
	d.Poke, d.Force = pokes(o), forces(o)
	return d
}

// staying leaves out the releases that are being deleted.
func staying(observed map[string]Observed) map[string]Observed {
	rest := maps.Clone(observed)
	maps.DeleteFunc(rest, func(_ string, release Observed) bool { return release.Phase == PhaseDeleting })
	return rest
}

// uninstalled names the HelmReleases that somebody deleted and Flux is done with.
func uninstalled(observed map[string]Observed) []string {
	return slices.DeleteFunc(sortedKeys(observed), func(name string) bool {
		return observed[name].Phase != PhaseDeleting || observed[name].Uninstall == UninstallUnderway
	})
}

func lastReleases(dependencies []Dependency) []string {
	var names []string
	for i := range dependencies {
		if def := dependencies[i].Definition; def != nil {
			if last := LastRelease(def, dependencies[i].Desired); last != "" {
				names = append(names, last)
			}
		}
	}
	slices.Sort(names)
	return names
}

// pokes finds releases that Flux keeps waiting although all that they depend on has settled: left alone, Flux would look
// again only after its dependency interval. The token makes sure that each new state is told once.
func pokes(o Observation) map[string]string {
	around := map[string]Observed{}
	maps.Copy(around, o.Releases)
	for _, dependency := range o.Dependencies {
		maps.Copy(around, dependency.Releases)
	}
	tokens := map[string]string{}
	for name, release := range o.Releases {
		token, ready := dependenciesToken(release, around)
		if release.Phase == PhaseWaiting && ready && token != release.Requested {
			tokens[name] = token
		}
	}
	return tokens
}

// forces finds releases with a failure that is over. The token changes with the next revision, so that each is forced once.
func forces(o Observation) map[string]string {
	tokens := map[string]string{}
	for name, release := range o.Releases {
		if token := "force-" + release.Token; release.Stale && token != release.Requested {
			tokens[name] = token
		}
	}
	return tokens
}

func dependenciesToken(release Observed, around map[string]Observed) (string, bool) {
	tokens := []string{release.Token}
	for _, name := range release.DependsOn {
		dependency, ok := around[name]
		if !ok || dependency.Phase != PhaseSettled {
			return "", false
		}
		tokens = append(tokens, name+"/"+dependency.Token)
	}
	sum := sha256.Sum256([]byte(strings.Join(tokens, ",")))
	return "dependencies-" + hex.EncodeToString(sum[:8]), true
}
