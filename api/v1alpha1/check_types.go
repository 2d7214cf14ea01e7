package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Check is a condition on live objects of the cluster, of any kind.
type Check struct {
	// name of the check, unique in its definition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// resources names what the expression sees: each key is a variable that holds the list of the objects that the query finds.
	// A kind whose CRD is not installed has no objects.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[a-z][A-Za-z0-9_]{0,31}$') && name != 'addon')",message="names of resources are variables: a lower case letter, then up to 31 letters, digits and underscores; addon is taken"
	Resources map[string]ResourceQuery `json:"resources,omitempty"`
	// expression in CEL, with the functions that Kubernetes offers in its admission policies; true means that the check passes.
	// Beside the resources it sees `addon`, a map with `name`, `from` (the version that runs, empty when none does) and `to` (the
	// version that comes next, empty for a removal).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
	// message is a CEL expression for the text that people see while the check does not pass: what is wrong, why, and what to do.
	// Absent means a text that names the check.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// stableFor is how long the expression must have been true without a break, such as `1m`. Absent means that once is enough.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="stableFor must be at most 24h"
	StableFor *metav1.Duration `json:"stableFor,omitempty"`
}

// ResourceQuery finds objects of one kind.
type ResourceQuery struct {
	// apiVersion of the objects, such as `v1` or `ceph.rook.io/v1`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the objects, such as `PersistentVolume`. Secrets are not looked at.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// namespace to look in. Absent means all, and is the only choice for kinds that are not in namespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the only object to look at. Absent means all.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// selector limits the objects by their labels. Absent means all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// Moment is when a gate has to be passed.
// +kubebuilder:validation:Enum=Install;Upgrade;Remove
type Moment string

// The moments at which a gate can stand.
const (
	// MomentInstall is before the add-on's releases are written for the first time.
	MomentInstall Moment = "Install"
	// MomentUpgrade is before each hop to another version.
	MomentUpgrade Moment = "Upgrade"
	// MomentRemove is before each release is uninstalled, read from the API server in the same pass.
	MomentRemove Moment = "Remove"
)

// Gate is a check that has to pass before something is done.
type Gate struct {
	Check `json:",inline"`

	// when the gate has to be passed: Install, Upgrade or Remove.
	// +required
	When Moment `json:"when,omitempty"`
}

// GateStatus says how a gate stands that the add-on has come to.
type GateStatus struct {
	// name of the gate.
	// +required
	Name string `json:"name,omitempty"`
	// when the gate has to be passed.
	// +optional
	When Moment `json:"when,omitempty"`
	// passed says whether it is open.
	// +optional
	Passed bool `json:"passed"`
	// message says why it is closed and what to do; absent when it is open.
	// +optional
	Message string `json:"message,omitempty"`
	// since is when it began to stand as it does.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
