package v1alpha1_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// TestCRDs asks a real API server what it makes of the CRDs in the chart, and of objects.
func TestCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an API server")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Bare: true, Progress: t.Output()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Stop()) })
	crds, err := filepath.Glob("../../deploy/chart/files/crds/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, crds)
	for _, path := range crds {
		manifest, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, c.Apply(t.Context(), manifest))
	}
	plain, err := client.New(c.RESTConfig(), client.Options{})
	require.NoError(t, err)
	api := client.WithFieldValidation(plain, metav1.FieldValidationStrict)

	t.Run("Installer", func(t *testing.T) {
		checkRules(t, api, validInstaller, installerRules(), chartRules(), valuesRules("spec/addons/0"))
		checkRules(t, api, validInstaller, overrideRules("spec/addons/1/releases"), valuesRules("spec/addons/1/releases/0"))
	})
	t.Run("Addon", func(t *testing.T) {
		checkRules(t, api, validAddon, addonRules(), chartRules(), valuesRules("spec"))
		checkRules(t, api, validAddon, overrideRules("spec/releases"), valuesRules("spec/releases/0"))
	})
	t.Run("AddonDefinition", func(t *testing.T) {
		checkRules(t, api, validDefinition, definitionRules(), releaseRules())
		checkRules(t, api, validDefinition, versionRules())
	})
	t.Run("catalogue", func(t *testing.T) { checkCatalog(t, api) })
	t.Run("nulls", func(t *testing.T) { checkNulls(t, api) })
	t.Run("names", func(t *testing.T) { checkNames(t, c.RESTConfig()) })
	t.Run("columns", func(t *testing.T) { checkColumns(t, c.RESTConfig(), api) })
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	return object
}

// checkRules tries every rule on a copy of a valid object, without storing anything.
func checkRules(t *testing.T, api client.Client, valid string, tables ...map[string]rule) {
	t.Helper()
	rules := map[string]rule{}
	for _, table := range tables {
		maps.Copy(rules, table)
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			object := parse(t, valid)
			change(object.Object, rule.value, rule.path)
			err := api.Create(t.Context(), object, client.DryRunAll)
			if rule.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, rule.want)
			assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
		})
	}
}

// change sets, or with nil deletes, what is at a path of fields and indexes.
func change(at any, value any, path string) {
	field, rest, deeper := strings.Cut(path, "/")
	switch at := at.(type) {
	case map[string]any:
		switch {
		case deeper:
			change(at[field], value, rest)
		case value == nil:
			delete(at, field)
		default:
			at[field] = value
		}
	case []any:
		index, _ := strconv.Atoi(field)
		if deeper {
			change(at[index], value, rest)
			return
		}
		at[index] = value
	}
}

// checkCatalog: built-in definitions never pass an API server, but people start from copies of them.
func checkCatalog(t *testing.T, api client.Client) {
	t.Helper()
	paths, err := filepath.Glob("../../addons/catalog/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			definition, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, api.Create(t.Context(), parse(t, string(definition)), client.DryRunAll))
		})
	}
}

// checkNulls: a null in values deletes a default of the chart, so it must survive every way of writing but a merge patch, in
// which it has another meaning.
func checkNulls(t *testing.T, api client.Client) {
	t.Helper()
	const withNulls = `{a: null, b: {c: null, d: 1}, e: [null, {f: null}]}`
	var want map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(withNulls), &want))
	installer := func(name string) *unstructured.Unstructured {
		object := parse(t, validInstaller)
		object.SetName(name)
		return object
	}
	stored := func(t *testing.T, name string) any {
		t.Helper()
		object := installer(name)
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		addons, _, err := unstructured.NestedSlice(object.Object, "spec", "addons")
		require.NoError(t, err)
		first, isMap := addons[0].(map[string]any)
		require.True(t, isMap)
		return first["values"]
	}
	for name, write := range map[string]func(context.Context, *unstructured.Unstructured) error{
		"create": func(ctx context.Context, object *unstructured.Unstructured) error {
			change(object.Object, want, "spec/addons/0/values")
			return api.Create(ctx, object)
		},
		"update": func(ctx context.Context, object *unstructured.Unstructured) error {
			if err := api.Create(ctx, object); err != nil {
				return err
			}
			change(object.Object, want, "spec/addons/0/values")
			return api.Update(ctx, object)
		},
		"apply": func(ctx context.Context, object *unstructured.Unstructured) error {
			change(object.Object, want, "spec/addons/0/values")
			return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"))
		},
		"apply-again": func(ctx context.Context, object *unstructured.Unstructured) error {
			first := object.DeepCopy()
			if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(first), client.FieldOwner("test")); err != nil {
				return err
			}
			change(object.Object, want, "spec/addons/0/values")
			return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, write(t.Context(), installer(name)))
			got, err := yaml.Marshal(stored(t, name))
			require.NoError(t, err)
			assert.YAMLEq(t, withNulls, string(got))
		})
	}
}

func checkNames(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	list, err := client.ServerResourcesForGroupVersion("addons.kurl.sh/v1alpha1")
	require.NoError(t, err)
	shortNames := map[string][]string{}
	for _, resource := range list.APIResources {
		if strings.Contains(resource.Name, "/") {
			continue
		}
		shortNames[resource.Name] = resource.ShortNames
		assert.Equal(t, []string{"kurl"}, resource.Categories, resource.Name)
		assert.False(t, resource.Namespaced, resource.Name)
	}
	assert.Equal(t, map[string][]string{"installers": {"inst"}, "migrations": {"mig"}, "addons": {"addon"}, "addondefinitions": {"addondef"}}, shortNames)
}

// checkColumns reads the tables that kubectl shows.
func checkColumns(t *testing.T, config *rest.Config, api client.Client) {
	t.Helper()
	for name, test := range map[string]struct {
		resource string
		object   string
		columns  []string
		row      []any // the first cells
	}{
		"installers": {
			"installers", validInstaller,
			[]string{"Name", "Ready", "Status", "Age"}, []any{"default", nil, nil},
		},
		"addons": {
			"addons", validAddon,
			[]string{"Name", "State", "Version", "Desired", "Message", "Installer", "Age"}, []any{"openebs", nil, nil, "4.1.0", nil, "default"},
		},
		"addondefinitions": {
			"addondefinitions", validDefinition,
			[]string{"Name", "Newest", "Provides", "Description", "Age"}, []any{"rook", "1.18.12", `["storage"]`, "Storage."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, test.object)
			if name == "addondefinitions" {
				version := map[string]any{"version": "1.18.12", "releases": map[string]any{"rook-ceph": map[string]any{"chartVersion": "v1.18.12"}}}
				versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
				require.NoError(t, err)
				require.NoError(t, unstructured.SetNestedSlice(object.Object, append(versions, version), "spec", "versions"))
			}
			require.NoError(t, api.Create(t.Context(), object))
			table := tableOf(t, config, test.resource, object.GetName())
			var columns []string
			for _, column := range table.ColumnDefinitions {
				columns = append(columns, column.Name)
			}
			assert.Equal(t, test.columns, columns)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, test.row, table.Rows[0].Cells[:len(test.row)])
		})
	}
}

func tableOf(t *testing.T, config *rest.Config, resource, name string) *metav1.Table {
	t.Helper()
	discovery, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	body, err := discovery.RESTClient().Get().AbsPath("/apis/addons.kurl.sh/v1alpha1/", resource, name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	require.NoError(t, err)
	table := &metav1.Table{}
	require.NoError(t, yaml.Unmarshal(body, table))
	return table
}
