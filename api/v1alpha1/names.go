package v1alpha1

const (
	// Namespace is where the operator runs and where it keeps the Flux objects of all add-ons.
	Namespace = "kurl-addons"
	// FieldManager is the name under which the operator owns fields that it applies.
	FieldManager = "addon-operator"
)

// Labels that the operator writes or reads.
const (
	// LabelManagedBy is the well-known label that names the tool an object belongs to; its value is FieldManager.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelInstaller names the Installer that an Addon or a HelmRelease belongs to.
	LabelInstaller = "addons.kurl.sh/installer"
	// LabelAddon names the add-on that an object was made for.
	LabelAddon = "addons.kurl.sh/addon"
	// LabelRelease names the release of the add-on that an object was made for.
	LabelRelease = "addons.kurl.sh/release"
	// LabelProtected marks, with the value "true", objects whose deletion by anybody but the operator is dangerous.
	LabelProtected = "addons.kurl.sh/protected"
)

// Annotations by which people say that they mean it.
const (
	// AnnotationConfirmDelete, set to the Installer's name, confirms that it is to be deleted.
	AnnotationConfirmDelete = "addons.kurl.sh/confirm-delete"
	// AnnotationAllowDelete, set to the object's name, lifts the protection of an object.
	AnnotationAllowDelete = "addons.kurl.sh/allow-delete"
	// AnnotationApprovedPlan on an Installer holds the digest of the plan that is approved.
	AnnotationApprovedPlan = "addons.kurl.sh/approved-plan"
	// AnnotationAllowReplace on an Addon allows to uninstall releases whose identity changed. Its value is in the message that asks
	// for it, and holds for that one change only.
	AnnotationAllowReplace = "addons.kurl.sh/allow-replace"
)

// FinalizerUninstall holds an Installer, an Addon or a HelmRelease until it is known what became of what it stands for.
const FinalizerUninstall = "addons.kurl.sh/uninstall"
