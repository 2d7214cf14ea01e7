package controllers

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// setSupportedValues writes the condition that says whether an Addon is given only values that are tested; none without a finding. It is
// news for people, and no part of whether the Addon is ready.
func setSupportedValues(conditions *[]metav1.Condition, finding *addons.Finding, generation int64) {
	if finding == nil {
		apimeta.RemoveStatusCondition(conditions, v1alpha1.ConditionSupportedValues)
		return
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionSupportedValues, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPassed, Message: oneLine(finding.Message), ObservedGeneration: generation,
	}
	if !finding.Passed {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonUntested
	}
	apimeta.SetStatusCondition(conditions, condition)
}
