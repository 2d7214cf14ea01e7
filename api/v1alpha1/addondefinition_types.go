package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddonDefinitionSpec describes an add-on: which charts it is made of, in which versions, and what it needs.
type AddonDefinitionSpec struct {
	// description of the add-on for people, in a sentence or two.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// provides lists capabilities, such as `storage`; add-ons that require one of them come after this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Provides []string `json:"provides,omitempty"`
	// requires lists what must be settled before this add-on is installed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Requires []Requirement `json:"requires,omitempty"`
	// conflicts lists add-ons that must not run in the same cluster.
	// +optional
	// +listType=map
	// +listMapKey=addon
	// +kubebuilder:validation:MaxItems=32
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// releases are the charts that the add-on is made of, in install order. Each becomes one HelmRelease.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Releases []ReleaseDefinition `json:"releases,omitempty"`
	// health checks, beyond what Helm waits for. The add-on is ready, moves on to another version, and lets others that need it be
	// installed, only while all of them hold.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Health []Check `json:"health,omitempty"`
	// gates that have to be passed before the add-on is installed, upgraded or removed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Gates []Gate `json:"gates,omitempty"`
	// migrations are procedures that upgrades need, such as deleting a Service that a chart has renamed. They run while the add-on is quiet,
	// after the gates of a hop are passed and before anything of the new version is written.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Migrations []MigrationDefinition `json:"migrations,omitempty"`
	// supportedValues are paths of Helm values that are tested, such as `persistence.size`; what lies below a path counts with it. Other
	// values are at the user's own risk, and shown so. Absent means that nothing is said about values. In an add-on with several
	// releases a path begins with the release, as in `rook-ceph-cluster:cephClusterSpec.storage`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=512
	SupportedValues []string `json:"supportedValues,omitempty"`
	// versions that are known to work, in ascending order.
	// +required
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Versions []VersionDefinition `json:"versions,omitempty"`
}

// Requirement is something that must be settled first: an add-on by name, or whatever provides a capability.
// +kubebuilder:validation:XValidation:rule="has(self.addon) != has(self.capability)",message="exactly one of addon and capability must be set"
// +kubebuilder:validation:XValidation:rule="has(self.addon) || !has(self.version)",message="version can only be set together with addon"
type Requirement struct {
	// addon that must be wanted too, and be settled first.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Addon string `json:"addon,omitempty"`
	// version range that the required add-on must run, such as `>=1.15`. Absent means any.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// capability orders this add-on after every wanted add-on that provides it. It demands nothing where none does.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Capability string `json:"capability,omitempty"`
	// optional says that the add-on need not be wanted: it only comes first where it is. Absent means false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Conflict is an add-on that must not run beside this one.
type Conflict struct {
	// addon that must not be wanted at the same time.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Addon string `json:"addon,omitempty"`
	// message says why, and what to do instead.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ChartReference names a chart in a repository.
type ChartReference struct {
	// repository that holds the chart: https://…, http://… or oci://….
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(oci|https?)://\S+$`
	Repository string `json:"repository,omitempty"`
	// name of the chart in the repository.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`
	// secretRef names a Secret in kurl-addons with credentials: `username` and `password`, or a docker config for an oci repository.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// certSecretRef names a Secret in kurl-addons with `ca.crt`, and for client certificates `tls.crt` and `tls.key`.
	// +optional
	CertSecretRef *LocalReference `json:"certSecretRef,omitempty"`
	// insecure allows plain HTTP to an oci repository. Absent means false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// CRDPolicy says what happens to the CRDs in a chart's crds/ directory at install and upgrade.
// +kubebuilder:validation:Enum=Skip;Create;CreateReplace
type CRDPolicy string

// The CRD policies, with Helm's and Flux's meaning.
const (
	// CRDSkip leaves CRDs alone.
	CRDSkip CRDPolicy = "Skip"
	// CRDCreate creates missing CRDs and leaves existing ones alone.
	CRDCreate CRDPolicy = "Create"
	// CRDCreateReplace creates missing CRDs and replaces existing ones with the chart's.
	CRDCreateReplace CRDPolicy = "CreateReplace"
)

// FailurePolicy says what follows a failed upgrade of a release.
// +kubebuilder:validation:Enum=Retry;Rollback
type FailurePolicy string

// The failure policies.
const (
	// FailureRetry leaves the failed release in place and tries again.
	FailureRetry FailurePolicy = "Retry"
	// FailureRollback goes back to the last good revision; only for charts where going back is safe.
	FailureRollback FailurePolicy = "Rollback"
)

// DriftPolicy says what happens when the objects of a release differ from what its chart made.
// +kubebuilder:validation:Enum=Disabled;Warn;Enabled
type DriftPolicy string

// The drift policies.
const (
	// DriftDisabled does not look.
	DriftDisabled DriftPolicy = "Disabled"
	// DriftWarn reports differences.
	DriftWarn DriftPolicy = "Warn"
	// DriftEnabled puts objects back.
	DriftEnabled DriftPolicy = "Enabled"
)

// ReleaseDefinition is one chart of an add-on. Its identity (name, chart and namespace) holds for all versions: a change of
// any of them would make Flux uninstall and reinstall.
type ReleaseDefinition struct {
	// name of the Helm release and of its HelmRelease in kurl-addons.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// chart to install.
	// +required
	Chart ChartReference `json:"chart,omitzero"`
	// namespace to install into; it is made when missing.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// namespaceLabels are set on the namespace, for example for Pod Security.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// crds says what happens to the chart's crds/ directory. Absent means CreateReplace.
	// +optional
	CRDs CRDPolicy `json:"crds,omitempty"`
	// values are the add-on's defaults for all versions.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// timeout of one Helm action, such as `10m`. Absent means 5 minutes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="timeout must be more than 0s and at most 24h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// onFailure says what follows a failed upgrade. Absent means Retry.
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`
	// test runs the chart's Helm tests after install and upgrade; the release is settled only once they pass. Absent means false.
	// +optional
	Test bool `json:"test,omitempty"`
	// driftDetection compares the release's objects with the chart. Absent means Disabled.
	// +optional
	DriftDetection DriftPolicy `json:"driftDetection,omitempty"`
	// driftIgnorePaths are JSON pointers, such as `/spec/replicas`, that drift detection leaves alone in every object.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^/.*$`
	DriftIgnorePaths []string `json:"driftIgnorePaths,omitempty"`
}

// AddonDefinition is an entry of the catalogue: what an add-on is. The operator has some built in; one in the cluster adds to
// them, or replaces the built-in one of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=addondef,categories=kurl
// +kubebuilder:printcolumn:name="Newest",type=string,JSONPath=`.spec.versions[-1:].version`
// +kubebuilder:printcolumn:name="Provides",type=string,JSONPath=`.spec.provides`
// +kubebuilder:printcolumn:name="Description",type=string,JSONPath=`.spec.description`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it becomes a label"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name must not contain a dot: the name of an add-on cannot"
type AddonDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the add-on.
	// +required
	Spec AddonDefinitionSpec `json:"spec,omitzero"`
}

// AddonDefinitionList is a list of AddonDefinitions.
// +kubebuilder:object:root=true
type AddonDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddonDefinition `json:"items"`
}
