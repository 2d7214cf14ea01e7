package addons

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// MaxReleaseName is Helm's limit on release names: longer ones do not fit the labels that Helm derives from them.
const MaxReleaseName = 53

// ValidateDefinition says what is wrong with a definition, for built-in ones and those in the cluster alike. It repeats what
// the CRD checks, since built-in definitions and files never pass an API server.
func ValidateDefinition(def *v1alpha1.AddonDefinition) field.ErrorList {
	_, errs := validateDefinition(def, newCompiler(nil))
	return errs
}

func validateDefinition(def *v1alpha1.AddonDefinition, compiler *compiler) (map[string]*Probe, field.ErrorList) {
	spec := field.NewPath("spec")
	errs := validateLabel(field.NewPath("metadata", "name"), def.Name, validation.DNS1123LabelMaxLength)
	errs = append(errs, validateRequires(spec.Child("requires"), def)...)
	errs = append(errs, validateConflicts(spec.Child("conflicts"), def)...)
	errs = append(errs, validateReleases(spec.Child("releases"), def.Spec.Releases)...)
	errs = append(errs, validateVersions(spec.Child("versions"), def)...)
	errs = append(errs, compiler.validateMigrations(spec.Child("migrations"), def.Spec.Migrations)...)
	errs = append(errs, validateSupportedValues(spec.Child("supportedValues"), def)...)
	probes, problems := compiler.probes(spec, &def.Spec)
	return probes, append(errs, problems...)
}

func validateLabel(path *field.Path, name string, limit int) field.ErrorList {
	if len(name) > limit {
		return field.ErrorList{field.TooLong(path, name, limit)}
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		return field.ErrorList{field.Invalid(path, name, "must be lower case letters, digits and dashes, with a letter or digit at both ends")}
	}
	return nil
}

func validateRequires(path *field.Path, def *v1alpha1.AddonDefinition) field.ErrorList {
	var errs field.ErrorList
	for i, requirement := range def.Spec.Requires {
		at := path.Index(i)
		if (requirement.Addon == "") == (requirement.Capability == "") {
			errs = append(errs, field.Invalid(at, requirement.Addon, "exactly one of addon and capability must be set"))
		}
		if requirement.Addon == def.Name {
			errs = append(errs, field.Invalid(at.Child("addon"), requirement.Addon, "an add-on cannot require itself"))
		}
		if requirement.Addon == "" && requirement.Version != "" {
			errs = append(errs, field.Invalid(at.Child("version"), requirement.Version, "can only be set together with addon"))
		}
		errs = append(errs, validateRange(at.Child("version"), requirement.Version)...)
	}
	return errs
}

func validateConflicts(path *field.Path, def *v1alpha1.AddonDefinition) field.ErrorList {
	var errs field.ErrorList
	for i, conflict := range def.Spec.Conflicts {
		if conflict.Addon == "" || conflict.Addon == def.Name {
			errs = append(errs, field.Invalid(path.Index(i).Child("addon"), conflict.Addon, "must name another add-on"))
		}
	}
	return errs
}

func validateReleases(path *field.Path, releases []v1alpha1.ReleaseDefinition) field.ErrorList {
	if len(releases) == 0 {
		return field.ErrorList{field.Required(path, "an add-on consists of at least one release")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, release := range releases {
		at := path.Index(i)
		if seen[release.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), release.Name))
		}
		seen[release.Name] = true
		errs = append(errs, validateLabel(at.Child("name"), release.Name, MaxReleaseName)...)
		errs = append(errs, validateLabel(at.Child("namespace"), release.Namespace, validation.DNS1123LabelMaxLength)...)
		errs = append(errs, validateChart(at.Child("chart"), release.Chart)...)
		errs = append(errs, validatePolicies(at, &release)...)
		errs = append(errs, validateValues(at.Child("values"), release.Values)...)
	}
	return errs
}

var repositoryURL = regexp.MustCompile(`^(oci|https?)://.+$`)

func validateChart(path *field.Path, chart v1alpha1.ChartReference) field.ErrorList {
	var errs field.ErrorList
	if !repositoryURL.MatchString(chart.Repository) {
		errs = append(errs, field.Invalid(path.Child("repository"), chart.Repository, "must be a URL that starts with https://, http:// or oci://"))
	}
	if chart.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the chart's name in the repository"))
	}
	return errs
}

func validatePolicies(path *field.Path, release *v1alpha1.ReleaseDefinition) field.ErrorList {
	errs := validateChoice(path.Child("crds"), release.CRDs, v1alpha1.CRDSkip, v1alpha1.CRDCreate, v1alpha1.CRDCreateReplace)
	errs = append(errs, validateChoice(path.Child("onFailure"), release.OnFailure, v1alpha1.FailureRetry, v1alpha1.FailureRollback)...)
	return append(errs, validateChoice(path.Child("driftDetection"), release.DriftDetection, v1alpha1.DriftDisabled, v1alpha1.DriftWarn, v1alpha1.DriftEnabled)...)
}

func validateChoice[T ~string](path *field.Path, value T, choices ...T) field.ErrorList {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, choices)}
}

var exactVersion = regexp.MustCompile(`^[0-9A-Za-z][-+._0-9A-Za-z]*$`)

func validateVersions(path *field.Path, def *v1alpha1.AddonDefinition) field.ErrorList {
	if len(def.Spec.Versions) == 0 {
		return field.ErrorList{field.Required(path, "an add-on has at least one version")}
	}
	var errs field.ErrorList
	known := map[string]string{} // charts: the version that is made of them
	for i := range def.Spec.Versions {
		version, at := &def.Spec.Versions[i], path.Index(i)
		if !exactVersion.MatchString(version.Version) {
			errs = append(errs, field.Invalid(at.Child("version"), version.Version, "must be an exact version, such as 1.2.3"))
		}
		if i > 0 {
			errs = append(errs, validateSuccessor(at, &def.Spec.Versions[i-1], version)...)
		}
		charts := charts(version)
		if other, taken := known[charts]; taken {
			errs = append(errs, field.Invalid(at.Child("releases"), charts, fmt.Sprintf("%s has the same charts: what is deployed could not tell the two apart", other)))
		}
		known[charts] = version.Version
		errs = append(errs, validateRange(at.Child("kubernetes"), version.Kubernetes)...)
		errs = append(errs, validateRange(at.Child("upgradeFrom"), version.UpgradeFrom)...)
		errs = append(errs, validateVersionRequires(at.Child("requires"), def, version.Requires)...)
		errs = append(errs, validateReleaseVersions(at.Child("releases"), def, version.Releases)...)
	}
	return errs
}

// validateVersionRequires makes sure that a version only narrows what the definition requires: the order of add-ons is one for all versions.
func validateVersionRequires(path *field.Path, def *v1alpha1.AddonDefinition, requires []v1alpha1.VersionRequirement) field.ErrorList {
	var required []string
	for _, requirement := range def.Spec.Requires {
		if requirement.Addon != "" {
			required = append(required, requirement.Addon)
		}
	}
	var errs field.ErrorList
	for i, requirement := range requires {
		at := path.Index(i)
		if !slices.Contains(required, requirement.Addon) {
			errs = append(errs, field.Invalid(at.Child("addon"), requirement.Addon, "is not among the add-ons that spec.requires names; add it there, with optional: true if it need not be wanted"))
		}
		if requirement.Version == "" {
			errs = append(errs, field.Required(at.Child("version"), "the range that this version needs, such as >=1.15"))
		}
		errs = append(errs, validateRange(at.Child("version"), requirement.Version)...)
	}
	return errs
}

// validateSuccessor makes sure that versions ascend, and that an upgrade leaves no release behind.
func validateSuccessor(path *field.Path, before, version *v1alpha1.VersionDefinition) field.ErrorList {
	var errs field.ErrorList
	switch {
	case strings.TrimPrefix(before.Version, "v") == strings.TrimPrefix(version.Version, "v"):
		errs = append(errs, field.Duplicate(path.Child("version"), version.Version))
	case ParseVersion(before.Version).Compare(ParseVersion(version.Version)) >= 0:
		errs = append(errs, field.Invalid(path.Child("version"), version.Version, fmt.Sprintf("versions must ascend, and %q comes before it", before.Version)))
	}
	for _, name := range sortedKeys(before.Releases) {
		if _, ok := version.Releases[name]; !ok {
			errs = append(errs, field.Required(path.Child("releases").Key(name), fmt.Sprintf("%s has this release, and nothing would uninstall it", before.Version)))
		}
	}
	return errs
}

// charts of a version, as text that only an equal set of charts has.
func charts(version *v1alpha1.VersionDefinition) string {
	var list []string
	for _, name := range sortedKeys(version.Releases) {
		list = append(list, name+" "+plainChartVersion(version.Releases[name].ChartVersion))
	}
	return strings.Join(list, ", ")
}

func validateReleaseVersions(path *field.Path, def *v1alpha1.AddonDefinition, releases map[string]v1alpha1.ReleaseVersion) field.ErrorList {
	if len(releases) == 0 {
		return field.ErrorList{field.Required(path, "a version gives at least one release its chart version")}
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(releases) {
		at := path.Key(name)
		if !slices.ContainsFunc(def.Spec.Releases, func(r v1alpha1.ReleaseDefinition) bool { return r.Name == name }) {
			errs = append(errs, field.NotSupported(at, name, releaseNames(def)))
		}
		if releases[name].ChartVersion == "" {
			errs = append(errs, field.Required(at.Child("chartVersion"), "the exact version of the chart"))
		}
		errs = append(errs, validateValues(at.Child("values"), releases[name].Values)...)
		errs = append(errs, validateChangedValues(at.Child("changedValues"), releases[name].ChangedValues)...)
	}
	return errs
}

func validateRange(path *field.Path, raw string) field.ErrorList {
	if raw == "" {
		return nil
	}
	if _, err := ParseRange(raw); err != nil {
		return field.ErrorList{field.Invalid(path, raw, err.Error())}
	}
	return nil
}

func validateValues(path *field.Path, raw *apiextensionsv1.JSON) field.ErrorList {
	if raw == nil {
		return nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw.Raw), []byte("{")) || !json.Valid(raw.Raw) {
		return field.ErrorList{field.Invalid(path, string(raw.Raw), "Helm values are a map of keys to values")}
	}
	return nil
}

func releaseNames(def *v1alpha1.AddonDefinition) []string {
	names := make([]string, 0, len(def.Spec.Releases))
	for _, release := range def.Spec.Releases {
		names = append(names, release.Name)
	}
	return names
}
