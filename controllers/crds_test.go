package controllers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

const cogs = "cogs.example.com"

// cogsCRD is a CRD in YAML; the last version is the one in which objects are stored.
func cogsCRD(versions ...string) string {
	var text strings.Builder
	text.WriteString("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: cogs.example.com\n" +
		"spec:\n  group: example.com\n  scope: Cluster\n  names: {kind: Cog, listKind: CogList, plural: cogs, singular: cog}\n  versions:\n")
	for i, version := range versions {
		stored := "false"
		if i == len(versions)-1 {
			stored = "true"
		}
		text.WriteString("  - {name: " + version + ", served: true, storage: " + stored + ", schema: {openAPIV3Schema: {type: object}}}\n")
	}
	return text.String()
}

// makeCogs makes the CRD, as Helm's templates would if it is of a release.
func (s *stage) makeCogs(of *addons.Release, versions ...string) {
	s.Helper()
	crd := &unstructured.Unstructured{}
	require.NoError(s, yaml.Unmarshal([]byte(cogsCRD(versions...)), crd))
	if of != nil {
		crd.SetLabels(map[string]string{v1alpha1.LabelManagedBy: managedByHelm})
		crd.SetAnnotations(map[string]string{annotationHelmRelease: of.Name, annotationHelmNamespace: of.Namespace})
	}
	require.NoError(s, s.api.Create(s.ctx, crd))
	s.Cleanup(func() {
		s.ctx = context.Background()
		require.NoError(s, client.IgnoreNotFound(s.api.Delete(s.ctx, crd)))
		require.Eventually(s, func() bool { return s.liveCogs() == nil }, 10*time.Second, 5*time.Millisecond)
	})
}

// liveCogs is the CRD as it is; nil if there is none.
func (s *stage) liveCogs() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	if err := s.api.Get(s.ctx, client.ObjectKey{Name: cogs}, crd); err != nil {
		require.NoError(s, client.IgnoreNotFound(err))
		return nil
	}
	return crd
}

// known makes a chart known to Charts.
func (s *stage) known(charts *Charts, release addons.Release, files ...string) {
	s.Helper()
	_, err := charts.Find(s.ctx, release)
	require.NoError(s, err)
	artifact, _ := s.server(http.StatusOK, packed(s, files...))
	s.serves(release, artifact)
	finding, err := charts.Find(s.ctx, release)
	require.NoError(s, err)
	require.Empty(s, finding.Waiting)
}

func TestACRDThatLosesAStoredVersionStopsTheUpgrade(t *testing.T) {
	s := newStage(t)
	s.makeCogs(nil, "v1alpha1", "v1")
	release, charts := next("2.0.0"), s.charts()
	s.known(charts, release, "crds/cogs.yaml", cogsCRD("v1", "v2"), "crds/new.yaml", strings.ReplaceAll(cogsCRD("v3"), "cog", "newcog"))
	finding, err := charts.Find(s.ctx, release)
	require.NoError(t, err)
	assert.Empty(t, finding.Problem, "only v1 was ever stored")

	release.ChartVersion = "3.0.0"
	s.known(charts, release, "crds/cogs.yaml", cogsCRD("v2"))
	finding, err = charts.Find(s.ctx, release)
	require.NoError(t, err)
	assert.Contains(t, finding.Problem, "cogs.example.com (v1)")
	assert.Contains(t, finding.Problem, "status.storedVersions")
	assert.NotContains(t, finding.Problem, "\n")

	for _, policy := range []v1alpha1.CRDPolicy{v1alpha1.CRDCreate, v1alpha1.CRDSkip} {
		release.CRDs = policy
		finding, err = charts.Find(s.ctx, release)
		require.NoError(t, err)
		assert.Empty(t, finding.Problem, "with policy %s nothing is replaced", policy)
	}
}

func TestCRDsThatLeaveTheTemplatesAreKept(t *testing.T) {
	other := addons.Release{Name: "other", Namespace: "ns-app"}
	release := next("2.0.0")
	tests := map[string]struct {
		of     *addons.Release
		policy v1alpha1.CRDPolicy
		files  []string
		unread bool

		kept, marked bool
		wantPolicy   v1alpha1.CRDPolicy
		wantVersions []string
	}{
		"moved to the crds folder": {
			of: &release, policy: v1alpha1.CRDCreateReplace, files: []string{"crds/cogs.yaml", cogsCRD("v1", "v2")},
			kept: true, marked: true, wantPolicy: v1alpha1.CRDCreate, wantVersions: []string{"v1", "v2"},
		},
		"moved, where CRDs are not replaced": {
			of: &release, policy: v1alpha1.CRDSkip, files: []string{"crds/cogs.yaml", cogsCRD("v1", "v2")},
			kept: true, marked: true, wantPolicy: v1alpha1.CRDSkip, wantVersions: []string{"v1"},
		},
		"dropped": {
			of: &release, policy: v1alpha1.CRDCreateReplace, kept: true, marked: true, wantPolicy: v1alpha1.CRDCreate, wantVersions: []string{"v1"},
		},
		"still templated": {
			of: &release, policy: v1alpha1.CRDCreateReplace, files: []string{"templates/cogs.yaml", cogsCRD("v1", "v2")},
			kept: true, wantPolicy: v1alpha1.CRDCreateReplace, wantVersions: []string{"v1"},
		},
		"in both places": {
			of: &release, policy: v1alpha1.CRDCreateReplace, files: []string{"templates/cogs.yaml", cogsCRD("v1", "v2"), "crds/cogs.yaml", cogsCRD("v1", "v2")},
			kept: true, wantPolicy: v1alpha1.CRDCreate, wantVersions: []string{"v1", "v2"},
		},
		"never templated": {
			policy: v1alpha1.CRDCreateReplace, files: []string{"crds/cogs.yaml", cogsCRD("v1", "v2")},
			wantPolicy: v1alpha1.CRDCreateReplace, wantVersions: []string{"v1"},
		},
		"templated by another release": {
			of: &other, policy: v1alpha1.CRDCreateReplace, wantPolicy: v1alpha1.CRDCreateReplace, wantVersions: []string{"v1"},
		},
		"in a chart that is not known": {
			of: &release, policy: v1alpha1.CRDCreateReplace, unread: true, kept: true, wantPolicy: v1alpha1.CRDCreate, wantVersions: []string{"v1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.makeCogs(test.of, "v1")
			release, charts := release, s.charts()
			release.CRDs = test.policy
			if !test.unread {
				s.known(charts, release, test.files...)
			}
			for range 2 { // a pass that died is repeated
				prepared, err := charts.prepare(s.ctx, flux.HelmRelease(next("1.0.0")), true, release)
				require.NoError(t, err)
				assert.Equal(t, test.wantPolicy, prepared.CRDs)
			}
			crd := s.liveCogs()
			assert.Equal(t, test.kept, crd.GetAnnotations()[annotationPolicy] == policyKeep)
			assert.Equal(t, test.marked, crd.GetAnnotations()[annotationKept] == "ns-app/app")
			assert.Equal(t, test.wantVersions, versionsOf(t, crd))
		})
	}
}

func versionsOf(t *testing.T, crd *unstructured.Unstructured) []string {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	var names []string
	for _, version := range versions {
		names = append(names, version.(map[string]any)["name"].(string))
	}
	return names
}

// While Flux is at the upgrade it goes on to create CRDs only. Once it is through, they are replaced again, and the CRD is no longer said
// to be among the templates.
func TestAKeptCRDIsDisownedAfterTheUpgrade(t *testing.T) {
	s := newStage(t)
	release, charts := next("2.0.0"), s.charts()
	s.makeCogs(&release, "v1")
	s.known(charts, release, "crds/cogs.yaml", cogsCRD("v1", "v2"))
	prepared, err := charts.prepare(s.ctx, flux.HelmRelease(next("1.0.0")), true, release)
	require.NoError(t, err)
	live := flux.HelmRelease(prepared)

	release.OnFailure = v1alpha1.FailureRollback
	underway, err := charts.prepare(s.ctx, live, false, release)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.CRDCreate, underway.CRDs)
	assert.Equal(t, v1alpha1.FailureRetry, underway.OnFailure, "there would be no way back")
	assert.Equal(t, "app", s.liveCogs().GetAnnotations()[annotationHelmRelease])

	through, err := charts.prepare(s.ctx, live, true, release)
	require.NoError(t, err)
	assert.Equal(t, release, through)
	crd := s.liveCogs()
	assert.Equal(t, map[string]string{annotationPolicy: policyKeep}, crd.GetAnnotations())
	assert.Equal(t, map[string]string{labelFluxName: "app", labelFluxNamespace: v1alpha1.Namespace}, crd.GetLabels())

	again, err := charts.prepare(s.ctx, flux.HelmRelease(through), true, release)
	require.NoError(t, err)
	assert.Equal(t, through, again)
	assert.Equal(t, crd.GetResourceVersion(), s.liveCogs().GetResourceVersion())
}

// A release of which nothing is there yet has its CRDs looked at too: it may be about to take over what Helm installed.
func TestATakeoverKeepsCRDs(t *testing.T) {
	s := newStage(t)
	release := next("2.0.0")
	s.makeCogs(&release, "v1")
	prepared, err := s.charts().prepare(s.ctx, &helmv2.HelmRelease{}, false, release)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.CRDCreate, prepared.CRDs)
	assert.Equal(t, policyKeep, s.liveCogs().GetAnnotations()[annotationPolicy])
}

// The operator is killed after each of its writes in turn, and starts anew with no memory.
func TestKilledWhileItKeepsCRDsItEndsInTheSameState(t *testing.T) {
	for after := 1; ; after++ {
		s := newStage(t)
		release := next("2.0.0")
		s.makeCogs(&release, "v1")
		s.known(s.charts(), release, "crds/cogs.yaml", cogsCRD("v1", "v2"))
		writes := 0
		api, err := client.NewWithWatch(config, client.Options{Scheme: s.api.Scheme()})
		require.NoError(t, err)
		mortal := &Charts{Client: dying(api, &writes, after), Live: s.api, Clock: s.clock}
		_, killed := mortal.prepare(s.ctx, flux.HelmRelease(next("1.0.0")), true, release)

		prepared, err := s.charts().prepare(s.ctx, flux.HelmRelease(next("1.0.0")), true, release)
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.CRDCreate, prepared.CRDs)
		crd := s.liveCogs()
		assert.Equal(t, policyKeep, crd.GetAnnotations()[annotationPolicy])
		assert.Equal(t, "ns-app/app", crd.GetAnnotations()[annotationKept])
		assert.Equal(t, []string{"v1", "v2"}, versionsOf(t, crd))
		if killed == nil {
			assert.Equal(t, 3, after, "the writes were counted")
			return
		}
		require.ErrorIs(t, killed, errKilled)
		require.NoError(t, s.api.Delete(s.ctx, crd))
		require.Eventually(t, func() bool { return s.liveCogs() == nil }, 10*time.Second, 5*time.Millisecond)
	}
}
