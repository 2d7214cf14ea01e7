package controllers

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// CacheOptions limits what the manager's cache holds to what the controllers read.
func CacheOptions() cache.Options {
	ours := cache.ByObject{Namespaces: map[string]cache.Config{v1alpha1.Namespace: {}}}
	releases := ours
	releases.Transform = keepSuspender
	defaults := ours
	defaults.Label = labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.FieldManager})
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&helmv2.HelmRelease{}:      releases,
			&sourcev1.HelmRepository{}: ours,
			&sourcev1.HelmChart{}:      ours,
			&corev1.ConfigMap{}:        defaults,
		},
	}
}

// keepSuspender drops managed fields, which make up most of an object, unless they tell who suspended a HelmRelease.
func keepSuspender(object any) (any, error) {
	if hr, ok := object.(*helmv2.HelmRelease); ok && !hr.Spec.Suspend {
		hr.ManagedFields = nil
	}
	return object, nil
}
