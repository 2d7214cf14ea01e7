package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestPeopleCanReadAndWait(t *testing.T) {
	s := beside(t, "people")
	s.define("people-a", "tiny", versions("1.0.0", "1.1.0"))
	s.define("people-b", "broken-template", requires("people-a"))
	s.install(`{addons: [{name: people-a}, {name: people-b, values: {password: secret}}]}`)

	output, err := s.kubectl("", "wait", "--for=condition=Ready", "installer/people", "--timeout=4m")
	require.NoError(t, err)
	assert.Contains(t, output, "condition met")
	s.requireTable(
		`^installer.addons.kurl.sh/people +True +2 add-ons are ready +[0-9]+[ms]`,
		`^addon.addons.kurl.sh/people-a +Ready +1\.1\.0 +1\.1\.0 +running 1\.1\.0 +[0-9]+[ms]`,
		`^addon.addons.kurl.sh/people-b +Ready +1\.0\.0 +1\.0\.0 +running 1\.0\.0 +[0-9]+[ms]`,
	)

	s.install(`{addons: [{name: people-a}, {name: people-b}]}`)
	s.says("people-b", v1alpha1.StateFailed, "set password")
	s.installerSays(v1alpha1.ConditionReady, "set password")
	s.requireTable(
		`^installer.addons.kurl.sh/people +False +people-b is Failed \(.*set password\).* [0-9]+[ms]`,
		`^addon.addons.kurl.sh/people-b +Failed +1\.0\.0 +1\.0\.0 +.*set password`,
	)
}

// requireTable checks that kubectl's table has a line for each pattern, and nothing that breaks lines.
func (s *story) requireTable(patterns ...string) {
	s.t.Helper()
	output, err := s.kubectl("", "get", "installers,addons")
	require.NoError(s.t, err)
	s.t.Log("\n" + s.mine(output))
	for _, pattern := range patterns {
		assert.Regexp(s.t, "(?m)"+pattern, output)
	}
	for line := range strings.Lines(s.mine(output)) {
		assert.Regexp(s.t, `^(NAME|\S*\.addons\.kurl\.sh/)`, line, "a message broke the line")
	}
}

// steady is for how long nothing may happen.
const steady = 2 * time.Minute

func TestNothingIsWrittenOnceAllIsReady(t *testing.T) {
	t.Parallel()
	s := tell(t, ownWorld(t), "steady")
	s.define("steady-a", "tiny")
	s.define("steady-b", "webapp", requires("steady-a"), tested())
	s.define("steady-c", "tiny", from(s.charts.OCIURL()), plainHTTP())
	s.install(`{addons: [{name: steady-a}, {name: steady-b, values: {replicaCount: 2}}, {name: steady-c}]}`)
	s.installerReady()

	events := s.changes()
	begin := time.Now()
	_, err := s.kubectl("", "annotate", "helmreleases", "--all", "--overwrite", "-n", v1alpha1.Namespace, "reconcile.fluxcd.io/requestedAt=now")
	require.NoError(t, err, "Flux checks every release, as it does from time to time")
	assert.Never(t, func() bool { return len(events.seen()) > 0 }, steady, time.Second)
	end := time.Now()
	assert.Empty(t, events.seen())
	s.requireHandled("steady-a", "steady-b", "steady-c")
	counts, err := s.CountRequests(begin, end)
	require.NoError(t, err)
	for kind, count := range counts {
		if strings.HasSuffix(kind.User, ":"+v1alpha1.FieldManager) {
			assert.Contains(t, []string{"get", "watch"}, kind.Verb, "%+v: %d", kind, count)
		}
	}
	t.Logf("requests in %s: %v", steady, counts)
}

func (s *story) requireHandled(releases ...string) {
	s.t.Helper()
	for _, name := range releases {
		assert.Equal(s.t, "now", s.helmRelease(s.t, name).Status.LastHandledReconcileAt, name)
	}
}

// changes watches Installers and Addons from their present state to the story's end.
func (s *story) changes() *recording {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	r := &recording{}
	for _, list := range []client.ObjectList{&v1alpha1.InstallerList{}, &v1alpha1.AddonList{}} {
		require.NoError(s.t, s.api.List(s.t.Context(), list))
		watcher, err := s.api.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
		require.NoError(s.t, err)
		go func() {
			for event := range watcher.ResultChan() {
				if object, ok := event.Object.(client.Object); ok {
					r.add(string(event.Type) + " " + object.GetName() + " " + object.GetResourceVersion())
				}
			}
		}()
	}
	return r
}
