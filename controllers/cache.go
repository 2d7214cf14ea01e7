package controllers

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// CacheOptions limits what the manager's cache holds to what the controllers read.
func CacheOptions() cache.Options {
	ours := cache.ByObject{Namespaces: map[string]cache.Config{v1alpha1.Namespace: {}}}
	releases := ours
	releases.Transform = trimRelease
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

// trimRelease drops the managed fields of HelmReleases, which make up most of them, but for what flux.Observe reads there.
func trimRelease(object any) (any, error) {
	if hr, ok := object.(*helmv2.HelmRelease); ok {
		flux.TrimOwnership(hr)
	}
	return object, nil
}
