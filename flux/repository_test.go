package flux

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/addons"
)

func TestRepositoryName(t *testing.T) {
	for name, test := range map[string]struct {
		url  string
		want string // what people read of it, before the hash
	}{
		"https":           {"https://charts.rook.io/release", "charts-rook-io-release-"},
		"oci":             {"oci://registry.local:5000/charts", "registry-local-5000-charts-"},
		"upper case":      {"HTTPS://Charts.Example.COM/Stable/", "charts-example-com-stable-"},
		"long":            {"https://" + strings.Repeat("a", 300) + ".example.com", strings.Repeat("a", 48) + "-"},
		"cut at a dash":   {"https://" + strings.Repeat("a", 47) + ".example.com", strings.Repeat("a", 47) + "-"},
		"nothing to read": {"https://例え", "repository-"},
		"password":        {"https://user:secret@charts.example.com", "charts-example-com-"},
		"at in the path":  {"https://charts.example.com/@stable", "charts-example-com-stable-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := RepositoryName(addons.Repository{URL: test.url})
			assert.Regexp(t, "^"+test.want+"[0-9a-f]{10}$", got)
			assert.Equal(t, got, Repository(addons.Repository{URL: test.url}).Name)
		})
	}
}

// HelmRepositories outlive operators: the name of one must never change.
func TestRepositoryNameIsStable(t *testing.T) {
	assert.Equal(t, "charts-rook-io-release-16c4154cac", RepositoryName(addons.Repository{URL: "https://charts.rook.io/release"}))
}

func TestRepositoryNameTellsSourcesApart(t *testing.T) {
	base := addons.Repository{URL: "oci://registry.local/charts", SecretRef: "a", CertSecretRef: "b"}
	for name, change := range map[string]func(*addons.Repository){
		"url":            func(r *addons.Repository) { r.URL += "/x" },
		"case of url":    func(r *addons.Repository) { r.URL = strings.ToUpper(r.URL) },
		"scheme":         func(r *addons.Repository) { r.URL = "https://registry.local/charts" },
		"credentials":    func(r *addons.Repository) { r.SecretRef = "c" },
		"no credentials": func(r *addons.Repository) { r.SecretRef = "" },
		"certificates":   func(r *addons.Repository) { r.CertSecretRef = "" },
		"swapped":        func(r *addons.Repository) { r.SecretRef, r.CertSecretRef = r.CertSecretRef, r.SecretRef },
		"insecure":       func(r *addons.Repository) { r.Insecure = true },
	} {
		t.Run(name, func(t *testing.T) {
			other := base
			change(&other)
			assert.NotEqual(t, RepositoryName(base), RepositoryName(other))
		})
	}
}

func TestRepositoryNameIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		url := rapid.OneOf(rapid.String(), rapid.StringMatching(`(oci|https?)://[-.A-Za-z0-9:@/_~%]{0,300}`)).Draw(t, "url")
		name := RepositoryName(addons.Repository{URL: url, SecretRef: rapid.String().Draw(t, "secret")})
		assert.Empty(t, validation.IsDNS1123Label(name), name)
	})
}
