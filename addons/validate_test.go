package addons

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestDefinitionsAreValidated(t *testing.T) {
	t.Parallel()
	part := func(apply func(*v1alpha1.ReleaseDefinition)) edit {
		return func(def *v1alpha1.AddonDefinition) { apply(&def.Spec.Releases[0]) }
	}
	long := "an-add-on-with-a-name-that-is-longer-than-helm-can-take"
	for name, test := range map[string]struct {
		name  string
		edits []edit
		errs  string
	}{
		"valid": {edits: []edit{requires("b"), conflicts("c", ""), provides("storage")}},
		"add-on name": {name: "Rook", edits: []edit{releases("rook"), part(func(r *v1alpha1.ReleaseDefinition) { r.Namespace = "rook" })},
			errs: `metadata.name: Invalid value: "Rook": must be lower case letters, digits and dashes, with a letter or digit at both ends`},
		"release name of more than 53 characters": {edits: []edit{releases(long)},
			errs: `spec.releases[0].name: Too long: may not be more than 53 bytes`},
		"release name twice":   {edits: []edit{releases("a", "a")}, errs: `spec.releases[1].name: Duplicate value: "a"`},
		"no namespace":         {edits: []edit{releases("a"), part(func(r *v1alpha1.ReleaseDefinition) { r.Namespace = "" })}, errs: `spec.releases[0].namespace: Invalid value: "": must be lower case letters, digits and dashes, with a letter or digit at both ends`},
		"no repository":        {edits: []edit{releases("a"), part(func(r *v1alpha1.ReleaseDefinition) { r.Chart.Repository = "oci://" })}, errs: `spec.releases[0].chart.repository: Invalid value: "oci://": must be a URL that starts with https://, http:// or oci://`},
		"no chart":             {edits: []edit{releases("a"), part(func(r *v1alpha1.ReleaseDefinition) { r.Chart.Name = "" })}, errs: `spec.releases[0].chart.name: Required value: the chart's name in the repository`},
		"values that are text": {edits: []edit{releases("a"), part(func(r *v1alpha1.ReleaseDefinition) { r.Values = rawJSON(`"a"`) })}, errs: `spec.releases[0].values: Invalid value: "\"a\"": Helm values are a map of keys to values`},
		"unknown policies": {
			edits: []edit{releases("a"), part(func(r *v1alpha1.ReleaseDefinition) {
				r.CRDs, r.OnFailure, r.DriftDetection = "Delete", "Ignore", "Sometimes"
			})},
			errs: `[spec.releases[0].crds: Unsupported value: "Delete": supported values: "Skip", "Create", "CreateReplace", spec.releases[0].onFailure: Unsupported value: "Ignore": supported values: "Retry", "Rollback", spec.releases[0].driftDetection: Unsupported value: "Sometimes": supported values: "Disabled", "Warn", "Enabled"]`,
		},
		"requires itself":           {edits: []edit{requires("a")}, errs: `spec.requires[0].addon: Invalid value: "a": an add-on cannot require itself`},
		"requires nothing":          {edits: []edit{requires("")}, errs: `spec.requires[0]: Invalid value: "": exactly one of addon and capability must be set`},
		"requires two things":       {edits: []edit{needs(v1alpha1.Requirement{Addon: "b", Capability: "storage"})}, errs: `spec.requires[0]: Invalid value: "b": exactly one of addon and capability must be set`},
		"requires what is no range": {edits: []edit{needs(v1alpha1.Requirement{Addon: "b", Version: "new"})}, errs: `spec.requires[0].version: Invalid value: "new": "new" is not a version range: write for example 1.27.x, ^1.2, ">=1.2 <2" or "1.2.x || 1.4.x"`},
		"a capability at a version": {edits: []edit{needs(v1alpha1.Requirement{Capability: "storage", Version: ">=1"})}, errs: `spec.requires[0].version: Invalid value: ">=1": can only be set together with addon`},
		"conflicts with itself":     {edits: []edit{conflicts("a", "")}, errs: `spec.conflicts[0].addon: Invalid value: "a": must name another add-on`},
		"versions that descend":     {edits: []edit{versions("1.1.0", "1.0.0")}, errs: `spec.versions[1].version: Invalid value: "1.0.0": versions must ascend, and "1.1.0" comes before it`},
		"no exact version":          {edits: []edit{versions(">=1")}, errs: `spec.versions[0].version: Invalid value: ">=1": must be an exact version, such as 1.2.3`},
		"Kubernetes is no range":    {edits: []edit{versions("1.0.0"), onKubernetes("1.0.0", "new")}, errs: `spec.versions[0].kubernetes: Invalid value: "new": "new" is not a version range: write for example 1.27.x, ^1.2, ">=1.2 <2" or "1.2.x || 1.4.x"`},
		"upgradeFrom is no range":   {edits: []edit{versions("1.0.0"), upgradeFrom("1.0.0", "old")}, errs: `spec.versions[0].upgradeFrom: Invalid value: "old": "old" is not a version range: write for example 1.27.x, ^1.2, ">=1.2 <2" or "1.2.x || 1.4.x"`},
		"a version without charts":  {edits: []edit{versions("1.0.0"), charted("1.0.0", map[string]string{})}, errs: `spec.versions[0].releases: Required value: a version gives at least one release its chart version`},
		"a version of an unknown release": {
			edits: []edit{versions("1.0.0"), charted("1.0.0", map[string]string{"a": "1", "b": "1"})},
			errs:  `spec.versions[0].releases[b]: Unsupported value: "b": supported values: "a"`,
		},
		"a chart without a version": {edits: []edit{versions("1.0.0"), charted("1.0.0", map[string]string{"a": ""})}, errs: `spec.versions[0].releases[a].chartVersion: Required value: the exact version of the chart`},
		"a release that is dropped": {
			edits: []edit{releases("a", "b"), versions("1.0.0", "2.0.0"), charted("2.0.0", map[string]string{"a": "2.0.0"})},
			errs:  `spec.versions[1].releases[b]: Required value: 1.0.0 has this release, and nothing would uninstall it`,
		},
		"versions of the same charts": {
			edits: []edit{versions("1.0.0", "1.1.0", "1.2.0"), charted("1.2.0", map[string]string{"a": "v1.0.0"})},
			errs:  `spec.versions[2].releases: Invalid value: "a 1.0.0": 1.0.0 has the same charts: what is deployed could not tell the two apart`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define(cmp.Or(test.name, "a"), test.edits...)
			err := ValidateDefinition(&def).ToAggregate()
			if test.errs == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.errs)
		})
	}
	empty := v1alpha1.AddonDefinition{}
	empty.Name = "a"
	require.EqualError(t, ValidateDefinition(&empty).ToAggregate(),
		"[spec.releases: Required value: an add-on consists of at least one release, spec.versions: Required value: an add-on has at least one version]")
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	broken := v1alpha1.AddonDefinition{}
	broken.Name = "c"
	catalog := NewCatalog(
		[]v1alpha1.AddonDefinition{define("b"), define("a", versions("1.0.0")), broken},
		[]v1alpha1.AddonDefinition{define("a", versions("2.0.0")), define("c")},
	)
	assert.Equal(t, []string{"a", "b", "c"}, catalog.Names())
	for name, version := range map[string]string{"a": "2.0.0", "b": "1.0.0", "c": "1.0.0"} {
		def, err := catalog.Get(name)
		require.NoError(t, err, name)
		assert.Equal(t, version, def.Spec.Versions[0].Version, name)
	}
	_, err := NewCatalog([]v1alpha1.AddonDefinition{define("c")}, []v1alpha1.AddonDefinition{broken}).Get("c")
	require.ErrorContains(t, err, `the AddonDefinition "c" is broken: [spec.releases: Required value`, "a broken one in the cluster does not fall back to the built-in one")
}
