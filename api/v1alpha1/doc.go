// Package v1alpha1 holds the kinds of the API group addons.kurl.sh: the Installer that a user writes, the Addon that
// shows one add-on, the AddonDefinition that describes what an add-on is, and the Migration that shows one run of a procedure.
//
// +kubebuilder:object:generate=true
// +groupName=addons.kurl.sh
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "addons.kurl.sh", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package with a scheme. It never fails for a scheme that does not already hold
// different Go types under the same names.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Installer{}, &InstallerList{},
		&Addon{}, &AddonList{},
		&AddonDefinition{}, &AddonDefinitionList{},
		&Migration{}, &MigrationList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
