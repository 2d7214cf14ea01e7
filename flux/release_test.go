package flux

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares objects with the YAML documents in testdata/<name>.yaml.
func golden(t *testing.T, name string, objects ...any) {
	t.Helper()
	var got bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		require.NoError(t, err)
		got.WriteString("---\n")
		got.Write(document)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "write it with: go test ./flux -update")
	assert.Equal(t, string(want), got.String())
}

// webRelease is a release with nothing in it but what every release has.
func webRelease() addons.Release {
	return addons.Release{
		Addon:        "website",
		Name:         "web",
		Namespace:    "web-system",
		Repository:   addons.Repository{URL: "https://charts.example.com/stable"},
		Chart:        "webapp",
		ChartVersion: "1.0.0",
		CRDs:         v1alpha1.CRDCreateReplace,
		Timeout:      addons.DefaultTimeout,
		OnFailure:    v1alpha1.FailureRetry,
		Drift:        v1alpha1.DriftDisabled,
	}
}

// shapes are the forms that a release can take, by the name of their golden file.
var shapes = map[string]func(*addons.Release){
	"minimal": func(*addons.Release) {},
	"values": func(r *addons.Release) {
		r.Defaults = map[string]any{
			"replicaCount": 2, "config": map[string]any{"listen": ":8080", "cache": nil}, "hosts": []any{"a.example.com", "b.example.com"},
		}
		r.ValuesFrom = []v1alpha1.ValuesReference{
			{Kind: "Secret", Name: "web-credentials"},
			{Kind: "ConfigMap", Name: "web-values", Key: "production.yaml", Optional: true},
		}
		r.Values = &apiextensionsv1.JSON{Raw: []byte(`{"config":{"logLevel":"debug","listen":null}}`)}
	},
	"oci": func(r *addons.Release) {
		r.Repository = addons.Repository{URL: "oci://registry.local:5000/charts", SecretRef: "registry", CertSecretRef: "registry-ca", Insecure: true}
	},
	"credentials": func(r *addons.Release) {
		r.Repository.SecretRef, r.Repository.CertSecretRef = "charts", "charts-ca"
	},
	"rollback": func(r *addons.Release) { r.OnFailure = v1alpha1.FailureRollback },
	"tested": func(r *addons.Release) {
		r.Test = true
		r.Timeout = 15 * time.Minute
	},
	"drift-warn": func(r *addons.Release) { r.Drift = v1alpha1.DriftWarn },
	"drift-corrected": func(r *addons.Release) {
		r.Drift = v1alpha1.DriftEnabled
		r.DriftIgnore = []string{"/spec/replicas", "/metadata/annotations/example.com~1stamp"}
	},
	"dependent":   func(r *addons.Release) { r.DependsOn = []string{"cert-manager", "openebs"} },
	"crds-create": func(r *addons.Release) { r.CRDs = v1alpha1.CRDCreate },
	"crds-skip":   func(r *addons.Release) { r.CRDs = v1alpha1.CRDSkip },
}

func shapedRelease(shape func(*addons.Release)) addons.Release {
	r := webRelease()
	shape(&r)
	return r
}

func objectsOf(r addons.Release) []any {
	objects := []any{Repository(r.Repository)}
	if defaults := Defaults(r); defaults != nil {
		objects = append(objects, defaults)
	}
	return append(objects, HelmRelease(r))
}

func TestReleaseAsFluxObjects(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			golden(t, name, objectsOf(shapedRelease(shape))...)
		})
	}
}

// An add-on whose charts come from a mirror differs in its repository alone.
func TestMirror(t *testing.T) {
	def := &v1alpha1.AddonDefinition{}
	def.Name = "website"
	def.Spec.Releases = []v1alpha1.ReleaseDefinition{{
		Name: "web", Namespace: "web-system", Chart: v1alpha1.ChartReference{Repository: "https://charts.example.com/stable", Name: "webapp"},
	}}
	def.Spec.Versions = []v1alpha1.VersionDefinition{{
		Version: "1.0.0", Releases: map[string]v1alpha1.ReleaseVersion{"web": {ChartVersion: "1.0.0"}},
	}}
	spec := &v1alpha1.AddonSpec{Charts: &v1alpha1.Charts{
		Mirror: "oci://registry.local/charts", SecretRef: &v1alpha1.LocalReference{Name: "mirror"}, Insecure: true,
	}}

	releases := addons.Releases(def, spec, "1.0.0", nil)
	require.Len(t, releases, 1)

	golden(t, "mirror", objectsOf(releases[0])...)
}

// The order of maps must not show: it would be a write for nothing, and a needless upgrade.
func TestObjectsAreDeterministic(t *testing.T) {
	marshalled := func() string {
		r := shapedRelease(shapes["values"])
		for _, key := range []string{"z", "y", "x", "w", "v"} {
			r.Defaults[key] = map[string]any{"b": 1, "a": map[string]any{"d": true, "c": nil}}
		}
		document, err := yaml.Marshal(objectsOf(r))
		require.NoError(t, err)
		return string(document)
	}
	first := marshalled()
	for range 50 {
		require.Equal(t, first, marshalled())
	}
}

// An empty ConfigMap would only cost a write.
func TestNoDefaultsNoConfigMap(t *testing.T) {
	r := webRelease()
	r.Defaults = map[string]any{}
	assert.Nil(t, Defaults(r))
	assert.Empty(t, HelmRelease(r).Spec.ValuesFrom)
}

func TestDefaultsNameFollowsContent(t *testing.T) {
	base := shapedRelease(shapes["values"])
	name := DefaultsName(base)
	assert.Equal(t, Defaults(base).Name, name)
	assert.Equal(t, HelmRelease(base).Spec.ValuesFrom[0].Name, name)

	for change, changed := range map[string]map[string]any{
		"a value":         {"replicaCount": 3},
		"null or absent":  {"replicaCount": nil},
		"nothing or null": {},
		"text or number":  {"replicaCount": "2"},
	} {
		t.Run(change, func(t *testing.T) {
			other := base
			other.Defaults = changed
			assert.NotEqual(t, name, DefaultsName(other))
		})
	}
	t.Run("not by anything else", func(t *testing.T) {
		other := base
		other.Chart, other.ChartVersion, other.Namespace, other.Values = "other", "2.0.0", "elsewhere", nil
		assert.Equal(t, name, DefaultsName(other))
	})
	t.Run("by the release", func(t *testing.T) {
		other := base
		other.Name = "other"
		assert.NotEqual(t, name, DefaultsName(other))
	})
}
