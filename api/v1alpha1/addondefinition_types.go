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

// VersionDefinition is one version of an add-on that is known to work.
type VersionDefinition struct {
	// version of the add-on, exactly: semver where upstream uses it, else upstream's own form such as a date.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z][-+._0-9A-Za-z]*$`
	Version string `json:"version,omitempty"`
	// channels that list this version.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Channels []string `json:"channels,omitempty"`
	// kubernetes is the range of Kubernetes versions that this version runs on, such as `>=1.31`. Absent means any.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Kubernetes string `json:"kubernetes,omitempty"`
	// upgradeFrom is the range of running versions that may move here in one hop, such as `>=1.17.0`. Absent means the same
	// and the previous minor version; for versions that are not semver, the one listed before.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	UpgradeFrom string `json:"upgradeFrom,omitempty"`
	// requires narrows what the add-on requires by name, for this version: the range that a required add-on must be in before this
	// version is installed or upgraded to, and for as long as it runs. Absent means what the definition's requires says.
	// +optional
	// +listType=map
	// +listMapKey=addon
	// +kubebuilder:validation:MaxItems=32
	Requires []VersionRequirement `json:"requires,omitempty"`
	// deprecated says why this version should not be used any more, and what to use instead. It is installed nowhere anew, and an open
	// version does not come to it; upgrades may still go to it and through it, and add-ons that run it are told. Absent means that it is
	// not deprecated.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Deprecated string `json:"deprecated,omitempty"`
	// withdrawn says why this version must not be used any more, and what to use instead. It is neither installed nor upgraded to or
	// through; add-ons that run it stay, and are told. Absent means that it is not withdrawn.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Withdrawn string `json:"withdrawn,omitempty"`
	// releases gives every release of the add-on its chart version, by release name.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Releases map[string]ReleaseVersion `json:"releases,omitempty"`
}

// VersionRequirement is what one version of an add-on requires of another add-on.
type VersionRequirement struct {
	// addon that the definition requires by name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Addon string `json:"addon,omitempty"`
	// version range that it must run, such as `>=1.15`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// ReleaseVersion is what one version of an add-on makes of a release.
type ReleaseVersion struct {
	// chartVersion to install, exactly: Flux would take 1.x for a range, and what it deploys could then not be told from what was
	// asked for.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^v?[0-9]+(\.[0-9]+){0,2}([-+_][-+._0-9A-Za-z]*)?$`
	ChartVersion string `json:"chartVersion,omitempty"`
	// values are merged over the release's own for this version only.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// changedValues are values that the chart knew before this version, and does not know from this version on. A user who still sets
	// one is told before the upgrade. On the way to this version, a renamed value is given to older ones under its old name.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	ChangedValues []ChangedValue `json:"changedValues,omitempty"`
}

// ChangedValue is a value that a chart does not know any more.
type ChangedValue struct {
	// path of the value, such as `persistence.size`; a dot within a key is written `\.`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`
	// renamedTo is the path that has its meaning now. Absent means that nothing has.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	RenamedTo string `json:"renamedTo,omitempty"`
	// message says what to do instead, where more than the path has changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
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
