package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// trait changes a definition that story.define makes.
type trait = func(*v1alpha1.AddonDefinition)

// define adds an add-on to the catalogue. Unless traits say otherwise it has one release of its own name, in the story's
// namespace and from the story's HTTP repository, and the version 1.0.0; chart versions equal the add-on's.
func (s *story) define(name, chart string, traits ...trait) {
	s.t.Helper()
	def := s.definition(name, chart, traits...)
	require.NoError(s.t, s.api.Create(s.t.Context(), def))
}

func (s *story) definition(name, chart string, traits ...trait) *v1alpha1.AddonDefinition {
	def := &v1alpha1.AddonDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	def.Spec.Releases = []v1alpha1.ReleaseDefinition{{
		Name: name, Namespace: s.name, Chart: v1alpha1.ChartReference{Repository: s.charts.HTTPURL(), Name: chart},
	}}
	for _, apply := range traits {
		apply(def)
	}
	if len(def.Spec.Versions) == 0 {
		versions("1.0.0")(def)
	}
	return def
}

func versions(names ...string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			version := v1alpha1.VersionDefinition{Version: name, Releases: map[string]v1alpha1.ReleaseVersion{}}
			for _, release := range def.Spec.Releases {
				version.Releases[release.Name] = v1alpha1.ReleaseVersion{ChartVersion: name}
			}
			def.Spec.Versions = append(def.Spec.Versions, version)
		}
	}
}

// following adds a release that comes after the others.
func following(name, chart string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		release := def.Spec.Releases[0]
		release.Name, release.Chart.Name = name, chart
		def.Spec.Releases = append(def.Spec.Releases, release)
	}
}

func requires(names ...string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			def.Spec.Requires = append(def.Spec.Requires, v1alpha1.Requirement{Addon: name})
		}
	}
}

func conflictsWith(name, message string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Conflicts = append(def.Spec.Conflicts, v1alpha1.Conflict{Addon: name, Message: message})
	}
}

// release changes every release of the definition so far.
func release(change func(*v1alpha1.ReleaseDefinition)) trait {
	return func(def *v1alpha1.AddonDefinition) {
		for i := range def.Spec.Releases {
			change(&def.Spec.Releases[i])
		}
	}
}

func defaults(text string) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Values = values(text) })
}

func tested() trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Test = true })
}

func timeout(d time.Duration) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Timeout = &metav1.Duration{Duration: d} })
}

// from names another repository.
func from(url string) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Chart.Repository = url })
}

func credentials(secret string) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Chart.SecretRef = &v1alpha1.LocalReference{Name: secret} })
}

func plainHTTP() trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Chart.Insecure = true })
}

// values turns YAML into what a spec holds.
func values(text string) *apiextensionsv1.JSON {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return &apiextensionsv1.JSON{Raw: []byte(text)} // the API server will say so
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

// prefers orders without demanding.
func prefers(name string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Requires = append(def.Spec.Requires, v1alpha1.Requirement{Addon: name, Optional: true})
	}
}
