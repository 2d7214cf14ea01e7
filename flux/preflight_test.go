package flux_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

func TestPreflightAsksForWhatTheReleaseWillAskFor(t *testing.T) {
	r := addons.Release{Addon: "app", Name: "app", Chart: "app", ChartVersion: "1.0.0", Repository: addons.Repository{URL: "https://charts.example.com"}}
	ahead, later := flux.Preflight(r), flux.HelmRelease(r)
	asked := later.Spec.Chart.Spec
	assert.Equal(t, asked.Chart, ahead.Spec.Chart)
	assert.Equal(t, asked.Version, ahead.Spec.Version)
	assert.Equal(t, asked.ReconcileStrategy, ahead.Spec.ReconcileStrategy)
	assert.Equal(t, asked.SourceRef.Kind, ahead.Spec.SourceRef.Kind)
	assert.Equal(t, asked.SourceRef.Name, ahead.Spec.SourceRef.Name)
	assert.Equal(t, later.Spec.Interval, ahead.Spec.Interval)
	assert.Equal(t, v1alpha1.Namespace, ahead.Namespace)
	assert.NotEqual(t, later.GetHelmChartName(), ahead.Name)
}

func TestPreflightHasANameForEveryChart(t *testing.T) {
	base := addons.Release{Name: "app", Chart: "app", ChartVersion: "1.0.0", Repository: addons.Repository{URL: "https://charts.example.com"}}
	names := map[string]bool{flux.PreflightName(base): true}
	for _, change := range []func(*addons.Release){
		func(r *addons.Release) { r.Name = "other" },
		func(r *addons.Release) { r.Chart = "other" },
		func(r *addons.Release) { r.ChartVersion = "1.0.1" },
		func(r *addons.Release) { r.Repository.URL = "oci://mirror.example.com" },
		func(r *addons.Release) { r.Repository.SecretRef = "login" },
	} {
		other := base
		change(&other)
		assert.False(t, names[flux.PreflightName(other)], flux.PreflightName(other))
		names[flux.PreflightName(other)] = true
	}
	other := base
	other.Timeout, other.CRDs = time.Hour, v1alpha1.CRDSkip
	assert.Equal(t, flux.PreflightName(base), flux.PreflightName(other), "what the chart does not depend on")
}

func TestAsksFor(t *testing.T) {
	r := addons.Release{Name: "app", Chart: "app", ChartVersion: "v1.0.0", CRDs: v1alpha1.CRDCreate}
	hr := flux.HelmRelease(r)
	assert.True(t, flux.AsksFor(hr, r))
	assert.Equal(t, v1alpha1.CRDCreate, flux.CRDPolicy(hr))
	r.ChartVersion = "v1.0.1"
	assert.False(t, flux.AsksFor(hr, r))
	r.ChartVersion, r.Chart = "v1.0.0", "other"
	assert.False(t, flux.AsksFor(hr, r))
	hr.Spec.Chart, hr.Spec.Upgrade = nil, nil
	assert.False(t, flux.AsksFor(hr, r))
	assert.Empty(t, flux.CRDPolicy(hr))
}
