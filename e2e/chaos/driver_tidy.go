package main

import (
	"context"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// tidy does what receipts of uninstalls that did not take place ask people to do: it deletes what is left, unless the release is there
// again. Flux skips an uninstall, for one, where helm-controller was killed in the middle of the first install.
func (d *driver) tidy(ctx context.Context) error {
	for _, path := range d.diary.leftovers() {
		object, release := d.leftover(ctx, path)
		if object == nil {
			continue
		}
		gone, err := d.missing(ctx, &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: release}})
		if err != nil {
			return err
		}
		if !gone {
			continue
		}
		d.journal.write("people: delete what a receipt says is left: %s", path)
		if err := d.api.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// leftover finds what a path of a receipt names, and the release that it is of; nothing if it is there no more, or of no kind that our
// charts or Helm make.
func (d *driver) leftover(ctx context.Context, path string) (object client.Object, release string) {
	resource, rest, _ := strings.Cut(path, "/")
	namespace, name, _ := strings.Cut(rest, "/")
	label := "helm.toolkit.fluxcd.io/name"
	switch resource {
	case "secrets":
		object, label = &corev1.Secret{}, "name"
	case "configmaps":
		object = &corev1.ConfigMap{}
	default:
		return nil, ""
	}
	if err := d.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, ""
	}
	return object, object.GetLabels()[label]
}
