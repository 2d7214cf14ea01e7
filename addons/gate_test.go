package addons

import (
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func anyCheck(name string) v1alpha1.Check {
	return v1alpha1.Check{
		Name: name, Resources: map[string]v1alpha1.ResourceQuery{"pods": {APIVersion: "v1", Kind: "Pod"}}, Expression: "pods.size() == 0",
	}
}

func gate(when v1alpha1.Moment, name string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Gates = append(def.Spec.Gates, v1alpha1.Gate{Check: anyCheck(name), When: when})
	}
}

func healthy(name string) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Health = append(def.Spec.Health, anyCheck(name)) }
}
