package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	// patience is how long a story waits for anything. It is for busy machines: a story that passes takes seconds.
	patience = 4 * time.Minute
	// often is how often it looks.
	often = 100 * time.Millisecond
)

// story is one test's part of a cluster: an Installer of its name, and a namespace of that name for releases. Its add-ons'
// names begin with it.
type story struct {
	*world

	t    *testing.T
	name string
}

// beside begins a story on the shared cluster, beside others.
func beside(t *testing.T, name string) *story {
	t.Helper()
	t.Parallel()
	return tell(t, sharedWorld(t), name)
}

// before begins a story on the shared cluster that has it to itself, since others begin only afterwards.
func before(t *testing.T, name string) *story {
	t.Helper()
	return tell(t, sharedWorld(t), name)
}

func tell(t *testing.T, w *world, name string) *story {
	t.Helper()
	_, taken := w.told.LoadOrStore(name, true)
	require.False(t, taken, "another story has the name %s, and with it the names of its objects", name)
	s := &story{world: w, t: t, name: name}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.state())
		}
		s.end()
	})
	return s
}

// end deletes the story's Installer without waiting, so that what never becomes ready is not tried again beside other stories.
func (s *story) end() {
	installer := &v1alpha1.Installer{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	confirmation := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationConfirmDelete, s.name)
	err := s.api.Patch(context.Background(), installer, client.RawPatch(types.MergePatchType, []byte(confirmation)))
	if err == nil {
		err = s.api.Delete(context.Background(), installer)
	}
	assert.NoError(s.t, client.IgnoreNotFound(err))
}

// kubectl runs the command line that people use, as administrator, and returns what it prints.
func (s *story) kubectl(input string, args ...string) (string, error) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), s.Binary("kubectl"), append([]string{"--kubeconfig", s.Kubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(input)
	var output, failure bytes.Buffer
	command.Stdout, command.Stderr = &output, &failure
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, failure.String())
	}
	return output.String(), nil
}

// install applies an Installer of the story's name as its user would. Spec is YAML.
func (s *story) install(spec string) {
	s.t.Helper()
	require.NoError(s.t, s.tryInstall(spec))
}

func (s *story) tryInstall(spec string) error {
	s.t.Helper()
	var parsed any
	require.NoError(s.t, yaml.Unmarshal([]byte(spec), &parsed))
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Installer", "metadata": map[string]any{"name": s.name}, "spec": parsed,
	})
	require.NoError(s.t, err)
	_, err = s.kubectl(string(manifest), "apply", "--server-side", "--field-manager=user", "-f", "-")
	return err
}

// eventually waits until everything holds that a function asserts.
func (s *story) eventually(what string, holds func(t *assert.CollectT)) {
	s.t.Helper()
	require.EventuallyWithT(s.t, holds, patience, often, "waiting until "+what)
}

// ready waits until add-ons are ready, and returns nothing earlier.
func (s *story) ready(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.eventually(name+" is ready", func(t *assert.CollectT) {
			addon := s.addon(t, name)
			assert.Equal(t, "True", status(addon.Status.Conditions, v1alpha1.ConditionReady), message(addon.Status.Conditions))
			assert.Equal(t, addon.Generation, addon.Status.ObservedGeneration)
		})
	}
}

// installerReady waits until the story's Installer says that it is ready with its present spec.
func (s *story) installerReady() {
	s.t.Helper()
	s.eventually("Installer "+s.name+" is ready", func(t *assert.CollectT) {
		installer := s.installer(t)
		assert.Equal(t, "True", status(installer.Status.Conditions, v1alpha1.ConditionReady), message(installer.Status.Conditions))
		assert.Equal(t, installer.Generation, installer.Status.ObservedGeneration)
	})
}

// says waits until an add-on is in a state, with a message that contains all the parts.
func (s *story) says(name string, state v1alpha1.AddonState, parts ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s is %s and says why", name, state), func(t *assert.CollectT) {
		addon := s.addon(t, name)
		assert.Equal(t, state, addon.Status.State)
		for _, part := range parts {
			assert.Contains(t, message(addon.Status.Conditions), part)
		}
	})
	s.t.Logf("%s: %s", name, message(s.addon(s.t, name).Status.Conditions))
}

// installerSays waits until the Installer's condition is False with a message that contains all the parts.
func (s *story) installerSays(condition string, parts ...string) {
	s.t.Helper()
	said := ""
	s.eventually(fmt.Sprintf("Installer %s says in %s what is wrong", s.name, condition), func(t *assert.CollectT) {
		found := apimeta.FindStatusCondition(s.installer(t).Status.Conditions, condition)
		require.NotNil(t, found)
		assert.Equal(t, metav1.ConditionFalse, found.Status)
		said = found.Message
		for _, part := range parts {
			assert.Contains(t, said, part)
		}
	})
	s.t.Logf("Installer %s, %s: %s", s.name, condition, said)
}

// gone waits until nothing is left of add-ons of one release of the same name.
func (s *story) gone(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.eventually(name+" is gone", func(t *assert.CollectT) {
			for _, object := range []client.Object{&helmv2.HelmRelease{}, &v1alpha1.Addon{}} {
				err := s.api.Get(s.t.Context(), key(object, name), object)
				assert.True(t, apierrors.IsNotFound(err), "%T %s: %v", object, name, err)
			}
		})
	}
}

func (s *story) installer(t require.TestingT) *v1alpha1.Installer {
	installer := &v1alpha1.Installer{}
	s.get(t, s.name, installer)
	return installer
}

func (s *story) addon(t require.TestingT, name string) *v1alpha1.Addon {
	addon := &v1alpha1.Addon{}
	s.get(t, name, addon)
	return addon
}

func (s *story) helmRelease(t require.TestingT, name string) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{}
	s.get(t, name, hr)
	return hr
}

func (s *story) get(t require.TestingT, name string, into client.Object) {
	require.NoError(t, s.api.Get(context.Background(), key(into, name), into))
}

// key finds our kinds by name alone, and Flux's in the operator's namespace.
func key(object client.Object, name string) client.ObjectKey {
	switch object.(type) {
	case *v1alpha1.Installer, *v1alpha1.Addon, *v1alpha1.AddonDefinition:
		return client.ObjectKey{Name: name}
	default:
		return client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}
	}
}

func status(conditions []metav1.Condition, kind string) string {
	if condition := apimeta.FindStatusCondition(conditions, kind); condition != nil {
		return string(condition.Status)
	}
	return ""
}

func message(conditions []metav1.Condition) string {
	return conditionMessage(conditions, v1alpha1.ConditionReady)
}

func conditionMessage(conditions []metav1.Condition, kind string) string {
	if condition := apimeta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}

// state is what somebody who looks at a failed story wants to see first.
func (s *story) state() string {
	var text strings.Builder
	for _, args := range [][]string{
		{"get", "installers,addons", "-o", "wide"},
		{"get", "helmreleases,helmcharts,helmrepositories", "-n", v1alpha1.Namespace},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
	} {
		command := exec.CommandContext(context.Background(), s.Binary("kubectl"), append([]string{"--kubeconfig", s.Kubeconfig()}, args...)...)
		output, err := command.CombinedOutput()
		fmt.Fprintf(&text, "\n$ kubectl %s\n%s", strings.Join(args, " "), s.mine(string(output)))
		if err != nil {
			fmt.Fprintln(&text, err)
		}
	}
	text.WriteString("\nThe operator's log:\n" + s.mine(tail(s.Logs()[cluster.Operator])))
	return text.String()
}

// mine leaves out other stories' lines.
func (s *story) mine(text string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		return !strings.Contains(line, s.name) && !strings.Contains(line, "NAME") && !strings.Contains(line, `"error"`)
	})
	return strings.Join(lines, "")
}

// tail is the end of a file, or why it cannot be read.
func tail(path string) string {
	const longest = 64 << 10
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-longest):])
}
