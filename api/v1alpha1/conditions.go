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

// Reasons of conditions and events. The reason of Ready and Reconciling on an Addon is its state.
const (
	// ReasonSucceeded means that the spec is met.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing means that work is under way.
	ReasonProgressing = "Progressing"
	// ReasonInvalidSpec means that part of the spec cannot be acted on; the message says which and why.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonFailed means that an add-on failed; the message has the cause.
	ReasonFailed = "Failed"
	// ReasonBlocked means that something else must happen first.
	ReasonBlocked = "Blocked"
	// ReasonSuspended means that a person asked the operator to wait.
	ReasonSuspended = "Suspended"
	// ReasonRemoving means that an uninstall is under way.
	ReasonRemoving = "Removing"
)
