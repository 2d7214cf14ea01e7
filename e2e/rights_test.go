package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestTheOperatorHasTheRightsThatItNeedsAndNoOthers(t *testing.T) {
	s := beside(t, "rights")
	s.eventually("Kubernetes has filled in the aggregated role", func(t *assert.CollectT) {
		assert.True(t, s.may(t, "list", "", "persistentvolumes"))
	})
	for name, c := range map[string]struct {
		verb, namespace string
		resource        string // with its group, as in pods or deployments.apps
		want            bool
	}{
		"find Helm's storage":                   {"list", "", "secrets", true},
		"delete a namespace that it made":       {"delete", "", "namespaces", true},
		"keep a CRD":                            {"patch", "", "customresourcedefinitions.apiextensions.k8s.io", true},
		"look into a chart":                     {"create", v1alpha1.Namespace, "helmcharts.source.toolkit.fluxcd.io", true},
		"drop such a chart":                     {"delete", v1alpha1.Namespace, "helmcharts.source.toolkit.fluxcd.io", true},
		"not read a Secret":                     {"get", v1alpha1.Namespace, "secrets", false},
		"not watch Secrets":                     {"watch", "", "secrets", false},
		"not change Secrets":                    {"update", v1alpha1.Namespace, "secrets", false},
		"not touch others' charts":              {"delete", "default", "helmcharts.source.toolkit.fluxcd.io", false},
		"not touch others' HelmReleases":        {"delete", "default", "helmreleases.helm.toolkit.fluxcd.io", false},
		"not delete what charts make":           {"delete", "", "deployments.apps", false},
		"not delete volumes":                    {"delete", "", "persistentvolumeclaims", false},
		"not delete CRDs":                       {"delete", "", "customresourcedefinitions.apiextensions.k8s.io", false},
		"not delete Installers":                 {"delete", "", "installers.addons.kurl.sh", false},
		"not give itself rights":                {"create", "", "clusterrolebindings.rbac.authorization.k8s.io", false},
		"not lift the protection from anything": {"patch", "", "validatingadmissionpolicies.admissionregistration.k8s.io", false},
		"not do everything":                     {"*", "", "*", false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, s.may(t, c.verb, c.namespace, c.resource)) })
	}
}

func TestGatesMaySeeEveryKindOfKubernetesAndFluxAndWhatAVendorAllows(t *testing.T) {
	s := beside(t, "sight")
	server, err := discovery.NewDiscoveryClientForConfig(s.RESTConfig())
	require.NoError(t, err)
	lists, err := server.ServerPreferredResources()
	require.NoError(t, err)
	s.eventually("the operator may list all of them", func(t *assert.CollectT) {
		for _, list := range lists {
			group, err := schema.ParseGroupVersion(list.GroupVersion)
			require.NoError(t, err)
			known := !strings.Contains(group.Group, ".") || strings.HasSuffix(group.Group, ".k8s.io") || strings.HasSuffix(group.Group, ".toolkit.fluxcd.io")
			for i := range list.APIResources {
				resource := &list.APIResources[i]
				if known && slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") && resource.Name != "events" {
					name := schema.GroupResource{Group: group.Group, Resource: resource.Name}.String()
					assert.True(t, s.may(t, "list", "", name), name)
				}
			}
		}
	})

	const widgets = "widgets.things.example.com"
	assert.False(t, s.may(t, "list", "", widgets))
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "rights-of-a-vendor", Labels: map[string]string{"addons.kurl.sh/aggregate-to-facts": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"things.example.com"}, Resources: []string{"widgets"}, Verbs: []string{"get", "list"}}},
	}
	require.NoError(t, s.api.Create(t.Context(), role))
	s.eventually("a vendor's gates may look at the vendor's kinds", func(t *assert.CollectT) { assert.True(t, s.may(t, "list", "", widgets)) })
}

// may asks whether the operator has a right. A namespace of "" means all of them.
func (s *story) may(t require.TestingT, verb, namespace, resource string) bool {
	parsed := schema.ParseGroupResource(resource)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + v1alpha1.Namespace + ":" + v1alpha1.FieldManager,
		Groups:             []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Namespace: namespace, Group: parsed.Group, Resource: parsed.Resource},
	}}
	require.NoError(t, s.api.Create(context.Background(), review))
	return review.Status.Allowed
}
