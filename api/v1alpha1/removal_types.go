package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeletionPolicy says what deleting an Installer does to its add-ons.
// +kubebuilder:validation:Enum=Remove;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	// DeletionRemove uninstalls every add-on, in reverse order, each once its gates let it go.
	DeletionRemove DeletionPolicy = "Remove"
	// DeletionOrphan leaves everything running: the HelmReleases stay as ordinary objects of Flux that belong to nobody.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// Outcome says how the removal of an add-on ended.
// +kubebuilder:validation:Enum=Removed;Orphaned
type Outcome string

// The outcomes of a removal.
const (
	// OutcomeRemoved means that Flux uninstalled every release, and that this was seen.
	OutcomeRemoved Outcome = "Removed"
	// OutcomeOrphaned means that something the charts made was left running, on purpose or because an uninstall did not take place.
	OutcomeOrphaned Outcome = "Orphaned"
)

// Receipt is what remains to be said of an add-on that has gone.
type Receipt struct {
	// name of the add-on.
	// +required
	Name string `json:"name,omitempty"`
	// version that ran last; absent when none did.
	// +optional
	Version string `json:"version,omitempty"`
	// at is when the receipt was written.
	// +optional
	At metav1.Time `json:"at,omitzero"`
	// result is Removed only if the uninstall was proven; otherwise Orphaned.
	// +required
	Result Outcome `json:"result,omitempty"`
	// message says what was found beyond the result, such as why an uninstall did not take place or why a namespace was kept.
	// +optional
	Message string `json:"message,omitempty"`
	// leftBehind lists what is still there as resource/namespace/name, or resource/name for what is in no namespace; at most 50.
	// +optional
	// +listType=atomic
	LeftBehind []string `json:"leftBehind,omitempty"`
	// uid of the Addon that has gone. It tells receipts for add-ons of the same name apart.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// generation of the Addon's spec that asked for the removal. One that was put back at the last moment may be removed again later.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// MaxReceipts is how many receipts an Installer keeps.
const MaxReceipts = 10
