package addons

import (
	"encoding/json"
	"fmt"
	"maps"
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
	spec := field.NewPath("spec")
	errs := validateLabel(field.NewPath("metadata", "name"), def.Name, validation.DNS1123LabelMaxLength)
	errs = append(errs, validateRequires(spec.Child("requires"), def)...)
	errs = append(errs, validateReleases(spec.Child("releases"), def.Spec.Releases)...)
	return append(errs, validateVersions(spec.Child("versions"), def)...)
}

func validateLabel(path *field.Path, name string, limit int) field.ErrorList {
	if len(name) > limit {
		return field.ErrorList{field.TooLong(path, name, limit)}
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return field.ErrorList{field.Invalid(path, name, strings.Join(problems, "; "))}
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
		errs = append(errs, validateRange(at.Child("version"), requirement.Version)...)
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
		errs = append(errs, validateValues(at.Child("values"), release.Values)...)
	}
	return errs
}

func validateChart(path *field.Path, chart v1alpha1.ChartReference) field.ErrorList {
	var errs field.ErrorList
	if !strings.HasPrefix(chart.Repository, "oci://") && !strings.HasPrefix(chart.Repository, "http://") && !strings.HasPrefix(chart.Repository, "https://") {
		errs = append(errs, field.Invalid(path.Child("repository"), chart.Repository, "must start with https://, http:// or oci://"))
	}
	if chart.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the chart's name in the repository"))
	}
	return errs
}

func validateVersions(path *field.Path, def *v1alpha1.AddonDefinition) field.ErrorList {
	if len(def.Spec.Versions) == 0 {
		return field.ErrorList{field.Required(path, "an add-on has at least one version")}
	}
	var errs field.ErrorList
	for i, version := range def.Spec.Versions {
		at := path.Index(i)
		if i > 0 && ParseVersion(def.Spec.Versions[i-1].Version).Compare(ParseVersion(version.Version)) >= 0 {
			errs = append(errs, field.Invalid(at.Child("version"), version.Version,
				fmt.Sprintf("versions must ascend, and %q comes before it", def.Spec.Versions[i-1].Version)))
		}
		if version.Version == "" {
			errs = append(errs, field.Required(at.Child("version"), "an exact version"))
		}
		errs = append(errs, validateRange(at.Child("kubernetes"), version.Kubernetes)...)
		errs = append(errs, validateRange(at.Child("upgradeFrom"), version.UpgradeFrom)...)
		errs = append(errs, validateReleaseVersions(at.Child("releases"), def, version.Releases)...)
	}
	return errs
}

func validateReleaseVersions(path *field.Path, def *v1alpha1.AddonDefinition, releases map[string]v1alpha1.ReleaseVersion) field.ErrorList {
	if len(releases) == 0 {
		return field.ErrorList{field.Required(path, "a version gives at least one release its chart version")}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		at := path.Key(name)
		if !slices.ContainsFunc(def.Spec.Releases, func(r v1alpha1.ReleaseDefinition) bool { return r.Name == name }) {
			errs = append(errs, field.NotSupported(at, name, releaseNames(def)))
		}
		if releases[name].ChartVersion == "" {
			errs = append(errs, field.Required(at.Child("chartVersion"), "the exact version of the chart"))
		}
		errs = append(errs, validateValues(at.Child("values"), releases[name].Values)...)
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
	var values map[string]any
	if err := json.Unmarshal(raw.Raw, &values); err != nil || values == nil {
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
