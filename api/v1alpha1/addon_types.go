package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Presence says whether an add-on should be there.
// +kubebuilder:validation:Enum=Present;Absent;Orphaned
type Presence string

const (
	// Present means that the add-on should run.
	Present Presence = "Present"
	// Absent means that the add-on should be uninstalled, after everything that needs it. It can be taken back until the
	// uninstall has begun.
	Absent Presence = "Absent"
	// Orphaned means that the operator should let go of the add-on and leave everything of it running.
	Orphaned Presence = "Orphaned"
)

// AddonSpec is one add-on as its Installer resolved it. The operator writes it; people edit the Installer.
type AddonSpec struct {
	// installer that this add-on belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Installer string `json:"installer,omitempty"`
	// version is the exact version to run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
	// state says whether the add-on should be there: Present, Absent, or Orphaned, which leaves it running on its own.
	// +required
	State Presence `json:"state,omitempty"`
	// adopt allows to take over Helm releases of the add-on's names that somebody else installed, as in the Installer.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
	// definition is the digest of the AddonDefinition that was approved, under approval: Manual: nothing is written by another one.
	// Absent means that whichever is in the catalogue counts.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Definition string `json:"definition,omitempty"`
	// charts fetches every chart from a mirror. Absent means from the repositories that the definition names.
	// +optional
	Charts *Charts `json:"charts,omitempty"`
	// values for the add-on's only release, as in the Installer.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// valuesFrom for the add-on's only release, as in the Installer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// releases holds values for single releases, as in the Installer.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Releases []ReleaseOverride `json:"releases,omitempty"`
}

// AddonState is where an add-on stands, in one word.
// +kubebuilder:validation:Enum=Pending;Blocked;Installing;Upgrading;Migrating;Ready;Degraded;Failed;Suspended;Removing
type AddonState string

// The states of an add-on.
const (
	// StatePending means that nothing has been done yet.
	StatePending AddonState = "Pending"
	// StateBlocked means that something else must happen first; status.blockedBy says what.
	StateBlocked AddonState = "Blocked"
	// StateInstalling means that the first install is under way.
	StateInstalling AddonState = "Installing"
	// StateUpgrading means that a new version or new values are being rolled out.
	StateUpgrading AddonState = "Upgrading"
	// StateMigrating means that a Migration has to end before the next version is rolled out.
	StateMigrating AddonState = "Migrating"
	// StateReady means that every release runs at the wanted version and values.
	StateReady AddonState = "Ready"
	// StateDegraded means that the wanted version runs, but Flux fails to check it.
	StateDegraded AddonState = "Degraded"
	// StateFailed means that the wanted version does not run because of an error; it is retried once the cause may be gone.
	StateFailed AddonState = "Failed"
	// StateSuspended means that a person suspended a release; the operator leaves the add-on alone until they resume it.
	StateSuspended AddonState = "Suspended"
	// StateRemoving means that the add-on is being uninstalled.
	StateRemoving AddonState = "Removing"
)

// AddonStatus reports what runs of an add-on, read from Flux's HelmReleases.
type AddonStatus struct {
	// conditions are Ready (every release runs at the wanted version, and the health checks hold), Reconciling (work is under way),
	// Stalled (a person must act), GatesPassed, Healthy, SupportedValues (False names values that nobody tests) and SupportedVersion
	// (False says that the version that runs is deprecated or withdrawn).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastHandledReconcileAt is the last value of the annotation reconcile.fluxcd.io/requestedAt that was acted on.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// state in one word.
	// +optional
	State AddonState `json:"state,omitempty"`
	// version that runs, read from the history of the HelmReleases; absent when none does, or when the releases disagree.
	// +optional
	Version string `json:"version,omitempty"`
	// lastGood is what ran settled and healthy last.
	// +optional
	LastGood *LastGood `json:"lastGood,omitempty"`
	// path lists the versions still to pass through, the last being the wanted one; absent when it runs already.
	// +optional
	// +listType=atomic
	Path []string `json:"path,omitempty"`
	// releases of this add-on, in install order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Releases []ReleaseStatus `json:"releases,omitempty"`
	// gates that the add-on has come to, in the order of the definition.
	// +optional
	// +listType=map
	// +listMapKey=name
	Gates []GateStatus `json:"gates,omitempty"`
	// blockedBy is the chain of what holds this add-on back, from the nearest link to the root cause.
	// +optional
	// +listType=atomic
	BlockedBy []Blocker `json:"blockedBy,omitempty"`
}

// LastGood is a version that ran settled and healthy, and the values that it ran with.
type LastGood struct {
	// version of the add-on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
	// valuesDigest identifies the values of its releases, those from Secrets and ConfigMaps included: equal values have equal digests.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ValuesDigest string `json:"valuesDigest,omitempty"`
}

// ReleaseStatus is what runs of one release.
type ReleaseStatus struct {
	// name of the release and of its HelmRelease in kurl-addons.
	// +required
	Name string `json:"name,omitempty"`
	// namespace that the chart is installed into.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// chartVersion that is deployed; absent when none is.
	// +optional
	ChartVersion string `json:"chartVersion,omitempty"`
	// revision is Helm's revision number of the deployed release; 0 when none is.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// ready says whether the release runs at the wanted chart version and values.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// message is Flux's own word on the release; absent once it is ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// Kinds of what blocks.
const (
	BlockerAddon           = "Addon"
	BlockerAddonDefinition = "AddonDefinition"
	BlockerChart           = "Chart"
	BlockerGate            = "Gate"
	BlockerHealth          = "Health"
	BlockerHelmRelease     = "HelmRelease"
	BlockerInstaller       = "Installer"
	BlockerMigration       = "Migration"
)

// Blocker is one link of the chain of what holds an add-on back.
type Blocker struct {
	// kind of what blocks: Addon, Gate, Health, Chart, HelmRelease, AddonDefinition, Migration or Installer.
	// +required
	Kind string `json:"kind,omitempty"`
	// name of the object; of a gate or a health check, its name in the definition.
	// +required
	Name string `json:"name,omitempty"`
	// message says how it blocks.
	// +optional
	Message string `json:"message,omitempty"`
	// since is when it began to block.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// Addon is one add-on of an Installer. It is written by the operator for people to read: edit the Installer instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=addon,categories=kurl
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Desired",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Installer",type=string,JSONPath=`.spec.installer`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it becomes a label"
type Addon struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the add-on as its Installer resolved it.
	// +optional
	Spec AddonSpec `json:"spec,omitempty"`
	// status reports what runs.
	// +optional
	Status AddonStatus `json:"status,omitempty"`
}

// AddonList is a list of Addons.
// +kubebuilder:object:root=true
type AddonList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Addon `json:"items"`
}
