package main

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// people is the field manager of everything that the driver does.
const people = client.FieldOwner("people")

// furnish makes the definitions, and the switches, all on.
func (d *driver) furnish(ctx context.Context) error {
	for _, m := range d.world {
		if err := d.define(ctx, m); err != nil {
			return err
		}
		for _, name := range m.switches() {
			if err := d.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, people); err != nil {
				return fmt.Errorf("make namespace %s: %w", name, err)
			}
			if err := d.turn(ctx, name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) apply(ctx context.Context, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("convert %s: %w", object.GetName(), err)
	}
	delete(content, "status")
	if spec, there := content["spec"].(map[string]any); there && len(spec) == 0 {
		delete(content, "spec") // an empty list
	}
	u := &unstructured.Unstructured{Object: content}
	if err := d.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), people, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

func (d *driver) define(ctx context.Context, m member) error {
	delete(d.will.broken, m.name)
	return d.apply(ctx, m.definition(d.repository))
}

// applyInstaller writes the list as people want it now.
func (d *driver) applyInstaller(ctx context.Context) error {
	wanted := &v1alpha1.Installer{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installer"},
		ObjectMeta: metav1.ObjectMeta{Name: installerName},
	}
	for _, m := range d.members(d.wants) {
		entry := v1alpha1.InstallerAddon{Name: m.name, Version: d.will.wanted[m.name]}
		d.will.highest[m.name] = max(d.will.highest[m.name], entry.Version)
		for _, release := range m.releases() {
			values := &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"message":%q}`, d.message(m))}
			if len(m.charts) == 1 {
				entry.Values = values
			} else {
				entry.Releases = append(entry.Releases, v1alpha1.ReleaseOverride{Name: release, Values: values})
			}
		}
		wanted.Spec.Addons = append(wanted.Spec.Addons, entry)
	}
	return d.apply(ctx, wanted)
}

// message is a value of every release, and in the ConfigMap of those of chart tiny.
func (d *driver) message(m member) string { return fmt.Sprintf("%d", d.will.values[m.name]) }

// turn sets a switch.
func (d *driver) turn(ctx context.Context, name string, on bool) error {
	kind, value := deedSwitchOff, "off"
	if on {
		kind, value = deedSwitchOn, "on"
	}
	d.journal.write("people: %s is %s", name, value)
	return d.diary.note(deed{kind: kind, name: name}, func() error {
		if on {
			delete(d.will.off, name)
		} else {
			d.will.off[name] = true
		}
		return d.apply(ctx, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: switchName},
			Data:       map[string]string{"state": value},
		})
	})
}

// setSuspended does what flux suspend and flux resume do. A HelmRelease that has gone meanwhile is nobody's any more.
func (d *driver) setSuspended(ctx context.Context, name string, suspend bool) error {
	change := func() error {
		err := d.merge(ctx, releaseNamed(name), fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
		if suspend && err == nil {
			d.will.suspended[name] = true
		} else {
			delete(d.will.suspended, name)
		}
		return client.IgnoreNotFound(err)
	}
	d.journal.write("people: HelmRelease %s, suspend=%t", name, suspend)
	if suspend {
		return change()
	}
	return d.diary.note(deed{kind: deedResume, name: name}, change)
}

func (d *driver) merge(ctx context.Context, object client.Object, patch string) error {
	return d.api.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), people)
}

// annotate sets an annotation.
func (d *driver) annotate(ctx context.Context, object client.Object, key, value string) error {
	return d.merge(ctx, object, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

// deleteAllowed deletes an object by the documented escape hatch. One that has gone by itself does not count.
func (d *driver) deleteAllowed(ctx context.Context, object client.Object) error {
	if err := d.annotate(ctx, object, v1alpha1.AnnotationAllowDelete, object.GetName()); err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(d.api.Delete(ctx, object))
}

func releaseNamed(name string) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}}
}

func installerObject() *v1alpha1.Installer {
	return &v1alpha1.Installer{ObjectMeta: metav1.ObjectMeta{Name: installerName}}
}

// missing says whether there is no such object.
func (d *driver) missing(ctx context.Context, object client.Object) (bool, error) {
	err := d.api.Get(ctx, client.ObjectKeyFromObject(object), object)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}
