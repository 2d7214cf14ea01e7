package cluster_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// chartStep is one call of Helm and what it must say if it must fail.
type chartStep struct {
	args []string
	want string
}

func TestChartsBehaveAsTheySay(t *testing.T) {
	c := start(t, cluster.Options{WithoutFlux: true})
	h := helmFor(t, c)

	tests := map[string][]chartStep{
		"a Helm test that passes": {
			{args: []string{"install", "passes", h.chart("webapp-1.0.0"), "--wait"}},
			{args: []string{"test", "passes"}},
		},
		"a Helm test that fails": {
			{args: []string{"install", "fails", h.chart("webapp-1.1.0"), "--set", "test.fail=true"}},
			{args: []string{"test", "fails"}, want: "Failed"},
		},
		"a hook that fails": {
			{args: []string{"install", "hook", h.chart("hooks-1.0.0"), "--set", "hook.fail=true"}, want: "failed"},
		},
		"hooks that pass": {
			{args: []string{"install", "hooked", h.chart("hooks-1.0.0"), "--wait"}},
			{args: []string{"upgrade", "hooked", h.chart("hooks-2.0.0"), "--wait"}},
			{args: []string{"uninstall", "hooked"}},
		},
		"a Deployment that takes its time": {
			{args: []string{"install", "slow", h.chart("slow-1.0.0"), "--set", "seconds=60", "--wait", "--timeout=1s"}, want: "not ready"},
			{args: []string{"upgrade", "slow", h.chart("slow-1.1.0"), "--set", "seconds=1", "--wait"}},
		},
		"a Deployment that fits no node": {
			{args: []string{"install", "never", h.chart("never-ready-1.0.0"), "--wait", "--timeout=1s"}, want: "not ready"},
			{args: []string{"upgrade", "never", h.chart("never-ready-1.0.0"), "--set", "fixed=true", "--wait"}},
		},
		"an operator and its instance": {
			{args: []string{"install", "instance", h.chart("instance-1.0.0")}, want: `no matches for kind "Widget"`},
			{args: []string{"install", "operator", h.chart("operator-2.0.0"), "--wait"}},
			{args: []string{"install", "instance", h.chart("instance-1.0.0"), "--set", "colour=red"}},
		},
		"a version of Kubernetes": {
			{args: []string{"install", "kube", h.chart("kubeversion-1.0.0"), "--wait"}},
			{args: []string{"upgrade", "kube", h.chart("kubeversion-9.9.9")}, want: "chart requires kubeVersion"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, step := range steps {
				h.run(t, step)
			}
		})
	}
}

func TestHookIsHeldUntilItsJobIsReleased(t *testing.T) {
	c := start(t, cluster.Options{WithoutFlux: true})
	api := connect(t, c)
	h := helmFor(t, c)
	done := make(chan error, 1)
	go func() {
		done <- h.command(t, "install", "held", h.chart("hooks-1.0.0"), "--set", "hook.hold=true").Run()
	}()

	job := &batchv1.Job{}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, api.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "held-prepare"}, job))
		assert.NotEmpty(t, job.Status.Conditions)
	}, patience, 20*time.Millisecond)
	key := client.ObjectKey{Namespace: "default", Name: "held"}
	require.True(t, apierrors.IsNotFound(api.Get(t.Context(), key, &corev1.ConfigMap{})))

	released := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`))
	require.NoError(t, api.Patch(t.Context(), job, released))
	require.NoError(t, <-done)
	require.NoError(t, api.Get(t.Context(), key, &corev1.ConfigMap{}))
}

// helmClient runs Helm against a cluster.
type helmClient struct {
	program, kubeconfig, packages string
}

func helmFor(t *testing.T, c *cluster.Cluster) helmClient {
	t.Helper()
	packages, err := cluster.PackageCharts(t.Context())
	require.NoError(t, err)
	return helmClient{program: c.Binary("helm"), kubeconfig: c.Kubeconfig(), packages: packages}
}

func (h helmClient) chart(name string) string { return filepath.Join(h.packages, name+".tgz") }

func (h helmClient) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), h.program, append(args, "--kubeconfig", h.kubeconfig)...)
}

func (h helmClient) run(t *testing.T, step chartStep) {
	t.Helper()
	out, err := h.command(t, step.args...).CombinedOutput()
	if step.want == "" {
		require.NoError(t, err, "helm %v:\n%s", step.args, out)
		return
	}
	require.Error(t, err, "helm %v:\n%s", step.args, out)
	assert.Contains(t, string(out), step.want, "helm %v", step.args)
}
