package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// trespass does by accident what the API server has to deny.
func (d *driver) trespass(ctx context.Context) (bool, error) {
	m, found := pick(d, d.members(d.wants))
	if !found || !d.will.installer {
		return false, nil
	}
	release, _ := pick(d, m.releases())
	remove := func(object client.Object) func() error {
		return func() error { return d.api.Delete(ctx, object) }
	}
	merge := func(patch string) func() error {
		return func() error { return d.merge(ctx, releaseNamed(release), patch) }
	}
	attempts := []struct {
		what   string
		object client.Object // that has to be there, without leave to delete it
		try    func() error
	}{
		{"delete HelmRelease " + release, releaseNamed(release), remove(releaseNamed(release))},
		{"delete Addon " + m.name, addonNamed(m.name), remove(addonNamed(m.name))},
		{"delete the Installer", installerObject(), remove(installerObject())},
		{"delete namespace " + m.namespace(), namespaceNamed(m.namespace()), remove(namespaceNamed(m.namespace()))},
		{"delete namespace " + v1alpha1.Namespace, namespaceNamed(v1alpha1.Namespace), remove(namespaceNamed(v1alpha1.Namespace))},
		{"give HelmRelease " + release + " another chart", releaseNamed(release), merge(`{"spec":{"chart":{"spec":{"chart":"webapp"}}}}`)},
		{"take the finalizers of HelmRelease " + release, releaseNamed(release), merge(`{"metadata":{"finalizers":null}}`)},
	}
	attempt, _ := pick(d, attempts)
	if missing, err := d.missing(ctx, attempt.object); missing || err != nil || allowed(attempt.object) {
		return false, err
	}
	switch err := attempt.try(); {
	case err == nil:
		d.tally.violated(violation{"protection", fmt.Sprintf("the API server let somebody %s", attempt.what)})
		d.journal.write("VIOLATION: %s was not denied", attempt.what)
		return true, nil
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		d.tally.count(talliedVerdicts, "accidents denied")
		return true, nil
	default:
		return false, client.IgnoreNotFound(err)
	}
}

// allowed says whether deleting an object is allowed or has begun.
func allowed(object client.Object) bool {
	annotations := object.GetAnnotations()
	return object.GetDeletionTimestamp() != nil || annotations[v1alpha1.AnnotationAllowDelete] != "" || annotations[v1alpha1.AnnotationConfirmDelete] != ""
}

func addonNamed(name string) *v1alpha1.Addon {
	return &v1alpha1.Addon{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
