package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// accident is what somebody may do without thinking.
type accident struct {
	command string   // of kubectl; words cannot contain spaces
	says    []string // what the refusal contains: what to do instead, and how to do it all the same
	annotate,
	hatch string // the object and the annotation that let the command pass
}

// accidents are those that can befall the add-ons guard-a and guard-b of Installer guard.
func accidents() map[string]accident {
	const (
		editInstallers = "take guard-a out of spec.addons of its Installer: kubectl edit installer"
		onRelease      = "helmrelease/guard-a -n kurl-addons"
		releaseHatch   = "addons.kurl.sh/allow-delete=guard-a"
		releaseEscape  = "kubectl annotate helmreleases guard-a -n kurl-addons addons.kurl.sh/allow-delete=guard-a"
		patchRelease   = "patch helmrelease guard-a -n kurl-addons --type=merge -p "
		addonEscape    = "kubectl annotate addons guard-a addons.kurl.sh/allow-delete=guard-a"
		confirm        = "addons.kurl.sh/confirm-delete=guard"
	)
	crd := func(name, says string) accident {
		hatch := "addons.kurl.sh/allow-delete=" + name
		return accident{"delete crd " + name, []string{says, "kubectl annotate customresourcedefinitions " + name + " " + hatch}, "crd/" + name, hatch}
	}
	return map[string]accident{
		"a HelmRelease is deleted":         {"delete helmrelease guard-a -n kurl-addons", []string{editInstallers, releaseEscape}, onRelease, releaseHatch},
		"its chart is changed":             {patchRelease + `{"spec":{"chart":{"spec":{"version":"9.9.9"}}}}`, []string{"spec.chart", "in its Installer", releaseEscape}, onRelease, releaseHatch},
		"the labels of its chart are":      {patchRelease + `{"spec":{"chart":{"metadata":{"labels":null}}}}`, []string{"spec.chart", releaseEscape}, onRelease, releaseHatch},
		"its release is renamed":           {patchRelease + `{"spec":{"releaseName":"other"}}`, []string{"spec.releaseName", releaseEscape}, onRelease, releaseHatch},
		"its namespaces are changed":       {patchRelease + `{"spec":{"targetNamespace":"default","storageNamespace":"default"}}`, []string{"spec.targetNamespace, spec.storageNamespace", releaseEscape}, onRelease, releaseHatch},
		"it is sent to another cluster":    {patchRelease + `{"spec":{"kubeConfig":{"secretRef":{"name":"elsewhere"}}}}`, []string{"spec.kubeConfig", releaseEscape}, onRelease, releaseHatch},
		"its finalizer is taken off":       {patchRelease + `{"metadata":{"finalizers":["finalizers.fluxcd.io"]}}`, []string{"kubectl describe addon guard-a", releaseEscape}, onRelease, releaseHatch},
		"its label is taken off":           {"label helmrelease guard-a -n kurl-addons addons.kurl.sh/protected-", []string{"Leave the label", releaseEscape}, onRelease, releaseHatch},
		"an Addon is deleted":              {"delete addon guard-a", []string{"take guard-a out of spec.addons of its Installer: kubectl edit installer guard", addonEscape}, "addon/guard-a", releaseHatch},
		"an Addon is edited":               {`patch addon guard-a --type=merge -p {"spec":{"state":"Absent"}}`, []string{"Change guard-a in its Installer: kubectl edit installer guard", addonEscape}, "addon/guard-a", releaseHatch},
		"an Addon's finalizer goes":        {`patch addon guard-a --type=merge -p {"metadata":{"finalizers":null}}`, []string{"kubectl describe addon guard-a", addonEscape}, "addon/guard-a", releaseHatch},
		"an Addon's label goes":            {"label addon guard-a addons.kurl.sh/protected-", []string{"Leave the label", addonEscape}, "addon/guard-a", releaseHatch},
		"an Installer is deleted":          {"delete installer guard", []string{"it uninstalls guard-a, guard-b", "kubectl edit installer guard", "kubectl annotate installer guard " + confirm}, "installer/guard", confirm},
		"an Installer's finalizer goes":    {`patch installer guard --type=merge -p {"metadata":{"finalizers":null}}`, []string{"kubectl annotate installer guard " + confirm}, "installer/guard", confirm},
		"the operator's namespace goes":    {"delete namespace kurl-addons", []string{"delete its Installers first", "kubectl annotate namespaces kurl-addons addons.kurl.sh/allow-delete=kurl-addons"}, "namespace/kurl-addons", "addons.kurl.sh/allow-delete=kurl-addons"},
		"an add-on's namespace goes":       {"delete namespace guard", []string{"volumes included", "kubectl annotate namespaces guard addons.kurl.sh/allow-delete=guard"}, "namespace/guard", "addons.kurl.sh/allow-delete=guard"},
		"its label goes":                   {"label namespace guard addons.kurl.sh/protected-", []string{"Leave the label"}, "namespace/guard", "addons.kurl.sh/allow-delete=guard"},
		"the CRD of Installers is deleted": crd("installers.addons.kurl.sh", "first delete the Installers and wait"),
		"the CRD of Addons is deleted":     crd("addons.addons.kurl.sh", "first delete the Installers and wait"),
		"Flux's CRD of releases is":        crd("helmreleases.helm.toolkit.fluxcd.io", "Flux uninstalls what they stand for"),
		"Flux's CRD of repositories is":    crd("helmrepositories.source.toolkit.fluxcd.io", "no add-on can be upgraded"),
		"Flux's CRD of charts is":          crd("helmcharts.source.toolkit.fluxcd.io", "no add-on can be upgraded"),
	}
}

func (a accident) words(more ...string) []string { return append(strings.Fields(a.command), more...) }

// Whoever does one of these on purpose can: see docs/removal.md. Nothing else runs meanwhile, since some of it is dangerous for all.
func TestAccidentsAreDenied(t *testing.T) {
	s := before(t, "guard")
	s.define("guard-a", "tiny")
	s.define("guard-b", "tiny", requires("guard-a"))
	s.install(`{addons: [{name: guard-a}, {name: guard-b}]}`)
	s.installerReady()
	s.eventually("the HelmReleases are held by our finalizer", func(t *assert.CollectT) {
		for _, name := range []string{"guard-a", "guard-b"} {
			assert.Contains(t, s.helmRelease(t, name).Finalizers, v1alpha1.FinalizerUninstall)
		}
	})
	for name, a := range accidents() {
		s.eventually("it is denied that "+name, func(t *assert.CollectT) {
			_, err := s.kubectl("", a.words("--dry-run=server")...)
			assert.ErrorContains(t, err, "denied request")
		})
	}
	before := s.things()

	for name, a := range accidents() {
		t.Run(name, func(t *testing.T) {
			_, err := s.kubectl("", a.words()...)
			require.ErrorContains(t, err, "Forbidden")
			for _, part := range a.says {
				assert.Contains(t, err.Error(), part)
			}
			s.lifted(a, func() {
				_, err := s.kubectl("", a.words("--dry-run=server")...)
				assert.NoError(t, err)
			})
		})
	}
	for name, command := range map[string]string{
		"all HelmReleases": "delete helmreleases --all -n kurl-addons",
		"all repositories": "delete helmrepositories --all -n kurl-addons",
		"all Addons":       "delete addons --all",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.kubectl("", strings.Fields(command)...)
			require.ErrorContains(t, err, "is protected")
		})
	}
	for name, object := range map[string]client.Object{"HelmReleases in one request": &helmv2.HelmRelease{}, "Addons in one request": &v1alpha1.Addon{}} {
		t.Run(name, func(t *testing.T) {
			err := s.api.DeleteAllOf(t.Context(), object, client.InNamespace(key(object, "").Namespace))
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
		})
	}
	assert.Equal(t, before, s.things(), "nothing has changed")
	assert.Len(t, s.helmStorage("guard-a"), 1)
	assert.Len(t, s.helmStorage("guard-b"), 1)
	s.installerReady()
}

// lifted lifts the protection from what an accident would befall, for as long as a function takes.
func (s *story) lifted(a accident, during func()) {
	s.t.Helper()
	annotate := append([]string{"annotate"}, strings.Fields(a.annotate)...)
	_, err := s.kubectl("", append(annotate, a.hatch)...)
	require.NoError(s.t, err)
	during()
	key, _, _ := strings.Cut(a.hatch, "=")
	_, err = s.kubectl("", append(annotate, key+"-")...)
	require.NoError(s.t, err)
}

// things are what accidents can befall, each with what would tell that something happened to it.
func (s *story) things() map[string]string {
	s.t.Helper()
	things := map[string]string{}
	note := func(object client.Object, name string) {
		s.get(s.t, name, object)
		things[fmt.Sprintf("%T %s", object, name)] = fmt.Sprintf("%s, generation %d, deleted %v, finalizers %v", object.GetUID(), object.GetGeneration(), object.GetDeletionTimestamp(), object.GetFinalizers())
	}
	for _, name := range []string{"guard-a", "guard-b"} {
		note(&helmv2.HelmRelease{}, name)
		note(&v1alpha1.Addon{}, name)
	}
	note(&v1alpha1.Installer{}, "guard")
	for _, name := range []string{v1alpha1.Namespace, "guard"} {
		note(&corev1.Namespace{}, name)
	}
	for _, name := range []string{"installers.addons.kurl.sh", "addons.addons.kurl.sh", "addondefinitions.addons.kurl.sh", "helmreleases.helm.toolkit.fluxcd.io"} {
		note(&apiextensionsv1.CustomResourceDefinition{}, name)
	}
	return things
}

// liftedEvent waits until an event tells that somebody lifted the protection of an object.
func (s *story) liftedEvent(kind, name string) {
	s.t.Helper()
	s.eventually("an event tells who lifted the protection", func(t *assert.CollectT) {
		var list corev1.EventList
		require.NoError(t, s.api.List(context.Background(), &list))
		var notes []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == v1alpha1.ReasonProtectionLifted && e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
				notes = append(notes, e.Message)
			}
		}
		require.Len(t, notes, 1)
		assert.Contains(t, notes[0], `"kubectl-annotate"`)
	})
}
