package controllers

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestValuesThatTheChartRefusesAreAProblem(t *testing.T) {
	s := newStage(t)
	charts := s.charts()
	release := next("2.0.0")
	release.Installer = "default"
	release.Values = &apiextensionsv1.JSON{Raw: []byte(`{"size":"big","mode":"x"}`)}
	_, err := charts.Find(s.ctx, release)
	require.NoError(t, err)
	artifact, _ := s.server(http.StatusOK, packed(s, "values.schema.json", `{"properties": {"size": {"type": "integer"}, "mode": {"enum": ["b", "a"]}}, "required": ["key"]}`))
	s.serves(release, artifact)
	finding, err := charts.Find(s.ctx, release)
	require.NoError(t, err)
	assert.Equal(t, `chart app 2.0.0 does not accept the values of release app: key is missing; mode must be one of "a", "b"; size must be an integer, not a string; `+
		"correct them in Installer default, or in AddonDefinition app where they are defaults", finding.Problem)

	release.ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
	finding, err = charts.Find(s.ctx, release)
	require.NoError(t, err)
	assert.Equal(t, `chart app 2.0.0 does not accept the values of release app: mode must be one of "a", "b"; size must be an integer, not a string; `+
		"correct them in Installer default, or in AddonDefinition app where they are defaults; what valuesFrom refers to has not been looked into", finding.Problem)

	release.Values = &apiextensionsv1.JSON{Raw: []byte(`{"size":1}`)}
	finding, err = charts.Find(s.ctx, release)
	require.NoError(t, err)
	assert.Empty(t, finding)
}

func TestTheConditionOfSupportedValues(t *testing.T) {
	var addon v1alpha1.AddonStatus
	set := func(finding *addons.Finding) {
		setFound(&addon, v1alpha1.ConditionSupportedValues, finding, v1alpha1.ReasonUntested)
	}
	seen := func() (metav1.ConditionStatus, string, string) {
		condition := apimeta.FindStatusCondition(addon.Conditions, v1alpha1.ConditionSupportedValues)
		require.NotNil(t, condition)
		return condition.Status, condition.Reason, condition.Message
	}
	set(nil)
	assert.Empty(t, addon.Conditions)

	set(&addons.Finding{Message: "not tested: a"})
	status, reason, message := seen()
	assert.Equal(t, []string{"False", "Untested", "not tested: a"}, []string{string(status), reason, message})

	set(&addons.Finding{Passed: true, Message: "all are"})
	status, reason, message = seen()
	assert.Equal(t, []string{"True", "Passed", "all are"}, []string{string(status), reason, message})

	set(nil)
	assert.Empty(t, addon.Conditions)
}
