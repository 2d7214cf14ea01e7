package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MigrationMoment is when a definition's migration runs.
// +kubebuilder:validation:Enum=Upgrade
type MigrationMoment string

// MigrateUpgrade is between two versions: after the gates of a hop are passed, and before anything of the new version is written.
const MigrateUpgrade MigrationMoment = "Upgrade"

// MigrationApproval says whether a migration begins by itself.
// +kubebuilder:validation:Enum=Automatic;Required
type MigrationApproval string

// The approvals of migrations.
const (
	// MigrationAutomatic begins by itself.
	MigrationAutomatic MigrationApproval = "Automatic"
	// MigrationRequired begins once a person has set spec.approved of the Migration.
	MigrationRequired MigrationApproval = "Required"
)

// MigrationDefinition is a procedure that a transition of an add-on needs. Each run of it is a Migration.
type MigrationDefinition struct {
	// name of the migration, unique in its definition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// when it runs: Upgrade, before a hop that leads from a version in `from` to one in `to`.
	// +required
	When MigrationMoment `json:"when,omitempty"`
	// from is the range of versions that a hop has to begin at, such as `<4.0.0`. Absent means any.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	From string `json:"from,omitempty"`
	// to is the range of versions that a hop has to end at, such as `>=4.0.0`. Absent means any.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	To string `json:"to,omitempty"`
	// approval says whether it begins by itself. Absent means Automatic.
	// +optional
	Approval MigrationApproval `json:"approval,omitempty"`
	// steps in the order in which they are done.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Steps []MigrationStep `json:"steps,omitempty"`
}

// StepRetry says whether a step may be begun again after it was cut short.
// +kubebuilder:validation:Enum=Idempotent;AtMostOnce
type StepRetry string

// The ways to retry.
const (
	// RetryIdempotent begins the step again.
	RetryIdempotent StepRetry = "Idempotent"
	// RetryAtMostOnce never begins the step a second time: a person has to see how far it came.
	RetryAtMostOnce StepRetry = "AtMostOnce"
)

// MigrationStep is one step of a migration.
// +kubebuilder:validation:XValidation:rule="[has(self.scale), has(self.delete), has(self.patch), has(self.wait)].filter(set, set).size() == 1",message="exactly one of scale, delete, patch and wait must be set"
type MigrationStep struct {
	// name of the step, unique in its migration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// timeout of the step, such as `10m`. Absent means 5 minutes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// retry says whether it may be begun again after it was cut short. Absent means Idempotent.
	// +optional
	Retry StepRetry `json:"retry,omitempty"`
	// scale sets the replicas of a workload, and remembers what they were.
	// +optional
	Scale *ScaleStep `json:"scale,omitempty"`
	// delete deletes objects, and waits until they are gone.
	// +optional
	Delete *ResourceQuery `json:"delete,omitempty"`
	// patch changes an object.
	// +optional
	Patch *PatchStep `json:"patch,omitempty"`
	// wait waits until an expression holds.
	// +optional
	Wait *WaitStep `json:"wait,omitempty"`
}

// ScaleStep sets the replicas of a workload.
type ScaleStep struct {
	// target is a Deployment, a StatefulSet, or anything else with a scale.
	// +required
	Target ObjectReference `json:"target,omitzero"`
	// replicas to have.
	// +required
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
}

// PatchStep changes an object.
type PatchStep struct {
	// target is the object. A step whose object is not there has nothing to do.
	// +required
	Target ObjectReference `json:"target,omitzero"`
	// patch is a JSON merge patch: what it names is set, and null deletes.
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// WaitStep waits until an expression holds.
type WaitStep struct {
	// resources names what the expression sees, as in a gate.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	Resources map[string]ResourceQuery `json:"resources,omitempty"`
	// expression in CEL, as in a gate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
}

// ObjectReference names an object.
type ObjectReference struct {
	// apiVersion of the object, such as `apps/v1`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the object, such as `Deployment`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// namespace of the object. Absent for kinds that are not in namespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// MigrationSpec is a procedure to carry out once.
// +kubebuilder:validation:XValidation:rule="self.addons == oldSelf.addons && self.steps == oldSelf.steps",message="addons and steps cannot be changed: what was begun is finished, or aborted and begun anew under another name"
type MigrationSpec struct {
	// addons that are kept quiet while it runs.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Addons []string `json:"addons,omitempty"`
	// hop that asked for it; absent for one that a person made.
	// +optional
	Hop *MigrationHop `json:"hop,omitempty"`
	// approval says whether it begins by itself. Absent means Automatic.
	// +optional
	Approval MigrationApproval `json:"approval,omitempty"`
	// approved lets a migration begin that needs a person's word. Absent means false.
	// +optional
	Approved bool `json:"approved,omitempty"`
	// aborted ends a migration that has not finished, and puts back what it had scaled and suspended. Absent means false.
	// +optional
	Aborted bool `json:"aborted,omitempty"`
	// steps in the order in which they are done.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Steps []MigrationStep `json:"steps,omitempty"`
}

// MigrationHop is the hop of an add-on that a migration belongs to.
type MigrationHop struct {
	// addon that hops.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Addon string `json:"addon,omitempty"`
	// migration of its definition, by name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Migration string `json:"migration,omitempty"`
	// from is the version that runs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	From string `json:"from,omitempty"`
	// to is the version that comes next.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	To string `json:"to,omitempty"`
}

// MigrationStatus reports how far a migration is.
type MigrationStatus struct {
	// conditions are Ready (it has finished well), Reconciling (it runs) and Stalled (a person must act).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Migration is a procedure as an object: it is carried out once, and stays as the evidence of it. The operator makes one for each hop whose
// definition asks for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mig,categories=kurl
// +kubebuilder:printcolumn:name="Add-ons",type=string,JSONPath=`.spec.addons`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Migration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the procedure.
	// +required
	Spec MigrationSpec `json:"spec,omitzero"`
	// status reports how far it is.
	// +optional
	Status MigrationStatus `json:"status,omitempty"`
}

// MigrationList is a list of Migrations.
// +kubebuilder:object:root=true
type MigrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Migration `json:"items"`
}
