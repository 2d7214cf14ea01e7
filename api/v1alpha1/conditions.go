package v1alpha1

// Condition types, with kstatus's meaning where it has one.
const (
	// ConditionReady is True when everything runs as the spec says.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator or Flux is working towards the spec; otherwise it is absent.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing will move until a person acts; otherwise it is absent.
	ConditionStalled = "Stalled"
	// ConditionResolved is True when every add-on of the spec was found, in a version that fits.
	ConditionResolved = "Resolved"
)

// Reasons of an Installer's conditions. The reason of an Addon's conditions, and of the events on it, is its state.
const (
	// ReasonSucceeded means that the spec is met.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing means that work is under way.
	ReasonProgressing = "Progressing"
	// ReasonInvalidSpec means that part of the spec cannot be acted on; the message says which and why.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNotReady means that an add-on is not ready; the message names it and has the cause.
	ReasonNotReady = "AddonNotReady"
	// ReasonSuspended means that spec.suspend keeps changes back.
	ReasonSuspended = "Suspended"
	// ReasonRemoving means that the Installer is being deleted and its add-ons are being uninstalled.
	ReasonRemoving = "Removing"
	// ReasonWriteFailed means that the API server refused something that the operator had to write.
	ReasonWriteFailed = "WriteFailed"
)

// ReasonRemoved is the reason of the event that ends an add-on's removal.
const ReasonRemoved = "Removed"
