package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// LocalReference names an object of a known kind in the namespace kurl-addons.
type LocalReference struct {
	// name of the object, in the namespace kurl-addons.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ValuesReference names a Secret or ConfigMap in the namespace kurl-addons that holds Helm values as YAML text. Flux
// notices a change of its content at once only if the object carries the label `reconcile.fluxcd.io/watch: Enabled`, and
// otherwise at its next interval.
type ValuesReference struct {
	// kind of the object: Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind string `json:"kind,omitempty"`
	// name of the object, in the namespace kurl-addons.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// key in the object's data whose text is the values. Absent means `values.yaml`.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
	// optional says that a missing object or key counts as empty values. Absent means false: the release waits until it is there.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ReleaseOverride sets Helm values for one release of an add-on that has several.
type ReleaseOverride struct {
	// name of the release, as in the add-on's definition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	Name string `json:"name,omitempty"`
	// values merge over the definition's and over those of valuesFrom: maps merge, lists and scalars replace, null deletes a default.
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
}

// Charts says where charts are fetched from instead of the repositories that the definitions name. It serves clusters
// without internet: every chart of the plan must be there under its own name and version.
type Charts struct {
	// mirror is the repository that holds every chart: oci://host/path, https://… or http://….
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(oci|https?)://\S+$`
	Mirror string `json:"mirror,omitempty"`
	// secretRef names a Secret in kurl-addons with credentials: `username` and `password`, or a docker config for an oci mirror.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// certSecretRef names a Secret in kurl-addons with `ca.crt`, and for client certificates `tls.crt` and `tls.key`.
	// +optional
	CertSecretRef *LocalReference `json:"certSecretRef,omitempty"`
	// insecure allows plain HTTP to an oci mirror. Absent means false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}
