package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// mistake is a bad entry beside one that runs already and one that is new. Names in it begin with the story's name.
type mistake struct {
	// define adds what the entry needs to the catalogue; nil for nothing.
	define func(s *story)
	// entry of the Installer.
	entry string
	// says are parts of the message that explains it.
	says []string
}

// TestBadEntriesAreExplainedByTheInstaller: what cannot be resolved is refused there, and nothing is done for it.
func TestBadEntriesAreExplainedByTheInstaller(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mistake{
		"unknown-addon": {
			entry: `{name: unknown-addon-runnin}`,
			says:  []string{"spec.addons[unknown-addon-runnin]", "not in the catalogue", "did you mean unknown-addon-running"},
		},
		"unknown-version": {
			define: func(s *story) { s.define("unknown-version-a", "tiny", versions("1.0.0", "1.1.0", "2.0.0")) },
			entry:  `{name: unknown-version-a, version: 1.0.9}`,
			says:   []string{"spec.addons[unknown-version-a].version", `"1.0.9"`, "nearest", "1.0.0", "1.1.0"},
		},
		"empty-range": {
			define: func(s *story) { s.define("empty-range-a", "tiny", versions("1.0.0", "1.1.0")) },
			entry:  `{name: empty-range-a, version: ">=3"}`,
			says:   []string{"spec.addons[empty-range-a].version", `">=3"`, "nearest", "1.1.0"},
		},
		"cycle": {
			define: func(s *story) {
				s.define("cycle-a", "tiny", requires("cycle-b"))
				s.define("cycle-b", "tiny", requires("cycle-a"))
			},
			entry: `{name: cycle-a}, {name: cycle-b}`,
			says:  []string{"cycle-a → cycle-b → cycle-a", "AddonDefinition"},
		},
		"conflict": {
			define: func(s *story) {
				s.define("conflict-a", "tiny", conflictsWith("conflict-running", "both listen on port 80"))
			},
			entry: `{name: conflict-a}`,
			says:  []string{"spec.addons[conflict-a]", "conflict-running", "both listen on port 80"},
		},
		"missing": {
			define: func(s *story) { s.define("missing-a", "tiny", requires("missing-base")) },
			entry:  `{name: missing-a}`,
			says:   []string{"spec.addons[missing-a]", `requires add-on "missing-base"`, "add it to spec.addons"},
		},
		"no-release": {
			define: func(s *story) { s.define("no-release-a", "tiny") },
			entry:  `{name: no-release-a, releases: [{name: other, values: {a: 1}}]}`,
			says:   []string{"spec.addons[no-release-a].releases[other]", "it has no-release-a"},
		},
		"gaps": {
			define: func(s *story) {
				s.define("gaps-a", "tiny", following("gaps-a-two", "tiny"), versions("1.0.0", "1.1.0"), func(def *v1alpha1.AddonDefinition) {
					delete(def.Spec.Versions[1].Releases, "gaps-a-two")
				})
			},
			entry: `{name: gaps-a}`,
			says:  []string{`AddonDefinition "gaps-a" is broken`, "spec.versions[1].releases[gaps-a-two]", "1.0.0"},
		},
		"kubernetes": {
			define: func(s *story) {
				s.define("kubernetes-a", "tiny", versions("1.0.0"), func(def *v1alpha1.AddonDefinition) { def.Spec.Versions[0].Kubernetes = "<1.20" })
			},
			entry: `{name: kubernetes-a}`,
			says:  []string{"spec.addons[kubernetes-a].version", "<1.20", "this cluster runs 1."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, name)
			before := s.makeMistake(m)
			s.installerSays(v1alpha1.ConditionResolved, m.says...)
			s.installerSays(v1alpha1.ConditionReady, m.says...)
			s.forgive(before)
		})
	}
}

// TestBadEntriesAreExplainedByTheirAddon: what only Flux or Helm can find out is told by the Addon and passed on by the Installer.
func TestBadEntriesAreExplainedByTheirAddon(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mistake{
		"schema": {
			define: func(s *story) { s.define("schema-a", "webapp") },
			entry:  `{name: schema-a, values: {service: {port: 99999}}}`,
			says:   []string{"schema-a", "/service/port", "maximum"},
		},
		"template": {
			define: func(s *story) { s.define("template-a", "broken-template") },
			entry:  `{name: template-a}`,
			says:   []string{"template-a", "templates/secret.yaml", "set password"},
		},
		"kubeversion": {
			define: func(s *story) { s.define("kubeversion-a", "kubeversion", versions("9.9.9")) },
			entry:  `{name: kubeversion-a}`,
			says:   []string{"kubeversion-a", ">=1.99.0-0", "v1."},
		},
		"no-chart": {
			define: func(s *story) { s.define("no-chart-a", "no-such-chart") },
			entry:  `{name: no-chart-a}`,
			says:   []string{"no-such-chart", "1.0.0", "http://"},
		},
		"no-oci-chart": {
			define: func(s *story) { s.define("no-oci-chart-a", "no-such-chart", from(s.charts.OCIURL()), plainHTTP()) },
			entry:  `{name: no-oci-chart-a}`,
			says:   []string{"no-such-chart", "1.0.0", "oci://"},
		},
		"no-chart-version": {
			define: func(s *story) { s.define("no-chart-version-a", "tiny", versions("7.7.7")) },
			entry:  `{name: no-chart-version-a}`,
			says:   []string{"tiny", "7.7.7", "http://"},
		},
		"unreachable": {
			define: func(s *story) { s.define("unreachable-a", "tiny", from("http://127.0.0.1:1/charts")) },
			entry:  `{name: unreachable-a}`,
			says:   []string{"http://127.0.0.1:1/charts", "connection refused"},
		},
		"login": {
			define: func(s *story) {
				s.define("login-a", "tiny", from(s.locked().HTTPURL()), credentials("login"))
				s.login("login", "wrong")
			},
			entry: `{name: login-a}`,
			says:  []string{"repository http://", "Secret kurl-addons/login", "401"},
		},
		"oci-login": {
			define: func(s *story) {
				s.define("oci-login-a", "tiny", from(s.locked().OCIURL()), plainHTTP(), credentials("oci-login"))
				s.login("oci-login", "wrong")
			},
			entry: `{name: oci-login-a}`,
			says:  []string{"repository oci://", "Secret kurl-addons/oci-login", "401"},
		},
		"no-login": {
			define: func(s *story) { s.define("no-login-a", "tiny", credentials("no-login-secret")) },
			entry:  `{name: no-login-a}`,
			says:   []string{"repository http://", "no-login-secret", "not found"},
		},
		"no-values": {
			define: func(s *story) { s.define("no-values-a", "tiny") },
			entry:  `{name: no-values-a, valuesFrom: [{kind: Secret, name: no-values-secret}]}`,
			says:   []string{"no-values-a", "Secret", "kurl-addons/no-values-secret"},
		},
		"never-ready": {
			define: func(s *story) { s.define("never-ready-a", "never-ready", timeout(5*time.Second)) },
			entry:  `{name: never-ready-a}`,
			says:   []string{"never-ready-a", "not ready within 5s", "kubectl get pods,events -n never-ready"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, name)
			before := s.makeMistake(m)
			s.says(name+"-a", v1alpha1.StateFailed, m.says...)
			s.installerSays(v1alpha1.ConditionReady, m.says...)
			assert.Equal(t, "True", status(s.installer(t).Status.Conditions, v1alpha1.ConditionResolved))
			s.forgive(before)
		})
	}
}

// makeMistake lets one add-on run, then adds the mistake and another good add-on, which becomes ready. It returns the
// generation of what runs.
func (s *story) makeMistake(m mistake) int64 {
	s.t.Helper()
	running := s.name + "-running"
	s.define(running, "tiny")
	s.define(s.name+"-new", "tiny")
	if m.define != nil {
		m.define(s)
	}
	s.install(`{addons: [{name: ` + running + `}]}`)
	s.installerReady()
	before := s.helmRelease(s.t, running).Generation
	s.install(`{addons: [{name: ` + running + `}, ` + m.entry + `, {name: ` + s.name + `-new}]}`)
	s.ready(s.name+"-new", running)
	return before
}

// forgive checks that what runs was not touched, and that dropping the mistake is all that it takes.
func (s *story) forgive(before int64) {
	s.t.Helper()
	assert.Equal(s.t, before, s.helmRelease(s.t, s.name+"-running").Generation)
	s.install(`{addons: [{name: ` + s.name + `-running}, {name: ` + s.name + `-new}]}`)
	s.installerReady()
	assert.Equal(s.t, before, s.helmRelease(s.t, s.name+"-running").Generation)
	assert.Len(s.t, s.helmStorage(s.name+"-running"), 1)
}

// locked serves charts to "ann" with the password "right" only.
func (s *story) locked() *cluster.Charts {
	s.t.Helper()
	charts, err := s.ServeCharts(s.t.Context())
	require.NoError(s.t, err)
	charts.HTTP.RequireLogin("ann", "right")
	charts.OCI.RequireLogin("ann", "right")
	return charts
}

func (s *story) login(secret, password string) {
	s.t.Helper()
	require.NoError(s.t, s.api.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: secret},
		StringData: map[string]string{"username": "ann", "password": password},
	}))
}

func TestNonsenseIsRefusedAtAdmission(t *testing.T) {
	s := beside(t, "nonsense")
	for name, test := range map[string]struct{ spec, says string }{
		"duplicate":       {`{addons: [{name: cert-manager}, {name: cert-manager}]}`, `duplicate entries for key [name="cert-manager"]`},
		"values list":     {`{addons: [{name: cert-manager, values: [1, 2]}]}`, `spec.addons[name="cert-manager"].values: expected map`},
		"values text":     {`{addons: [{name: cert-manager, values: "a: 1"}]}`, `spec.addons[name="cert-manager"].values: expected map`},
		"long name":       {`{addons: [{name: ` + longName(64) + `}]}`, `spec.addons[0].name`},
		"upper case":      {`{addons: [{name: CertManager}]}`, `spec.addons[0].name`},
		"misspelt field":  {`{addons: [{name: cert-manager, vesion: "1"}]}`, `vesion`},
		"mirror protocol": {`{charts: {mirror: "ftp://charts"}}`, `spec.charts.mirror`},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.tryInstall(test.spec)
			require.ErrorContains(t, err, test.says)
			t.Log(err)
		})
	}
}

func TestALongReleaseNameIsRefusedAtAdmission(t *testing.T) {
	s := beside(t, "long")
	def := s.definition("long-a", "tiny", release(func(r *v1alpha1.ReleaseDefinition) { r.Name = longName(54) }))
	require.ErrorContains(t, s.api.Create(t.Context(), def), "spec.releases[0].name: Too long: may not be more than 53 bytes")
}

func longName(length int) string { return strings.Repeat("a", length) }
