package pins

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hold makes the chart "hooks" stop in the middle of an install or upgrade, until unhold.
const hold = "hook: {hold: true}"

// awaitHeld waits until the release is in the middle of an install or upgrade, held by its hook, and returns which run of the hook it
// is. Runs before that are passed in but.
func (s *subject) awaitHeld(t *testing.T, but ...types.UID) types.UID {
	t.Helper()
	var run types.UID
	eventually(t, func(c *assert.CollectT) {
		job := s.hook(c)
		require.NotNil(c, job.Spec.Suspend)
		require.True(c, *job.Spec.Suspend)
		require.Nil(c, job.DeletionTimestamp)
		require.NotContains(c, but, job.UID)
		run = job.UID
	})
	return run
}

func (s *subject) hook(t require.TestingT) *batchv1.Job {
	job := &batchv1.Job{}
	require.NoError(t, s.api.Get(context.Background(), client.ObjectKey{Namespace: target, Name: s.name + "-prepare"}, job))
	return job
}

// unhold lets the hook, and with it the action, come to its end.
func (s *subject) unhold(t *testing.T) {
	t.Helper()
	s.patchHook(t, func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
}

// failHook lets the hook, and with it the action, fail.
func (s *subject) failHook(t *testing.T) {
	t.Helper()
	s.patchHook(t, func(job *batchv1.Job) {
		job.Spec.Suspend = new(false)
		job.Spec.Template.Annotations["simulation/exit-code"] = "1"
	})
}

func (s *subject) patchHook(t *testing.T, change func(*batchv1.Job)) {
	t.Helper()
	job := s.hook(t)
	before := job.DeepCopy()
	change(job)
	require.NoError(t, s.api.Patch(t.Context(), job, client.MergeFrom(before)))
}

// config is the ConfigMap that the charts tiny and hooks consist of.
func (s *subject) config() *corev1.ConfigMap {
	config := &corev1.ConfigMap{}
	config.Namespace, config.Name = target, s.name
	return config
}

// values are the values that reached the chart tiny.
func (s *subject) values(t *testing.T) map[string]any {
	t.Helper()
	config := s.config()
	require.False(t, s.gone(t, config))
	var values map[string]any
	require.NoError(t, json.Unmarshal([]byte(config.Data["values"]), &values))
	return values
}

// stored lists what Helm keeps of the release, newest first, as in "v2 deployed".
func (s *subject) stored(t require.TestingT) []string {
	secrets := &corev1.SecretList{}
	require.NoError(t, s.api.List(context.Background(), secrets, client.InNamespace(target), client.MatchingLabels{"owner": "helm", "name": s.name}))
	slices.SortFunc(secrets.Items, func(a, b corev1.Secret) int { return cmp.Compare(revision(b), revision(a)) })
	var all []string
	for _, secret := range secrets.Items {
		all = append(all, fmt.Sprintf("v%d %s", revision(secret), secret.Labels["status"]))
	}
	return all
}

func revision(secret corev1.Secret) int {
	number, _ := strconv.Atoi(secret.Labels["version"])
	return number
}
