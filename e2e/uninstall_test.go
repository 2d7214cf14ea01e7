package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

func TestUninstallingTheOperatorInTheWrongOrderLosesNothing(t *testing.T) {
	t.Parallel()
	s := tell(t, ownWorld(t), "leaving")
	s.define("leaving-a", "tiny")
	s.define("leaving-b", "tiny", requires("leaving-a"))
	s.install(`{addons: [{name: leaving-a}, {name: leaving-b}]}`)
	s.installerReady()
	before := s.releases("leaving-a", "leaving-b")
	root, err := cluster.Checkout()
	require.NoError(t, err)
	bundle := filepath.Join(root, "deploy", "bundle.yaml")

	for _, attempt := range []string{"a mistake", "the same again, since it failed"} {
		_, err := s.kubectl("", "delete", "--ignore-not-found", "-f", bundle)
		require.ErrorContains(t, err, `namespaces "kurl-addons" is forbidden`, attempt)
		for _, crd := range []string{"installers", "addons", "addondefinitions"} {
			require.ErrorContains(t, err, `customresourcedefinitions.apiextensions.k8s.io "`+crd+`.addons.kurl.sh" is forbidden`, attempt)
		}
		_, err = s.kubectl("", "delete", "helmrelease", "leaving-a", "-n", v1alpha1.Namespace)
		require.ErrorContains(t, err, "is protected", attempt)
	}
	_, err = s.kubectl("", "get", "serviceaccount", v1alpha1.FieldManager, "-n", v1alpha1.Namespace)
	require.ErrorContains(t, err, "not found", "the operator itself has gone")
	require.NoError(t, s.Kill(t.Context(), cluster.Operator))
	assert.Equal(t, before, s.releases("leaving-a", "leaving-b"))

	s.operatorComesBack()
	s.eventually("the operator has looked at everything", func(t *assert.CollectT) {
		_, err := s.kubectl("", "annotate", "--overwrite", "addon", "leaving-a", "leaving-b", "reconcile.fluxcd.io/requestedAt=now")
		require.NoError(t, err)
		for _, name := range []string{"leaving-a", "leaving-b"} {
			assert.Equal(t, "now", s.addon(t, name).Status.LastHandledReconcileAt)
		}
	})
	s.installerReady()
	assert.Equal(t, before, s.releases("leaving-a", "leaving-b"))

	s.followTheManual("Uninstalling the operator")
	s.nothingIsLeft()
}

func TestWhoDeletesTheOperatorsNamespaceOnPurposeKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	s := tell(t, ownWorld(t), "emptied")
	s.define("emptied-a", "tiny")
	s.install(`{addons: [{name: emptied-a}]}`)
	s.installerReady()
	before, release := s.rendered(t, "emptied-a"), s.helmRelease(t, "emptied-a")

	for _, command := range []string{"annotate namespace kurl-addons addons.kurl.sh/allow-delete=kurl-addons", "delete namespace kurl-addons --wait=false"} {
		_, err := s.kubectl("", strings.Fields(command)...)
		require.NoError(t, err)
	}
	s.eventually("everything unprotected in it has gone", func(t *assert.CollectT) {
		for _, object := range []client.Object{&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FieldManager}}, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FieldManager}}} {
			assert.True(t, apierrors.IsNotFound(s.api.Get(context.Background(), key(object, object.GetName()), object)), "%T", object)
		}
	})
	require.NoError(t, s.Kill(t.Context(), cluster.Operator))
	after := s.helmRelease(t, "emptied-a")
	assert.Equal(t, release.UID, after.UID)
	assert.Nil(t, after.DeletionTimestamp)
	assert.Equal(t, before.ResourceVersion, s.rendered(t, "emptied-a").ResourceVersion)

	s.followTheManual("A namespace that hangs")
	assert.Equal(t, before.ResourceVersion, s.rendered(t, "emptied-a").ResourceVersion, "Flux has not touched it")
	s.operatorComesBack()
	s.install(`{addons: [{name: emptied-a, adopt: true}]}`)
	s.installerReady()
	assert.Equal(t, before.UID, s.rendered(t, "emptied-a").UID, "it was taken over, not made anew")
}

// releases tells of each release what would change if Flux did something about it.
func (s *story) releases(names ...string) map[string][]string {
	s.t.Helper()
	found := map[string][]string{}
	for _, name := range names {
		hr := s.helmRelease(s.t, name)
		require.Nil(s.t, hr.DeletionTimestamp)
		found[name] = []string{string(hr.UID), hr.Status.History.Latest().Digest, s.rendered(s.t, name).ResourceVersion}
		for _, secret := range s.helmStorage(name) {
			found[name] = append(found[name], secret.Name)
		}
	}
	return found
}

// operatorComesBack applies the bundle again and starts the operator as its new ServiceAccount.
func (s *story) operatorComesBack() {
	s.t.Helper()
	require.NoError(s.t, s.InstallBundle(s.t.Context()))
	_, err := s.ServiceAccountKubeconfig(s.t.Context(), v1alpha1.Namespace, v1alpha1.FieldManager)
	require.NoError(s.t, err)
	require.NoError(s.t, s.Restart(s.t.Context(), cluster.Operator))
}

// followTheManual runs the commands of a section of docs/removal.md, for the story's Installer.
func (s *story) followTheManual(section string) {
	s.t.Helper()
	root, err := cluster.Checkout()
	require.NoError(s.t, err)
	manual, err := os.ReadFile(filepath.Join(root, "docs", "removal.md"))
	require.NoError(s.t, err)
	_, text, found := strings.Cut(string(manual), "# "+section+"\n")
	require.True(s.t, found, "docs/removal.md has no section %q", section)
	_, text, _ = strings.Cut(text, "\n```sh\n")
	commands, _, found := strings.Cut(text, "\n```\n")
	require.True(s.t, found, "the section %q has no commands", section)
	commands = strings.NewReplacer("=default", "="+s.name, "installer default", "installer "+s.name).Replace(commands)

	shell := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = root
	shell.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "PATH="+filepath.Dir(s.Binary("kubectl"))+":"+os.Getenv("PATH"))
	var output bytes.Buffer
	shell.Stdout, shell.Stderr = &output, &output
	require.NoError(s.t, shell.Run(), "%s\n%s", commands, &output)
	s.t.Logf("%s", &output)
}

// nothingIsLeft checks that neither the operator nor any add-on has left a trace.
func (s *story) nothingIsLeft() {
	s.t.Helper()
	s.eventually("nothing is left", func(t *assert.CollectT) {
		var left []string
		var releases helmv2.HelmReleaseList
		require.NoError(t, s.api.List(s.t.Context(), &releases))
		for i := range releases.Items {
			left = append(left, "HelmRelease "+releases.Items[i].Name)
		}
		var namespaces corev1.NamespaceList
		require.NoError(t, s.api.List(s.t.Context(), &namespaces))
		for i := range namespaces.Items {
			if name := namespaces.Items[i].Name; name == v1alpha1.Namespace || name == s.name {
				left = append(left, "Namespace "+name)
			}
		}
		var crds apiextensionsv1.CustomResourceDefinitionList
		require.NoError(t, s.api.List(s.t.Context(), &crds))
		for i := range crds.Items {
			if crds.Items[i].Spec.Group == v1alpha1.GroupVersion.Group {
				left = append(left, "CRD "+crds.Items[i].Name)
			}
		}
		assert.Empty(t, left)
		output, err := s.kubectl("", "get", "-A", "-o", "name",
			"clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,validatingadmissionpolicies,validatingadmissionpolicybindings")
		require.NoError(t, err)
		assert.NotContains(t, output, "addon-operator")
	})
}
