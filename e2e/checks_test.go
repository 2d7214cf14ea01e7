package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// check looks at the objects of one query, as `things`.
func check(name, expression, message string, query v1alpha1.ResourceQuery) v1alpha1.Check {
	return v1alpha1.Check{Name: name, Expression: expression, Message: message, Resources: map[string]v1alpha1.ResourceQuery{"things": query}}
}

func gated(when v1alpha1.Moment, check v1alpha1.Check) trait {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Gates = append(def.Spec.Gates, v1alpha1.Gate{Check: check, When: when})
	}
}

func healthy(check v1alpha1.Check) trait {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Health = append(def.Spec.Health, check) }
}

// inNamespace puts the releases so far into a namespace of their own.
func inNamespace(name string) trait {
	return release(func(r *v1alpha1.ReleaseDefinition) { r.Namespace = name })
}

// switchboard is a check that passes while the ConfigMap of a name says so.
func switchboard(name string) v1alpha1.Check {
	return check("switched-on", `things.exists(c, c.data.state == "on")`,
		fmt.Sprintf(`"switch it on with: kubectl create configmap %s -n default --from-literal=state=on"`, name),
		v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "ConfigMap", Namespace: metav1.NamespaceDefault, Name: name})
}

func (s *story) turn(name, state string) {
	s.t.Helper()
	_, err := s.kubectl(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: default}, data: {state: %q}}", name, state), "apply", "-f", "-")
	require.NoError(s.t, err)
}

// lookAgain makes the operator look at Addons now, and returns once it has.
func (s *story) lookAgain(names ...string) {
	s.t.Helper()
	token := s.ask(s.t, "addon", names...)
	s.eventually("the operator has looked at everything", func(t *assert.CollectT) {
		for _, name := range names {
			assert.Equal(t, token, s.addon(t, name).Status.LastHandledReconcileAt)
		}
	})
}

// ask asks for a look at objects, and returns the token that their status shows afterwards.
func (s *story) ask(t require.TestingT, kind string, names ...string) string {
	token := time.Now().Format(time.RFC3339Nano)
	_, err := s.kubectl("", slices.Concat([]string{"annotate", "--overwrite", kind}, names, []string{"reconcile.fluxcd.io/requestedAt=" + token})...)
	require.NoError(t, err)
	return token
}

// advised runs the command of kubectl or helm that a message ends with, or that stands before a semicolon in it.
func (s *story) advised(program, message string) {
	s.t.Helper()
	command := regexp.MustCompile(program + ` [^;]+`).FindString(message)
	require.NotEmpty(s.t, command, "the message names no command of %s: %s", program, message)
	s.t.Log("as advised: " + command)
	var err error
	if words := strings.Fields(command)[1:]; program == "kubectl" {
		_, err = s.kubectl("", words...)
	} else {
		err = s.helm(words...)
	}
	require.NoError(s.t, err)
}

// approve runs the command that the Installer asks for.
func (s *story) approve() {
	s.t.Helper()
	s.installerSays(v1alpha1.ConditionApproved, "kubectl annotate")
	s.advised("kubectl", conditionMessage(s.installer(s.t).Status.Conditions, v1alpha1.ConditionApproved))
}

// confirmAndDelete deletes the Installer as the manual says, and returns once it has gone.
func (s *story) confirmAndDelete() {
	s.t.Helper()
	_, err := s.kubectl("", "annotate", "installer", s.name, v1alpha1.AnnotationConfirmDelete+"="+s.name)
	require.NoError(s.t, err)
	_, err = s.kubectl("", "delete", "installer", s.name, "--timeout=3m")
	require.NoError(s.t, err)
}

// receipt waits for the newest receipt of an add-on.
func (s *story) receipt(addon string) v1alpha1.Receipt {
	s.t.Helper()
	var found v1alpha1.Receipt
	s.eventually(addon+" has a receipt", func(t *assert.CollectT) {
		receipts := s.installer(t).Status.Removed
		at := slices.IndexFunc(receipts, func(r v1alpha1.Receipt) bool { return r.Name == addon })
		require.GreaterOrEqual(t, at, 0)
		found = receipts[at]
	})
	s.t.Logf("receipt of %s: %s, left behind %v: %s", addon, found.Result, found.LeftBehind, found.Message)
	return found
}

// event waits for an event on one of our objects, with a reason and a text that contains all the parts.
func (s *story) event(kind, name, reason string, parts ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("an event tells that %s %s is %s", kind, name, reason), func(t *assert.CollectT) {
		var events corev1.EventList
		require.NoError(t, s.api.List(context.Background(), &events))
		assert.True(t, slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			missing := func(part string) bool { return !strings.Contains(e.Message, part) }
			return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason && !slices.ContainsFunc(parts, missing)
		}))
	})
}

// identity is what stays the same while nothing happens to a release: the HelmRelease, its spec, and Helm's revisions.
func (s *story) identity(releases ...string) map[string][]string {
	s.t.Helper()
	found := map[string][]string{}
	for _, name := range releases {
		hr := s.helmRelease(s.t, name)
		require.Nil(s.t, hr.DeletionTimestamp, name)
		found[name] = []string{string(hr.UID), fmt.Sprint(hr.Generation)}
		for _, secret := range s.helmStorageIn(hr.GetReleaseNamespace(), name) {
			found[name] = append(found[name], secret.Name, string(secret.UID))
		}
	}
	return found
}

// deletions are the requests since some time to delete the story's HelmReleases.
func (s *story) deletions(since time.Time) []cluster.Request {
	s.t.Helper()
	requests, err := s.Requests(since, time.Now())
	require.NoError(s.t, err)
	return slices.DeleteFunc(requests, func(r cluster.Request) bool {
		deletes := strings.HasPrefix(r.Verb, "delete") && r.Resource == "helmreleases."+helmv2.GroupVersion.Group && r.Namespace == v1alpha1.Namespace
		return !deletes || r.Code >= 300 || !strings.HasPrefix(r.Name, s.name) && r.Name != ""
	})
}

// helm runs the command line of Helm as administrator.
func (s *story) helm(args ...string) error {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), s.Binary("helm"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig())
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return nil
}
