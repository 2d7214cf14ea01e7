package e2e

import (
	"slices"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// at110 gives version 1.1.0 values of its own.
func at110(text string) trait {
	return func(def *v1alpha1.AddonDefinition) {
		i := slices.IndexFunc(def.Spec.Versions, func(v v1alpha1.VersionDefinition) bool { return v.Version == "1.1.0" })
		for name, release := range def.Spec.Versions[i].Releases {
			release.Values = values(text)
			def.Spec.Versions[i].Releases[name] = release
		}
	}
}

const fails = `{hook: {fail: true}}`

func TestAFailedHopStartsNoOtherUntilAFixedVersionIsListed(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]v1alpha1.FailurePolicy{"retried": v1alpha1.FailureRetry, "rolled-back": v1alpha1.FailureRollback} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, "fail-"+name)
			addon, dependent := s.name+"-a", s.name+"-b"
			s.define(addon, "hooks", versions("1.0.0", "1.1.0", "2.0.0"), at110(fails), onFailure(policy))
			s.define(dependent, "tiny", versions("1.0.0", "1.1.0"), requires(addon))
			s.install(`{addons: [{name: ` + addon + `, version: 1.0.0}, {name: ` + dependent + `, version: 1.0.0}]}`)
			s.installerReady()
			recorded := s.record()

			s.install(`{addons: [{name: ` + addon + `}, {name: ` + dependent + `}]}`)
			said := []string{"pre-upgrade hook"}
			if policy == v1alpha1.FailureRollback {
				said = append(said, "so chart 1.0.0 runs as before", tryAgain)
			}
			s.says(addon, v1alpha1.StateFailed, said...)
			assert.Equal(t, "1.0.0", s.addon(t, addon).Status.Version)
			s.says(dependent, v1alpha1.StateBlocked, addon, "pre-upgrade hook")

			s.redefine(addon, "hooks", versions("1.0.0", "1.1.0", "1.1.1", "2.0.0"), at110(fails), onFailure(policy))
			s.installerReady()
			s.requireSeen(recorded, "asked "+addon+" 1.1.0", "asked "+addon+" 1.1.1", "running "+addon+" 1.1.1", "asked "+addon+" 2.0.0",
				"running "+addon+" 2.0.0", "asked "+dependent+" 1.1.0", "running "+dependent+" 1.1.0")
			assert.NotContains(t, recorded.seen(), "running "+addon+" 1.1.0")
		})
	}
}

func TestCRDsOfAFailedUpgradeAreSaidToBeNew(t *testing.T) {
	s := beside(t, "ledger")
	s.define("ledger-a", "ledger", hops, at110(`{replicas: -1}`), onFailure(v1alpha1.FailureRollback))
	s.define("ledger-b", "ledger", hops, release(func(r *v1alpha1.ReleaseDefinition) { r.CRDs = v1alpha1.CRDCreate }))
	s.install(`{addons: [{name: ledger-b, version: 1.0.0}]}`)
	s.installerReady()
	s.install(`{addons: [{name: ledger-b}]}`)
	s.installerReady()
	assert.NotContains(t, s.crd("ledgers.example.com").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "colour", "Create replaces none")

	s.install(`{addons: [{name: ledger-a, version: 1.0.0}, {name: ledger-b}]}`)
	s.installerReady()
	s.install(`{addons: [{name: ledger-a}, {name: ledger-b}]}`)
	s.says("ledger-a", v1alpha1.StateFailed, "so chart 1.0.0 runs as before", "its CRDs are those of chart 1.1.0 all the same", "ledgers.example.com", tryAgain)
	assert.Contains(t, s.crd("ledgers.example.com").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "colour")
	assert.Equal(t, "1.0.0", s.addon(t, "ledger-a").Status.Version)
}

// closed refuses every change of a kind in the story's namespace, as a webhook does whose server is away.
func (s *story) closed(group, resource string) (open func()) {
	s.t.Helper()
	webhook := `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + s.name + `}
webhooks:
- name: away.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + s.name + `}}
  rules: [{apiGroups: ["` + group + `"], apiVersions: [v1], resources: [` + resource + `], operations: [CREATE, UPDATE, DELETE]}]
`
	_, err := s.kubectl(webhook, "apply", "-f", "-")
	require.NoError(s.t, err)
	probe := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe, namespace: " + s.name + "}"
	if group == "apps" {
		probe = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: probe, namespace: " + s.name + "}\n" +
			"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: simulated.invalid/a}]}}}"
	}
	s.eventually("it is closed", func(t *assert.CollectT) {
		_, err := s.kubectl(probe, "apply", "--dry-run=server", "-f", "-")
		assert.ErrorContains(t, err, "away.example.com")
	})
	open = func() {
		_, err := s.kubectl("", "delete", "validatingwebhookconfiguration", s.name, "--ignore-not-found")
		require.NoError(s.t, err)
	}
	return open
}

// revision is that of the newest Helm release in a history.
func revision(hr *helmv2.HelmRelease) int {
	if latest := hr.Status.History.Latest(); latest != nil {
		return latest.Version
	}
	return 0
}

func (s *story) request(kind, name, token string) {
	s.t.Helper()
	_, err := s.kubectl("", "annotate", "--overwrite", kind, name, tryAgain+token)
	require.NoError(s.t, err)
}

// stalled waits until Flux has given up.
func (s *story) stalled(name string) {
	s.t.Helper()
	s.eventually(name+" is stalled", func(t *assert.CollectT) {
		assert.Equal(t, "True", status(s.addon(t, name).Status.Conditions, v1alpha1.ConditionStalled), message(s.addon(t, name).Status.Conditions))
	})
}

func TestARequestStartsWhatWasGivenUpAfreshOnce(t *testing.T) {
	s := beside(t, "afresh")
	s.define("afresh-a", "tiny", hops, onFailure(v1alpha1.FailureRollback))
	s.install(`{addons: [{name: afresh-a, version: 1.0.0}]}`)
	s.installerReady()
	open := s.closed("", "configmaps")
	defer open()
	s.install(`{addons: [{name: afresh-a}]}`)
	s.says("afresh-a", v1alpha1.StateFailed, "away.example.com")
	s.stalled("afresh-a")

	before := revision(s.helmRelease(t, "afresh-a"))
	for i, ask := range [][]string{{"addon", "afresh-a", "one"}, {"installer", "afresh", "two"}} {
		s.request(ask[0], ask[1], ask[2])
		s.eventually("it was tried again", func(t *assert.CollectT) { assert.Greater(t, revision(s.helmRelease(t, "afresh-a")), before+2*i) })
		s.eventually("Flux is done with it", func(t *assert.CollectT) {
			hr := s.helmRelease(t, "afresh-a")
			assert.Equal(t, ask[2], hr.Status.LastHandledResetAt)
			assert.Equal(t, ask[2], hr.Status.LastHandledReconcileAt)
		})
		s.stalled("afresh-a")
		t.Logf("revision %d after %d requests", revision(s.helmRelease(t, "afresh-a")), i+1)
		assert.Equal(t, before+2*(i+1), revision(s.helmRelease(t, "afresh-a")), "an upgrade, and its rollback")
	}

	open()
	s.request("installer", "afresh", "three")
	s.installerReady()
	assert.Equal(t, "1.1.0", s.addon(t, "afresh-a").Status.Version)
}

func TestWhatIsRetriedRecoversByItselfOnceTheCauseHasGone(t *testing.T) {
	s := beside(t, "retried")
	s.define("retried-a", "tiny", hops)
	s.install(`{addons: [{name: retried-a, version: 1.0.0}]}`)
	s.installerReady()
	open := s.closed("", "configmaps")
	defer open()
	s.install(`{addons: [{name: retried-a}]}`)
	s.says("retried-a", v1alpha1.StateFailed, "away.example.com")
	s.eventually("Flux waits to try again", func(t *assert.CollectT) {
		assert.Equal(t, "RetryAfterInterval", apimeta.FindStatusCondition(s.helmRelease(t, "retried-a").Status.Conditions, "Ready").Reason)
	})
	open()
	s.installerReady()
	assert.Equal(t, "1.1.0", s.addon(t, "retried-a").Status.Version)
}

func TestARolledBackFirstInstallIsStartedAfreshOnRequest(t *testing.T) {
	s := beside(t, "no-target")
	s.define("no-target-a", "tiny", onFailure(v1alpha1.FailureRollback), timeout(30*time.Second))
	_, err := s.kubectl("", "create", "namespace", "no-target")
	require.NoError(t, err)
	open := s.closed("", "configmaps")
	defer open()
	s.install(`{addons: [{name: no-target-a}]}`)
	s.says("no-target-a", v1alpha1.StateFailed, "away.example.com")
	s.request("addon", "no-target-a", "one")
	s.stalled("no-target-a")
	s.says("no-target-a", v1alpha1.StateFailed, tryAgain)

	open()
	s.request("addon", "no-target-a", "two")
	s.installerReady()
}

// Flux waits longer and longer before it asks again for what it could not fetch, up to a quarter of an hour; a request is heard at once.
func TestARequestFetchesFromARepositoryThatIsBack(t *testing.T) {
	s := beside(t, "back")
	charts, err := s.ServeCharts(t.Context())
	require.NoError(t, err)
	require.NoError(t, charts.HTTP.Down())
	s.define("back-a", "tiny", from(charts.HTTPURL()))
	s.install(`{addons: [{name: back-a}]}`)
	s.says("back-a", v1alpha1.StateFailed, charts.HTTPURL(), "connection refused")
	started := time.Now()
	s.eventually("Flux takes its time", func(t *assert.CollectT) { assert.Greater(t, time.Since(started), time.Minute) })

	require.NoError(t, charts.HTTP.Up())
	s.request("installer", "back", "now")
	asked := time.Now()
	s.installerReady()
	t.Logf("ready %s after the request", time.Since(asked))
	assert.Less(t, time.Since(asked), 30*time.Second)
}

// A rollback that fails is not called one.
func TestAFailedRollbackIsNotTakenForOne(t *testing.T) {
	s := beside(t, "stuck")
	s.define("stuck-a", "never-ready", hops, onFailure(v1alpha1.FailureRollback), timeout(15*time.Second))
	s.install(`{addons: [{name: stuck-a, version: 1.0.0, values: {fixed: true}}]}`)
	s.installerReady()
	recorded := s.record()
	s.install(`{addons: [{name: stuck-a}]}`)
	s.requireSeen(recorded, "began stuck-a 1.1.0")
	open := s.closed("apps", "deployments")
	defer open()
	s.says("stuck-a", v1alpha1.StateFailed, "Helm rollback to previous release", "1.0.0 failed", "away.example.com", tryAgain)
	s.stalled("stuck-a")
	assert.NotContains(t, message(s.addon(t, "stuck-a").Status.Conditions), "runs as before")
}
