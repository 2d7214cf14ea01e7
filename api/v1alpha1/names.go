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
	// LabelInstaller names the Installer that an Addon belongs to.
	LabelInstaller = "addons.kurl.sh/installer"
	// LabelAddon names the add-on that an object was made for.
	LabelAddon = "addons.kurl.sh/addon"
	// LabelRelease names the release of the add-on that an object was made for.
	LabelRelease = "addons.kurl.sh/release"
	// LabelProtected marks, with the value "true", objects whose deletion by anybody but the operator is dangerous.
	LabelProtected = "addons.kurl.sh/protected"
)

// FinalizerUninstall holds an Installer or an Addon until what it stands for has been uninstalled.
const FinalizerUninstall = "addons.kurl.sh/uninstall"
