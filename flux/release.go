// Package flux says what a release becomes as Flux objects, and what those objects say of the release. It is pure: it reads and
// makes objects, and talks to no API server.
package flux

import (
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// Interval at which Flux compares a release with its chart, and a repository with its index, when nothing else prompts it.
	Interval = 10 * time.Minute
	// RetryInterval between attempts at a release that failed. Every attempt leaves an entry in the HelmRelease's history with
	// helm-controller before 1.4.5, so it must not be short.
	RetryInterval = 2 * time.Minute
	// MaxHistory is how many Helm revisions are kept.
	MaxHistory = 5
	// TestTimeout bounds a release's Helm tests.
	TestTimeout = 5 * time.Minute
)

// HelmRelease says everything that matters explicitly: Flux's defaults differ between versions and can be changed by feature
// gates of helm-controller. It leaves suspend out: that field belongs to whoever suspends. A finalizer of ours keeps it after Flux's
// uninstall, as evidence of what became of the release.
func HelmRelease(r addons.Release) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace, Name: r.Name, Labels: labels(r), Finalizers: []string{v1alpha1.FinalizerUninstall},
		},
		Spec: helmv2.HelmReleaseSpec{
			Interval:         metav1.Duration{Duration: Interval},
			Timeout:          &metav1.Duration{Duration: r.Timeout},
			ReleaseName:      r.Name,
			TargetNamespace:  r.Namespace,
			StorageNamespace: r.Namespace,
			MaxHistory:       new(MaxHistory),
			Chart:            chartTemplate(r),
			Install:          install(r),
			Upgrade:          upgrade(r),
			Uninstall:        &helmv2.Uninstall{DeletionPropagation: new("background")},
			Test:             &helmv2.Test{Enable: r.Test, Timeout: &metav1.Duration{Duration: TestTimeout}},
			DriftDetection:   driftDetection(r),
			ValuesFrom:       valuesFrom(r),
			Values:           r.Values,
		},
	}
	for _, name := range r.DependsOn {
		hr.Spec.DependsOn = append(hr.Spec.DependsOn, helmv2.DependencyReference{Name: name})
	}
	return hr
}

func labels(r addons.Release) map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.FieldManager,
		v1alpha1.LabelInstaller: r.Installer,
		v1alpha1.LabelAddon:     r.Addon,
		v1alpha1.LabelRelease:   r.Name,
		v1alpha1.LabelProtected: "true",
	}
}

// chartTemplate names the exact chart version in the HelmRelease itself, so that a change of version is a change of its
// generation, which dependents and we can wait for.
func chartTemplate(r addons.Release) *helmv2.HelmChartTemplate {
	return &helmv2.HelmChartTemplate{
		ObjectMeta: &helmv2.HelmChartTemplateObjectMeta{Labels: map[string]string{v1alpha1.LabelAddon: r.Addon, v1alpha1.LabelRelease: r.Name}},
		Spec: helmv2.HelmChartTemplateSpec{
			Chart:             r.Chart,
			Version:           r.ChartVersion,
			ReconcileStrategy: sourcev1.ReconcileStrategyChartVersion,
			SourceRef: helmv2.CrossNamespaceObjectReference{
				Kind: sourcev1.HelmRepositoryKind, Name: RepositoryName(r.Repository), Namespace: v1alpha1.Namespace,
			},
		},
	}
}

// install never remediates: Flux's only remediation of a failed install is to uninstall, which takes templated CRDs and all
// their objects with it.
func install(r addons.Release) *helmv2.Install {
	strategy := &helmv2.InstallStrategy{Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: &metav1.Duration{Duration: RetryInterval}}
	return &helmv2.Install{CRDs: helmv2.CRDsPolicy(r.CRDs), DisableTakeOwnership: true, Strategy: strategy}
}

func upgrade(r addons.Release) *helmv2.Upgrade {
	u := &helmv2.Upgrade{CRDs: helmv2.CRDsPolicy(r.CRDs), DisableTakeOwnership: true}
	if r.OnFailure == v1alpha1.FailureRollback {
		u.Strategy = &helmv2.UpgradeStrategy{Name: string(helmv2.ActionStrategyRemediateOnFailure)}
		u.Remediation = &helmv2.UpgradeRemediation{Strategy: new(helmv2.RollbackRemediationStrategy), RemediateLastFailure: new(true)}
		return u
	}
	u.Strategy = &helmv2.UpgradeStrategy{Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: &metav1.Duration{Duration: RetryInterval}}
	return u
}

func driftDetection(r addons.Release) *helmv2.DriftDetection {
	modes := map[v1alpha1.DriftPolicy]helmv2.DriftDetectionMode{
		v1alpha1.DriftDisabled: helmv2.DriftDetectionDisabled,
		v1alpha1.DriftWarn:     helmv2.DriftDetectionWarn,
		v1alpha1.DriftEnabled:  helmv2.DriftDetectionEnabled,
	}
	detection := &helmv2.DriftDetection{Mode: modes[r.Drift]}
	if len(r.DriftIgnore) > 0 {
		detection.Ignore = []helmv2.IgnoreRule{{Paths: r.DriftIgnore}}
	}
	return detection
}

// valuesFrom puts our defaults first: Flux merges the references in order, and the inline values last.
func valuesFrom(r addons.Release) []meta.ValuesReference {
	var refs []meta.ValuesReference
	if len(r.Defaults) > 0 {
		refs = append(refs, meta.ValuesReference{Kind: "ConfigMap", Name: DefaultsName(r), ValuesKey: valuesKey})
	}
	for _, ref := range r.ValuesFrom {
		refs = append(refs, meta.ValuesReference{Kind: ref.Kind, Name: ref.Name, ValuesKey: ref.Key, Optional: ref.Optional})
	}
	return refs
}
