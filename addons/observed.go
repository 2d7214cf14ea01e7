package addons

import (
	"time"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Phase is where a release stands, by everything that Flux says of it.
type Phase string

// The phases of a release.
const (
	// PhaseSettled means that exactly what its HelmRelease asks for is deployed and passes its tests.
	PhaseSettled Phase = "Settled"
	// PhaseProgressing means that Flux is working on it, or has yet to notice the last change.
	PhaseProgressing Phase = "Progressing"
	// PhaseWaiting means that Flux waits for a release that this one depends on.
	PhaseWaiting Phase = "Waiting"
	// PhaseFailing means that the last attempt failed; Flux may try again.
	PhaseFailing Phase = "Failing"
	// PhaseDegraded means that what is asked for is deployed, but Flux fails to check it, for example because its source is away.
	PhaseDegraded Phase = "Degraded"
	// PhaseDeleting means that its HelmRelease is being deleted.
	PhaseDeleting Phase = "Deleting"
)

// Uninstall says how far the uninstall of a release that is being deleted is.
type Uninstall string

// The stages and outcomes of an uninstall.
const (
	// UninstallUnderway means that Flux has yet to say that it is done.
	UninstallUnderway Uninstall = ""
	// UninstallDone means that Flux has uninstalled it.
	UninstallDone Uninstall = "Done"
	// UninstallAssumed means that Flux found no Helm release in Helm's storage, and took that for an uninstall.
	UninstallAssumed Uninstall = "Assumed"
	// UninstallSkipped means that Flux let go of it without an uninstall: it was suspended, its ServiceAccount was missing, or somebody
	// took Flux's finalizer away.
	UninstallSkipped Uninstall = "Skipped"
)

// Observed is what Flux says of a release that has a HelmRelease.
type Observed struct {
	Name string
	// UID tells the HelmRelease from earlier and later ones of its name.
	UID string
	// Namespace is the one that the HelmRelease asks for.
	Namespace string
	Phase     Phase
	// Stalled says that Flux has given up until something changes.
	Stalled bool
	// Stale says that the release runs as asked, but Flux will report an earlier failure until it is forced to upgrade.
	Stale bool
	// SuspendedBy names the field manager that suspended the HelmRelease; empty when it is not suspended.
	SuspendedBy string
	// AskedChart and AskedVersion are those in the HelmRelease's spec.
	AskedChart   string
	AskedVersion string
	// AskedByUs says that the operator itself wrote AskedVersion, and nobody has changed it since.
	AskedByUs bool
	// ChartVersion and Revision are those of the newest deployed Helm release; empty and 0 when none is.
	ChartVersion string
	Revision     int64
	// ValuesDigest identifies the values of the newest deployed Helm release, as Flux saw them.
	ValuesDigest string
	// Token changes with every new state that a dependent may have to be told of.
	Token string
	// Requested is the last token with which Flux was asked to reconcile, and Handled the last one that it has seen.
	Requested string
	Handled   string
	// Uninstall says, of a release that is being deleted, how far that is.
	Uninstall Uninstall
	// Chart and TargetNamespace are those of the newest Helm release, however it went; empty when there is none.
	Chart           string
	TargetNamespace string
	// DependsOn names the releases that the HelmRelease waits for.
	DependsOn []string
	// RolledBack says that an upgrade failed, and that Flux went back to what ran before.
	RolledBack bool
	// NewCRDs names CRDs that belong to the chart that is asked for already, while another one runs.
	NewCRDs []string
	// ResetLost says that a request for a fresh start found Flux waiting for something else, and had no effect.
	ResetLost bool
	// Message is the cause in Flux's own words.
	Message string
	// Deadline is when Flux should have told of an end of what it does, or of a failure; zero where nothing is expected of it. Late is what
	// is to be said from then on.
	Deadline time.Time
	Late     string
	// Overdue says that the deadline has passed.
	Overdue bool
}

// AsOf is what an observation says at a time.
func (o Observed) AsOf(now time.Time) Observed {
	if !o.Deadline.IsZero() && !now.Before(o.Deadline) {
		o.Overdue, o.Message = true, o.Late
	}
	return o
}

// RunningVersion returns the version of an add-on that its deployed releases belong to: the newest listed one whose chart versions are
// exactly those deployed. It is empty when nothing is deployed, or when the releases are not all at the same version, as halfway
// through a hop.
func RunningVersion(def *v1alpha1.AddonDefinition, observed map[string]Observed) string {
	for i := len(def.Spec.Versions) - 1; i >= 0; i-- {
		if runsAt(&def.Spec.Versions[i], observed) {
			return def.Spec.Versions[i].Version
		}
	}
	return ""
}

// AskedVersion returns the version that an add-on's releases ask for, whether or not it runs yet; empty when they are not all of one.
func AskedVersion(def *v1alpha1.AddonDefinition, observed map[string]Observed) string {
	return RunningVersion(def, asAsked(observed))
}

func runsAt(version *v1alpha1.VersionDefinition, observed map[string]Observed) bool {
	for name, at := range version.Releases {
		release, ok := observed[name]
		if !ok || !SameChartVersion(release.ChartVersion, at.ChartVersion) {
			return false
		}
	}
	return true
}

// Settled says whether an add-on runs, settled, at a version.
func Settled(def *v1alpha1.AddonDefinition, version string, observed map[string]Observed) bool {
	listed := findVersion(def, version)
	if listed == nil {
		return false
	}
	for name, at := range listed.Releases {
		release, ok := observed[name]
		if !ok || release.Phase != PhaseSettled || !SameChartVersion(release.AskedVersion, at.ChartVersion) {
			return false
		}
	}
	return true
}
