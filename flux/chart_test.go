package flux_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/flux"
)

const chartYAML = "name: demo\nversion: 1.2.3\n"

// crd is a CRD in YAML.
func crd(name string, versions ...string) string {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name + "\nspec:\n  group: example.com\n  versions:\n"
	for _, version := range versions {
		text += "  - {name: " + version + ", served: true}\n"
	}
	return text
}

// pack makes a chart's package of files.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	require.NoError(t, err)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}))
		_, err := archive.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

func TestReadChartFindsCRDs(t *testing.T) {
	chart, err := flux.ReadChart(bytes.NewReader(pack(t, map[string]string{
		"demo/Chart.yaml":                      chartYAML,
		"demo/crds/two.yaml":                   "# a comment\n---\n" + crd("a.example.com", "v1") + "---\n\n---\nkind: ConfigMap\n---\n" + crd("b.example.com", "v1", "v2"),
		"demo/crds/deep/three.json":            `{"kind": "CustomResourceDefinition", "metadata": {"name": "c.example.com"}, "spec": {"versions": [{"name": "v1beta1"}]}}`,
		"demo/crds/README.md":                  crd("not.example.com", "v1"),
		"demo/files/crds.yaml":                 crd("not.example.com", "v1"),
		"demo/charts/sub/crds/sub.yml":         crd("d.example.com", "v1"),
		"demo/charts/sub/charts/x/crds/x.yaml": crd("e.example.com", "v1"),
		"demo/charts/_off/crds/off.yaml":       crd("not.example.com", "v1"),
		"demo/charts/packed-1.0.0.tgz":         string(pack(t, map[string]string{"packed/Chart.yaml": "name: packed\nversion: 9.9.9\n", "packed/crds/f.yaml": crd("f.example.com", "v1")})),
	})))
	require.NoError(t, err)
	assert.Equal(t, "demo", chart.Name)
	assert.Equal(t, "1.2.3", chart.Version)
	found := map[string]string{}
	for _, crd := range chart.CRDs {
		found[crd.Name] = strings.Join(crd.Versions, " ")
		assert.True(t, json.Valid(crd.Spec))
	}
	assert.Equal(t, map[string]string{
		"a.example.com": "v1", "b.example.com": "v1 v2", "c.example.com": "v1beta1", "d.example.com": "v1", "e.example.com": "v1", "f.example.com": "v1",
	}, found)
	assert.True(t, chart.Brings("f.example.com"))
	assert.False(t, chart.Brings("not.example.com"))
}

func TestTemplatesTellsWhichCRDsAreTemplated(t *testing.T) {
	const name = "gears.example.com"
	tests := map[string]struct {
		file, text string
		want       bool
	}{
		"plain":                        {text: crd(name, "v1"), want: true},
		"behind a condition":           {text: "{{- if .Values.crds }}\n" + crd(name, "v1") + "{{- end }}", want: true},
		"with more in the file":        {text: crd("a.example.com", "v1") + "---\n" + crd(name, "v1"), want: true},
		"quoted":                       {text: "kind: \"CustomResourceDefinition\"\nmetadata: {name: \"" + name + "\"}", want: true},
		"as JSON":                      {text: `{"kind": "CustomResourceDefinition", "metadata": {"name": "` + name + `"}}`, want: true},
		"in a named template":          {file: "templates/_crds.tpl", text: `{{ define "crds" }}` + "\n" + crd(name, "v1"), want: true},
		"in a subchart":                {file: "charts/sub/templates/crd.yaml", text: crd(name, "v1"), want: true},
		"another name that ends in it": {text: crd("x"+name, "v1")},
		"another that begins with it":  {text: crd(name+".org", "v1")},
		"commented out":                {text: "# " + strings.ReplaceAll(crd(name, "v1"), "\n", "\n# ")},
		"name commented out":           {text: crd("a.example.com", "v1") + "#  name: " + name},
		"another kind":                 {text: "kind: APIService\nmetadata:\n  name: " + name},
		"not a template":               {file: "files/crd.yaml", text: crd(name, "v1")},
		"in the crds folder":           {file: "crds/crd.yaml", text: crd(name, "v1")},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			file := test.file
			if file == "" {
				file = "templates/crd.yaml"
			}
			chart, err := flux.ReadChart(bytes.NewReader(pack(t, map[string]string{"demo/Chart.yaml": chartYAML, "demo/" + file: test.text})))
			require.NoError(t, err)
			assert.Equal(t, test.want, chart.Templates(name))
		})
	}
}

func TestReadChartRefuses(t *testing.T) {
	bomb := strings.Repeat("\x00", 60<<20)
	nested := map[string]string{"x/Chart.yaml": chartYAML}
	for range 20 {
		nested = map[string]string{"x/Chart.yaml": chartYAML, "x/charts/y.tgz": string(pack(t, nested))}
	}
	tests := map[string]struct {
		content []byte
		want    string
	}{
		"nothing":                  {want: "EOF"},
		"something else":           {content: []byte("<html>no such chart</html>"), want: "gzip"},
		"a package cut short":      {content: pack(t, map[string]string{"demo/Chart.yaml": chartYAML})[:60], want: "EOF"},
		"no Chart.yaml":            {content: pack(t, map[string]string{"demo/values.yaml": "a: 1"}), want: "no Chart.yaml"},
		"a subchart's alone":       {content: pack(t, map[string]string{"demo/charts/sub/Chart.yaml": chartYAML}), want: "no Chart.yaml"},
		"a broken Chart.yaml":      {content: pack(t, map[string]string{"demo/Chart.yaml": "name: ["}), want: "demo/Chart.yaml"},
		"a broken CRD":             {content: pack(t, map[string]string{"demo/Chart.yaml": chartYAML, "demo/crds/a.yaml": "kind: ["}), want: "demo/crds/a.yaml"},
		"a CRD without a spec":     {content: pack(t, map[string]string{"demo/Chart.yaml": chartYAML, "demo/crds/a.yaml": "kind: CustomResourceDefinition"}), want: "demo/crds/a.yaml"},
		"too much":                 {content: pack(t, map[string]string{"demo/Chart.yaml": chartYAML, "demo/a": bomb, "demo/b": bomb}), want: "more than 100 MiB"},
		"too much in its subchart": {content: pack(t, map[string]string{"demo/Chart.yaml": chartYAML, "demo/a": bomb, "demo/charts/b.tgz": string(pack(t, map[string]string{"b/b": bomb}))}), want: "more than 100 MiB"},
		"endless subcharts":        {content: pack(t, nested), want: "nested more than"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			_, err := flux.ReadChart(bytes.NewReader(test.content))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func FuzzReadChart(f *testing.F) {
	f.Add([]byte("kind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {versions: [{name: v1}]}"), "crds/a.yaml")
	f.Add([]byte("{{ }}"), "../../templates/x")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		var packed bytes.Buffer
		zipped := gzip.NewWriter(&packed)
		archive := tar.NewWriter(zipped)
		if archive.WriteHeader(&tar.Header{Name: "demo/" + name, Size: int64(len(content)), Typeflag: tar.TypeReg}) != nil {
			return
		}
		_, err := archive.Write(content)
		require.NoError(t, err)
		require.NoError(t, archive.Close())
		require.NoError(t, zipped.Close())
		chart, err := flux.ReadChart(&packed)
		assert.Equal(t, err != nil, chart == nil, "%v", err)
	})
}
