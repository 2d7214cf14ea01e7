package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstallerSpec states which add-ons a cluster should run.
type InstallerSpec struct {
	// channel limits open versions (absent, `latest`, `1.2.x`, ranges) to those that the catalogue lists in this channel. Exact
	// versions are not limited. Absent means any version.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Channel string `json:"channel,omitempty"`
	// approval says whether plans are carried out by themselves. Under Manual nothing is written until the annotation
	// addons.kurl.sh/approved-plan has the digest of the present plan, which is in status. Absent means Automatic; then only a plan that
	// removes every add-on, or more than half of three or more, has to be approved.
	// +optional
	Approval ApprovalPolicy `json:"approval,omitempty"`
	// suspend stops the operator from changing anything for this Installer; what runs keeps running. Absent means false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// deletionPolicy says what deleting the Installer does to its add-ons: Remove uninstalls them, Orphan leaves them running as
	// ordinary HelmReleases of Flux. Absent means Remove. Either way the deletion has to be confirmed by the annotation
	// addons.kurl.sh/confirm-delete with the Installer's name.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// charts fetches every chart from a mirror. Absent means from the repositories that the definitions name.
	// +optional
	Charts *Charts `json:"charts,omitempty"`
	// addons are the wanted add-ons. An add-on that leaves the list is uninstalled, after everything that needs it, and once the
	// gates of its definition let it go. If all of them leave, or more than half of three or more, the plan has to be approved first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Addons []InstallerAddon `json:"addons,omitempty"`
}

// ApprovalPolicy says whether plans are carried out by themselves.
// +kubebuilder:validation:Enum=Automatic;Manual
type ApprovalPolicy string

// The approval policies.
const (
	// ApprovalAutomatic carries out plans at once, but for removals of too much.
	ApprovalAutomatic ApprovalPolicy = "Automatic"
	// ApprovalManual carries out a plan once a person has approved its digest.
	ApprovalManual ApprovalPolicy = "Manual"
)

// InstallerAddon is one wanted add-on.
type InstallerAddon struct {
	// name of an add-on in the catalogue, that is, of an AddonDefinition: built in or in the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// version to run: an exact version, `latest`, `1.27.x`, or a range such as `>=1.2 <2`. Absent means the newest version
	// of the channel that allows this cluster's Kubernetes. The exact version that it came to is in status.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// values are Helm values for the add-on's release, merged over the definition's and over those of valuesFrom: maps
	// merge, lists and scalars replace, null deletes a default. An add-on with several releases takes them in `releases`.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// valuesFrom are merged in order over the definition's values, and below `values`.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// adopt takes over Helm releases and HelmReleases of the add-on's names that are there already and that somebody else made;
	// without it they are left alone, and the add-on is blocked with a preview of what would be taken over. Absent means false.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
	// releases sets values for single releases of an add-on that has several.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Releases []ReleaseOverride `json:"releases,omitempty"`
}

// InstallerStatus reports what the operator makes of an Installer.
type InstallerStatus struct {
	// conditions are Ready (every add-on runs at its version), Reconciling (work is under way), Stalled (a person must act),
	// Resolved (the spec makes sense against the catalogue) and Approved (absent while nothing has to be approved).
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
	// plan lists what remains to be changed; no changes means that the Addons say what the spec asks for.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// approved is the plan that was approved last and is being carried out, or that is void by now. It outlives the operator's death
	// halfway.
	// +optional
	Approved *ApprovedPlan `json:"approved,omitempty"`
	// removed has a receipt for each of the last add-ons that have gone, the newest last; at most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Removed []Receipt `json:"removed,omitempty"`
	// addons sums up every add-on of this Installer, in install order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Addons []AddonSummary `json:"addons,omitempty"`
}

// ApprovedPlan is a plan that a person approved.
type ApprovedPlan struct {
	// digest of the plan.
	// +required
	Digest string `json:"digest,omitempty"`
	// generation of the spec that it was made for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// kubernetes is the version of the cluster that it was made for; absent if that was unknown.
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
	// changes that were approved with it, in the plan's order.
	// +optional
	// +listType=atomic
	Changes []ApprovedChange `json:"changes,omitempty"`
}

// ApprovedChange is one change of an approved plan.
type ApprovedChange struct {
	// change that was approved.
	// +required
	Change Change `json:"change,omitzero"`
	// digest identifies what the change brings about; absent where the plan was void before anything of it could be done.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Plan is what the operator is about to change, in order.
type Plan struct {
	// digest identifies the plan: it is another one after every edit of the spec, and whenever anything that the plan rests on becomes
	// another one: a definition, the cluster's Kubernetes, what runs, or a change in the plan.
	// +optional
	Digest string `json:"digest,omitempty"`
	// kubernetes is the version of the cluster that the plan was made for; absent if that was unknown.
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
	// changes in the order in which they are made.
	// +optional
	// +listType=map
	// +listMapKey=addon
	Changes []Change `json:"changes,omitempty"`
	// differences from the plan that was approved last, one a line, where that approval is void; absent when nothing was approved.
	// +optional
	// +listType=atomic
	Differences []string `json:"differences,omitempty"`
}

// Action is what a change does to an add-on.
// +kubebuilder:validation:Enum=Install;Upgrade;Reconfigure;Remove;Orphan
type Action string

// The actions of a plan.
const (
	// ActionInstall installs an add-on that does not run.
	ActionInstall Action = "Install"
	// ActionUpgrade moves an add-on to a newer version, hop by hop.
	ActionUpgrade Action = "Upgrade"
	// ActionReconfigure changes values or chart sources at the same version.
	ActionReconfigure Action = "Reconfigure"
	// ActionRemove uninstalls an add-on.
	ActionRemove Action = "Remove"
	// ActionOrphan lets go of an add-on and leaves it running.
	ActionOrphan Action = "Orphan"
)

// Change is one change of a plan.
type Change struct {
	// addon that is changed.
	// +required
	Addon string `json:"addon,omitempty"`
	// action taken.
	// +required
	Action Action `json:"action,omitempty"`
	// from is the version before; absent for an install.
	// +optional
	From string `json:"from,omitempty"`
	// to is the version after; absent for a removal.
	// +optional
	To string `json:"to,omitempty"`
	// gates of the definition that the change has to pass, by name.
	// +optional
	// +listType=atomic
	Gates []string `json:"gates,omitempty"`
	// path lists every version that an upgrade passes through, the last being `to`.
	// +optional
	// +listType=atomic
	Path []string `json:"path,omitempty"`
	// migrations of the definition that the change runs on its way, by name.
	// +optional
	// +listType=atomic
	Migrations []string `json:"migrations,omitempty"`
	// definition is the digest of the AddonDefinition that the change was planned with; absent when there is none that can be used.
	// +optional
	Definition string `json:"definition,omitempty"`
	// reason says why, in one sentence.
	// +optional
	Reason string `json:"reason,omitempty"`
	// waits says what has to happen before this change of the plan is made; absent when nothing has.
	// +optional
	Waits string `json:"waits,omitempty"`
}

// AddonSummary is one line of an Installer's status.
type AddonSummary struct {
	// name of the add-on.
	// +required
	Name string `json:"name,omitempty"`
	// state of the add-on.
	// +optional
	State AddonState `json:"state,omitempty"`
	// version that runs; absent when none does.
	// +optional
	Version string `json:"version,omitempty"`
	// desiredVersion is the exact version that the spec came to; absent when it could not be resolved or is to be removed.
	// +optional
	DesiredVersion string `json:"desiredVersion,omitempty"`
	// path lists the versions still to pass through.
	// +optional
	// +listType=atomic
	Path []string `json:"path,omitempty"`
	// message says what the state rests on, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`
	// since is when the state was entered.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// blockedBy is the chain of what holds the add-on back, from the nearest link to the root cause.
	// +optional
	// +listType=atomic
	BlockedBy []Blocker `json:"blockedBy,omitempty"`
}

// Installer is the list of add-ons that a cluster should run, as its user writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=inst,categories=kurl
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it becomes a label"
type Installer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec states which add-ons should run.
	// +optional
	Spec InstallerSpec `json:"spec,omitempty"`
	// status reports what the operator makes of it.
	// +optional
	Status InstallerStatus `json:"status,omitempty"`
}

// InstallerList is a list of Installers.
// +kubebuilder:object:root=true
type InstallerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Installer `json:"items"`
}
