package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAChangedValueIsOneNewRevision(t *testing.T) {
	s := beside(t, "revise")
	s.define("revise-changed", "tiny")
	s.define("revise-untouched", "tiny", requires("revise-changed"))
	s.install(`{addons: [{name: revise-changed}, {name: revise-untouched}]}`)
	s.installerReady()

	s.install(`{addons: [{name: revise-changed, values: {message: bye}}, {name: revise-untouched}]}`)
	s.installerReady()

	assert.Equal(t, "bye", s.rendered(t, "revise-changed").Data["message"])
	assert.Equal(t, 2, s.helmRelease(t, "revise-changed").Status.History.Latest().Version)
	assert.Equal(t, 1, s.helmRelease(t, "revise-untouched").Status.History.Latest().Version)
	assert.Len(t, s.helmStorage("revise-changed"), 2)
	assert.Len(t, s.helmStorage("revise-untouched"), 1)
}

func TestANullDeletesADefault(t *testing.T) {
	s := beside(t, "null")
	s.define("null-user", "webapp", defaults(`{config: {cache: {size: 128}}}`))
	s.define("null-vendor", "webapp", defaults(`{config: {cache: null}}`))
	s.install(`{addons: [{name: null-vendor}, {name: null-user, values: {config: {cache: null}}}]}`)
	s.installerReady()

	for _, name := range []string{"null-user", "null-vendor"} {
		assert.JSONEq(t, `{"logLevel":"info","listen":":8080"}`, s.rendered(t, name).Data["config.json"], name)
	}
}

func TestAFieldRemovedFromTheInstallerDisappears(t *testing.T) {
	s := beside(t, "unset")
	s.define("unset-a", "tiny")
	s.install(`{addons: [{name: unset-a, values: {message: bye, deployment: {enabled: true, replicas: 2}}}]}`)
	s.installerReady()

	s.install(`{addons: [{name: unset-a, values: {deployment: {enabled: true}}}]}`)
	s.installerReady()
	assert.JSONEq(t, `{"deployment":{"enabled":true}}`, string(s.helmRelease(t, "unset-a").Spec.Values.Raw))
	assert.Equal(t, "hello", s.rendered(t, "unset-a").Data["message"])

	s.install(`{addons: [{name: unset-a}]}`)
	s.installerReady()
	assert.Nil(t, s.helmRelease(t, "unset-a").Spec.Values)
}

func TestASecretOverridesDefaultsAndInlineValuesOverrideBoth(t *testing.T) {
	s := beside(t, "layers")
	s.define("layers-a", "webapp", defaults(`{config: {default: "yes", secret: "no", inline: "no"}}`))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "layers", Labels: map[string]string{"reconcile.fluxcd.io/watch": "Enabled"}},
		StringData: map[string]string{"mine": `{config: {secret: "yes", inline: "no"}}`},
	}
	require.NoError(t, s.api.Create(t.Context(), secret))
	s.install(`
addons:
- name: layers-a
  valuesFrom: [{kind: Secret, name: layers, key: mine}]
  values: {config: {inline: "yes", logLevel: null, listen: null, cache: null}}`)
	s.installerReady()
	assert.JSONEq(t, `{"default":"yes","secret":"yes","inline":"yes"}`, s.rendered(t, "layers-a").Data["config.json"])

	secret.StringData = map[string]string{"mine": `{config: {secret: changed}}`}
	require.NoError(t, s.api.Update(t.Context(), secret))
	s.eventually("the Secret's new content arrives", func(t *assert.CollectT) {
		assert.JSONEq(t, `{"default":"yes","secret":"changed","inline":"yes"}`, s.rendered(t, "layers-a").Data["config.json"])
	})
	s.installerReady()
}

// Maps merge, lists replace each other whole, and of two references the later one wins.
func TestTheLastLayerWinsAndListsAreReplaced(t *testing.T) {
	s := beside(t, "stack")
	s.define("stack-a", "webapp", defaults(`{config: {list: [default, more], map: {default: "yes"}, both: default}}`))
	for name, text := range map[string]string{
		"stack-first":  `{config: {map: {first: "yes"}, both: first, only: first, inline: first}}`,
		"stack-second": `{config: {map: {second: "yes"}, both: second, list: [second, more, most]}}`,
	} {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}, Data: map[string]string{"values.yaml": text}}
		require.NoError(t, s.api.Create(t.Context(), config))
	}
	s.install(`
addons:
- name: stack-a
  valuesFrom: [{kind: ConfigMap, name: stack-first}, {kind: ConfigMap, name: stack-second}]
  values: {config: {list: [inline], inline: "yes", logLevel: null, listen: null, cache: null}}`)
	s.installerReady()
	assert.JSONEq(t, `{"list": ["inline"], "map": {"default": "yes", "first": "yes", "second": "yes"}, "both": "second", "only": "first", "inline": "yes"}`,
		s.rendered(t, "stack-a").Data["config.json"])
}

// rendered is the ConfigMap that the charts tiny and webapp make.
func (s *story) rendered(t require.TestingT, release string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{}
	require.NoError(t, s.api.Get(s.t.Context(), client.ObjectKey{Namespace: s.name, Name: release}, config))
	return config
}

// helmStorage lists the revisions of a release that Helm keeps.
func (s *story) helmStorage(release string) []corev1.Secret { return s.helmStorageIn(s.name, release) }

func (s *story) helmStorageIn(namespace, release string) []corev1.Secret {
	var list corev1.SecretList
	require.NoError(s.t, s.api.List(s.t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm", "name": release}))
	return list.Items
}

// defaultsLeft lists the ConfigMaps with default values of add-ons.
func (s *story) defaultsLeft(names ...string) []string {
	var left []string
	for _, name := range names {
		var list corev1.ConfigMapList
		require.NoError(s.t, s.api.List(s.t.Context(), &list, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelAddon: name}))
		for i := range list.Items {
			left = append(left, list.Items[i].Name)
		}
	}
	return left
}
