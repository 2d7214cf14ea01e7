package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// recording is what happened to a story's HelmReleases, in order: "asked NAME VERSION" for each chart version in a spec, "began NAME
// VERSION" when Helm began to install or upgrade it, "running NAME VERSION" when it had, "deleting NAME", "uninstalled NAME" once Flux had done
// that and let go, and "gone NAME".
type recording struct {
	mu    sync.Mutex
	lines []string
}

// record watches the story's HelmReleases from now to its end.
func (s *story) record() *recording {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	watcher, err := s.api.Watch(ctx, &helmv2.HelmReleaseList{}, client.InNamespace(v1alpha1.Namespace))
	require.NoError(s.t, err)
	r := &recording{}
	go func() {
		for event := range watcher.ResultChan() {
			if hr, ok := event.Object.(*helmv2.HelmRelease); ok && strings.HasPrefix(hr.Name, s.name) {
				r.note(event.Type, hr)
			}
		}
	}()
	return r
}

func (r *recording) note(kind watch.EventType, hr *helmv2.HelmRelease) {
	if kind == watch.Deleted {
		r.add("gone " + hr.Name)
		return
	}
	r.add("asked " + hr.Name + " " + hr.Spec.Chart.Spec.Version)
	if doing := apimeta.FindStatusCondition(hr.Status.Conditions, meta.ReconcilingCondition); doing != nil && strings.HasPrefix(doing.Message, "Running '") {
		r.add("began " + hr.Name + " " + hr.Spec.Chart.Spec.Version)
	}
	if latest := hr.Status.History.Latest(); latest != nil && latest.Status == "deployed" {
		r.add("running " + hr.Name + " " + latest.ChartVersion)
	}
	if hr.DeletionTimestamp != nil {
		r.add("deleting " + hr.Name)
		if len(hr.Status.History) == 0 && !slices.Contains(hr.Finalizers, helmv2.HelmReleaseFinalizer) {
			r.add("uninstalled " + hr.Name)
		}
	}
}

// add leaves out what has been noted before.
func (r *recording) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.lines, line) {
		r.lines = append(r.lines, line)
	}
}

func (r *recording) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// requireSeen waits until the given lines have been recorded, and checks that they came in this order, other lines aside.
func (s *story) requireSeen(r *recording, lines ...string) {
	s.t.Helper()
	s.eventually(strings.Join(lines, ", then "), func(t *assert.CollectT) { assert.Subset(t, r.seen(), lines) })
	seen := slices.DeleteFunc(r.seen(), func(line string) bool { return !slices.Contains(lines, line) })
	assert.Equal(s.t, lines, seen)
}

// requireOrder checks that Helm began to install the second release, at 1.0.0, only after it had installed the first one.
func (s *story) requireOrder(r *recording, first, second string) {
	s.t.Helper()
	s.requireSeen(r, "running "+first+" 1.0.0", "began "+second+" 1.0.0")
}
