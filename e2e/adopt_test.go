package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// installed tells the identity and version of each object of a release of the chart tiny with its Deployment.
func (s *story) installed(release string) string {
	s.t.Helper()
	output, err := s.kubectl("", "get", "-n", s.name, "configmap/"+release, "deployment/"+release, "-o", `jsonpath={range .items[*]}{.kind} {.metadata.uid}{"\n"}{end}`)
	require.NoError(s.t, err)
	return output
}

func (s *story) noHelmRelease(name string) {
	s.t.Helper()
	hr := &helmv2.HelmRelease{}
	assert.True(s.t, apierrors.IsNotFound(s.api.Get(context.Background(), key(hr, name), hr)), "HelmRelease %s", name)
}

func TestWhatHelmInstalledIsTakenOverOnlyOnRequest(t *testing.T) {
	s := beside(t, "adopt")
	require.NoError(t, s.helm("install", "adopt-a", "tiny", "--repo", s.charts.HTTPURL(), "--version", "1.0.0", "--namespace", "adopt", "--create-namespace",
		"--set", "message=mine,deployment.enabled=true"))
	before := s.installed("adopt-a")
	version := s.rendered(t, "adopt-a").ResourceVersion
	s.define("adopt-a", "tiny", versions("1.0.0", "1.1.0"))
	s.install(`{addons: [{name: adopt-a, values: {message: ours, deployment: {enabled: true}}}]}`)
	s.says("adopt-a", v1alpha1.StateBlocked,
		"Helm release adopt/adopt-a is there already: revision 1, deployed since", "managed by nobody but Helm", "1 configmaps (adopt-a), 1 deployments (adopt-a)",
		"Flux would upgrade it to chart tiny 1.1.0", "as revision 2", "set adopt: true for adopt-a in Installer adopt")
	s.noHelmRelease("adopt-a")
	assert.Equal(t, version, s.rendered(t, "adopt-a").ResourceVersion, "nothing was touched")

	s.install(`{addons: [{name: adopt-a, adopt: true, values: {message: ours, deployment: {enabled: true}}}]}`)
	s.installerReady()
	assert.Equal(t, before, s.installed("adopt-a"), "no object is made anew")
	assert.Equal(t, "ours", s.rendered(t, "adopt-a").Data["message"])
	assert.Equal(t, "1.1.0", s.rendered(t, "adopt-a").Data["version"])
	assert.Len(t, s.helmStorage("adopt-a"), 2)
}

func TestWhatAnotherHelmReleaseManagesIsLetGoFirst(t *testing.T) {
	s := beside(t, "fight")
	_, err := s.kubectl(`
apiVersion: v1
kind: Namespace
metadata: {name: fight-theirs}
---
apiVersion: v1
kind: Namespace
metadata: {name: fight}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: fight-theirs}
spec: {url: "`+s.charts.HTTPURL()+`", interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: theirs, namespace: fight-theirs}
spec:
  interval: 10m
  releaseName: fight-a
  targetNamespace: fight
  storageNamespace: fight
  chart: {spec: {chart: tiny, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
  values: {deployment: {enabled: true}}
`, "apply", "-f", "-")
	require.NoError(t, err)
	_, err = s.kubectl("", "wait", "-n", "fight-theirs", "helmrelease/theirs", "--for=condition=Ready", "--timeout=2m")
	require.NoError(t, err)
	before := s.installed("fight-a")

	s.define("fight-a", "tiny", versions("1.0.0"))
	s.install(`{addons: [{name: fight-a, adopt: true, values: {deployment: {enabled: true}}}]}`)
	s.says("fight-a", v1alpha1.StateBlocked, "HelmRelease fight-theirs/theirs manages the Helm release fight/fight-a, and would fight over it")
	s.noHelmRelease("fight-a")

	s.follow(message(s.addon(t, "fight-a").Status.Conditions))
	s.installerReady()
	assert.Equal(t, before, s.installed("fight-a"), "no object is made anew")
	assert.Len(t, s.helmStorage("fight-a"), 2)
}

// follow runs the commands that a message gives.
func (s *story) follow(message string) {
	s.t.Helper()
	commands := regexp.MustCompile(`kubectl .*`).FindString(message)
	require.NotEmpty(s.t, commands, message)
	shell := exec.CommandContext(s.t.Context(), "sh", "-c", commands)
	shell.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "PATH="+filepath.Dir(s.Binary("kubectl"))+":"+os.Getenv("PATH"))
	output, err := shell.CombinedOutput()
	require.NoError(s.t, err, "%s\n%s", strings.TrimSpace(commands), output)
}
