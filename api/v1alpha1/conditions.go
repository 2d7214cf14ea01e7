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
	// ConditionApproved is False while changes of an Installer wait for a person; True once they are approved; absent when none asks
	// for it.
	ConditionApproved = "Approved"
	// ConditionGatesPassed says whether every gate that an Addon has come to is open; absent while it has come to none.
	ConditionGatesPassed = "GatesPassed"
	// ConditionHealthy says whether the health checks of an Addon hold; absent for one that has none, or does not run.
	ConditionHealthy = "Healthy"
	// ConditionSupportedValues is False while an Addon is given values that its definition does not list as tested; absent where the
	// definition lists none.
	ConditionSupportedValues = "SupportedValues"
	// ConditionSupportedVersion is False while an Addon runs a version that is deprecated or withdrawn; absent otherwise.
	ConditionSupportedVersion = "SupportedVersion"
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
	// ReasonUnconfirmed means that the Installer was deleted without the annotation that confirms it; nothing is uninstalled.
	ReasonUnconfirmed = "Unconfirmed"
	// ReasonApprovalRequired means that a person has to approve the plan before anything of it is done.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonApproved means that a person approved the plan.
	ReasonApproved = "Approved"
	// ReasonWriteFailed means that the API server refused something that the operator had to write.
	ReasonWriteFailed = "WriteFailed"
)

// Reasons of an Addon's other conditions and of events on it. The event that ends a removal has its outcome for a reason.
const (
	// ReasonPassed means that all checks pass.
	ReasonPassed = "Passed"
	// ReasonNotPassed means that a check does not pass; the message has it.
	ReasonNotPassed = "NotPassed"
	// ReasonUntested means that values are set which the definition does not list as tested.
	ReasonUntested = "Untested"
	// ReasonDeprecated means that the version that runs should not be used any more.
	ReasonDeprecated = "Deprecated"
	// ReasonWithdrawn means that the version that runs must not be used any more.
	ReasonWithdrawn = "Withdrawn"
	// ReasonProtectionLifted is the reason of the event that tells that an object was annotated to be deleted by hand.
	ReasonProtectionLifted = "ProtectionLifted"
)
