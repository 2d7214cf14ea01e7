package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// volumes is how many PersistentVolumes the gates have to look through.
const volumes = 500

// gates measures a minute in which every add-on is to be removed, and none is let go by its gate.
func gates(t task) func(context.Context, *testbed) (outcome, error) {
	return func(ctx context.Context, b *testbed) (outcome, error) {
		var result, creation outcome
		for i := range volumes {
			if err := b.api.Create(ctx, volume(i)); err != nil {
				return result, fmt.Errorf("create a volume: %w", err)
			}
		}
		p, err := b.startOperator(ctx, t)
		if err != nil {
			return result, err
		}
		if err := b.create(ctx, p, t, &creation); err != nil {
			return result, err
		}
		if err := b.removeAll(ctx, t); err != nil {
			return result, err
		}
		return result, b.idle(ctx, p, &result)
	}
}

func volume(i int) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%03d", i)},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "bench.example.com", VolumeHandle: fmt.Sprintf("volume-%03d", i)},
			},
		},
	}
}

// volumesLeft is closed while there is a volume.
func volumesLeft() v1alpha1.Gate {
	return v1alpha1.Gate{When: v1alpha1.MomentRemove, Check: v1alpha1.Check{
		Name:       "no-volumes-left",
		Resources:  map[string]v1alpha1.ResourceQuery{"volumes": {APIVersion: "v1", Kind: "PersistentVolume"}},
		Expression: `!volumes.exists(v, has(v.spec.csi) && v.spec.csi.driver == "bench.example.com")`,
		Message:    `string(volumes.size()) + " volumes are left"`,
	}}
}

// removeAll empties the list, approves the plan, and waits until every add-on is held.
func (b *testbed) removeAll(ctx context.Context, t task) error {
	installers, err := follow[*v1alpha1.Installer](ctx, b, &v1alpha1.InstallerList{})
	if err != nil {
		return err
	}
	defer installers.watch.Stop()
	empty := t.installer()
	empty.Spec = v1alpha1.InstallerSpec{DeletionPolicy: v1alpha1.DeletionRemove} // applied with nothing in it, spec would be null
	if err := b.apply(ctx, empty); err != nil {
		return err
	}
	err = installers.until(ctx, func(object *v1alpha1.Installer) (bool, error) {
		if object.Status.Plan == nil || len(object.Status.Plan.Changes) != t.count || object.Annotations[v1alpha1.AnnotationApprovedPlan] != "" {
			return held(object) == t.count, nil
		}
		patch := client.MergeFrom(object.DeepCopy())
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, v1alpha1.AnnotationApprovedPlan, object.Status.Plan.Digest)
		return false, b.api.Patch(ctx, object, patch)
	})
	if err != nil {
		return fmt.Errorf("waiting for the gates: %w", err)
	}
	return b.waitQuiet(ctx)
}

func held(object *v1alpha1.Installer) int {
	count := 0
	for i := range object.Status.Addons {
		if chain := object.Status.Addons[i].BlockedBy; len(chain) > 0 && chain[0].Kind == v1alpha1.BlockerGate {
			count++
		}
	}
	return count
}
