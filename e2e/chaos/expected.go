package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// differences lists what distinguishes the cluster from what a calm run would have made of what people want now: the same add-ons at
// the same versions and values, and nothing of any other.
func (d *driver) differences(ctx context.Context) ([]string, error) {
	f := findings{driver: d}
	for _, look := range []func(context.Context, *findings) error{installerDiffers, addonsDiffer, releasesDiffer, sourcesDiffer, objectsDiffer, namespacesDiffer} {
		if err := look(ctx, &f); err != nil {
			return nil, err
		}
	}
	slices.Sort(f.lines)
	return f.lines, nil
}

type findings struct {
	*driver

	lines []string
}

func (f *findings) add(format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

func (f *findings) same(what string, expected, actual any) {
	if expected != actual {
		f.add("%s: %v instead of %v", what, actual, expected)
	}
}

// sameNames compares sets of names.
func (f *findings) sameNames(what string, expected, actual []string) {
	slices.Sort(expected)
	slices.Sort(actual)
	f.same(what, strings.Join(slices.Compact(expected), " "), strings.Join(slices.Compact(actual), " "))
}

// expectedReleases maps HelmReleases to their add-ons.
func (f *findings) expectedReleases() map[string]member {
	expected := map[string]member{}
	for _, m := range f.members(f.wants) {
		for _, name := range m.releases() {
			expected[name] = m
		}
	}
	return expected
}

func keys[T any](of map[string]T) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	return names
}

func installerDiffers(ctx context.Context, f *findings) error {
	installer := installerObject()
	if missing, err := f.missing(ctx, installer); missing || err != nil {
		f.add("there is no Installer")
		return err
	}
	ready := apimeta.FindStatusCondition(installer.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		f.add("the Installer is not ready: %+v", ready)
	}
	f.same("observedGeneration of the Installer", installer.Generation, installer.Status.ObservedGeneration)
	return nil
}

func addonsDiffer(ctx context.Context, f *findings) error {
	var list v1alpha1.AddonList
	if err := f.api.List(ctx, &list); err != nil {
		return err
	}
	var names []string
	for _, addon := range list.Items {
		names = append(names, addon.Name)
		f.same("state of Addon "+addon.Name, v1alpha1.StateReady, addon.Status.State)
		f.same("version of Addon "+addon.Name, f.will.wanted[addon.Name], addon.Status.Version)
		f.same("observedGeneration of Addon "+addon.Name, addon.Generation, addon.Status.ObservedGeneration)
	}
	f.sameNames("Addons", keys(f.will.wanted), names)
	return nil
}

func releasesDiffer(ctx context.Context, f *findings) error {
	var list helmv2.HelmReleaseList
	if err := f.api.List(ctx, &list, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return err
	}
	expected := f.expectedReleases()
	var names []string
	for i := range list.Items {
		hr := &list.Items[i]
		names = append(names, hr.Name)
		version := f.will.wanted[expected[hr.Name].name]
		f.same("chart version of HelmRelease "+hr.Name, version, hr.Spec.Chart.Spec.Version)
		f.same("suspend of HelmRelease "+hr.Name, false, hr.Spec.Suspend)
		f.same("deletion of HelmRelease "+hr.Name, false, hr.DeletionTimestamp != nil)
		running := "nothing"
		if latest := hr.Status.History.Latest(); latest != nil {
			running = latest.ChartVersion + " " + latest.Status
		}
		f.same("history of HelmRelease "+hr.Name, version+" "+statusDeployed, running)
	}
	f.sameNames("HelmReleases", keys(expected), names)
	return nil
}

func sourcesDiffer(ctx context.Context, f *findings) error {
	var charts sourcev1.HelmChartList
	var repositories sourcev1.HelmRepositoryList
	if err := f.api.List(ctx, &charts); err != nil {
		return err
	}
	if err := f.api.List(ctx, &repositories); err != nil {
		return err
	}
	var names, expected []string
	for _, chart := range charts.Items {
		names = append(names, chart.Name)
	}
	for name := range f.expectedReleases() {
		expected = append(expected, v1alpha1.Namespace+"-"+name)
	}
	f.sameNames("HelmCharts", expected, names)
	f.same("number of HelmRepositories", min(1, len(f.will.wanted)), len(repositories.Items))
	return nil
}

// objectsDiffer looks at what the charts made, at Helm's records and at our defaults.
func objectsDiffer(ctx context.Context, f *findings) error {
	expected := f.expectedReleases()
	var records metav1.PartialObjectMetadataList
	records.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := f.api.List(ctx, &records, client.MatchingLabels{"owner": "helm"}); err != nil {
		return err
	}
	var names []string
	for _, record := range records.Items {
		names = append(names, record.Labels["name"])
	}
	f.sameNames("releases in Helm's records", keys(expected), names)

	var maps corev1.ConfigMapList
	if err := f.api.List(ctx, &maps); err != nil {
		return err
	}
	var rendered, defaults []string
	for _, object := range maps.Items {
		if object.Namespace == v1alpha1.Namespace && object.Labels[v1alpha1.LabelRelease] != "" {
			defaults = append(defaults, object.Labels[v1alpha1.LabelRelease])
		}
		if !strings.HasPrefix(object.Namespace, shared) || object.Labels["app.kubernetes.io/managed-by"] != "Helm" || strings.HasSuffix(object.Name, "-cache") {
			continue
		}
		rendered = append(rendered, object.Name)
		m := expected[object.Name]
		f.same("version in ConfigMap "+object.Name, f.will.wanted[m.name], object.Data["version"])
		if message, tiny := object.Data["message"]; tiny {
			f.same("message in ConfigMap "+object.Name, f.message(m), message)
		}
	}
	f.sameNames("ConfigMaps that charts made", keys(expected), rendered)
	f.sameNames("releases with defaults", keys(expected), defaults)
	return nil
}

// namespacesDiffer looks at namespaces that one add-on has to itself: they come and go with it.
func namespacesDiffer(ctx context.Context, f *findings) error {
	var list corev1.NamespaceList
	if err := f.api.List(ctx, &list); err != nil {
		return err
	}
	var names, expected []string
	for _, namespace := range list.Items {
		if strings.HasPrefix(namespace.Name, shared+"-") {
			names = append(names, namespace.Name)
		}
	}
	for _, m := range f.members(func(m member) bool { return m.alone && f.wants(m) }) {
		expected = append(expected, m.namespace())
	}
	f.sameNames("namespaces of single add-ons", expected, names)
	return nil
}
