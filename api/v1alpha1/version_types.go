package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

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
