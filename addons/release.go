package addons

import (
	"cmp"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// DefaultTimeout of one Helm action where the definition names none.
const DefaultTimeout = 5 * time.Minute

// Release is one Helm release as it should be. It says everything that Flux is to be told, and nothing else.
type Release struct {
	Addon           string
	Installer       string
	Name            string
	Namespace       string
	NamespaceLabels map[string]string
	Repository      Repository
	Chart           string
	ChartVersion    string
	CRDs            v1alpha1.CRDPolicy
	Timeout         time.Duration
	OnFailure       v1alpha1.FailurePolicy
	Test            bool
	Drift           v1alpha1.DriftPolicy
	DriftIgnore     []string
	// Defaults are the definition's values, its version's merged over its release's. Nulls are kept.
	Defaults map[string]any
	// ValuesFrom and Values are the user's, merged over the defaults in that order.
	ValuesFrom []v1alpha1.ValuesReference
	Values     *apiextensionsv1.JSON
	// DependsOn names the releases that must be ready first.
	DependsOn []string
}

// Repository is where a chart comes from.
type Repository struct {
	URL           string
	SecretRef     string // empty means no credentials
	CertSecretRef string // empty means the system's certificates
	Insecure      bool
}

// Releases returns what an add-on consists of at one of its versions, in install order. After names the add-ons that come
// first, with the last release of each. The version must be listed in the definition; releases that it does not list are left out.
// The user's values speak of the version that the spec wants: where the definition says that one was renamed, it goes by its name at the
// given version.
func Releases(def *v1alpha1.AddonDefinition, spec *v1alpha1.AddonSpec, version string, after []string) []Release {
	listed := findVersion(def, version)
	if listed == nil {
		return nil
	}
	var releases []Release
	for i := range def.Spec.Releases {
		part := &def.Spec.Releases[i]
		at, ok := listed.Releases[part.Name]
		if !ok {
			continue
		}
		release := newRelease(def.Name, part, at)
		release.Installer = spec.Installer
		release.Repository = repository(part.Chart, spec.Charts)
		release.Values, release.ValuesFrom = overrides(spec, part.Name)
		release.Values = translateValues(def, part.Name, release.Values, spec.Version, version)
		release.DependsOn = after
		if len(releases) > 0 {
			release.DependsOn = []string{releases[len(releases)-1].Name}
		}
		releases = append(releases, release)
	}
	return releases
}

func newRelease(addon string, part *v1alpha1.ReleaseDefinition, at v1alpha1.ReleaseVersion) Release {
	release := Release{
		Addon:           addon,
		Name:            part.Name,
		Namespace:       part.Namespace,
		NamespaceLabels: part.NamespaceLabels,
		Chart:           part.Chart.Name,
		ChartVersion:    at.ChartVersion,
		CRDs:            cmp.Or(part.CRDs, v1alpha1.CRDCreateReplace),
		Timeout:         DefaultTimeout,
		OnFailure:       cmp.Or(part.OnFailure, v1alpha1.FailureRetry),
		Test:            part.Test,
		Drift:           cmp.Or(part.DriftDetection, v1alpha1.DriftDisabled),
		DriftIgnore:     part.DriftIgnorePaths,
		Defaults:        Merge(decodeValues(part.Values), decodeValues(at.Values)),
	}
	if part.Timeout != nil && part.Timeout.Duration > 0 {
		release.Timeout = part.Timeout.Duration
	}
	return release
}

func repository(chart v1alpha1.ChartReference, mirror *v1alpha1.Charts) Repository {
	if mirror != nil {
		return Repository{
			URL: mirror.Mirror, SecretRef: refName(mirror.SecretRef), CertSecretRef: refName(mirror.CertSecretRef), Insecure: mirror.Insecure,
		}
	}
	return Repository{
		URL: chart.Repository, SecretRef: refName(chart.SecretRef), CertSecretRef: refName(chart.CertSecretRef), Insecure: chart.Insecure,
	}
}

func refName(ref *v1alpha1.LocalReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

func overrides(spec *v1alpha1.AddonSpec, release string) (*apiextensionsv1.JSON, []v1alpha1.ValuesReference) {
	for i := range spec.Releases {
		if spec.Releases[i].Name == release {
			return spec.Releases[i].Values, spec.Releases[i].ValuesFrom
		}
	}
	return spec.Values, spec.ValuesFrom
}

// LastRelease names the release that is installed last at a version; empty when the version is not listed.
func LastRelease(def *v1alpha1.AddonDefinition, version string) string {
	releases := Releases(def, &v1alpha1.AddonSpec{}, version, nil)
	if len(releases) == 0 {
		return ""
	}
	return releases[len(releases)-1].Name
}
