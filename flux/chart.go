package flux

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	// maxUnpacked bounds, in bytes, what a chart package may unpack to, with the packages in it.
	maxUnpacked = 100 << 20
	// maxDepth bounds how deep subcharts may be nested.
	maxDepth = 16
)

// Chart is what matters of a chart's package before an upgrade to it. Subcharts count as parts of it.
type Chart struct {
	Name    string
	Version string
	// CRDs are those of the crds folders, which Flux applies by its CRD policy, not Helm.
	CRDs []CRD
	// Unread says which file that describes the chart's values cannot be read, and why; empty when all can. Nothing is held against values
	// for it.
	Unread string

	templated map[string]bool
	root      *part
	unsure    bool // the defaults, or what there is of subcharts, are not known
}

// CRD is a CustomResourceDefinition in a crds folder.
type CRD struct {
	Name     string
	Versions []string
	// Spec is its whole spec, as JSON.
	Spec json.RawMessage
}

// Templates says whether a CRD of that name is among the templates, as far as their text shows. One whose name is put together by
// a template is not seen.
func (c *Chart) Templates(crd string) bool {
	return c.templated[crd]
}

// Brings says whether a CRD of that name is in a crds folder.
func (c *Chart) Brings(crd string) bool {
	return slices.ContainsFunc(c.CRDs, func(known CRD) bool { return known.Name == crd })
}

// ReadChart reads a chart's package, a gzipped tar archive. It keeps everything in memory, and fails for a package that is broken,
// holds no chart, or unpacks to more than 100 MiB.
func ReadChart(archive io.Reader) (*Chart, error) {
	r := &chartReader{chart: &Chart{templated: map[string]bool{}}, left: maxUnpacked, parts: map[string]*part{"": {}}}
	if err := r.unpack(archive, ""); err != nil {
		return nil, fmt.Errorf("reading the chart's package: %w", err)
	}
	if r.chart.Name == "" {
		return nil, errors.New("reading the chart's package: it holds no Chart.yaml with a name")
	}
	r.chart.root = link(r.parts)
	return r.chart, nil
}

// chartReader goes through a package and the packages in it.
type chartReader struct {
	chart *Chart
	parts map[string]*part // by their folders
	left  int64            // how many more bytes may be unpacked
}

// unpack reads an archive, whose files are those of the chart or subchart in a folder.
func (r *chartReader) unpack(archive io.Reader, folder string) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	budget := &io.LimitedReader{R: unzipped, N: r.left + 1}
	defer func() { r.left = budget.N - 1 }()
	files := tar.NewReader(budget)
	for {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case budget.N <= 0:
			return fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		content, err := io.ReadAll(files)
		if budget.N <= 0 {
			return fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)
		}
		if err != nil {
			return err
		}
		r.left = budget.N - 1
		_, name, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+header.Name), "/"), "/")
		if err := r.file(path.Join(folder, name), content); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		budget.N = r.left + 1
	}
}

var subchart = regexp.MustCompile(`^charts/[^._/][^/]*`)

// file takes in a file by its path in the chart.
func (r *chartReader) file(name string, content []byte) error {
	part := name
	for range maxDepth {
		root := subchart.FindString(part)
		if root != "" && root == part {
			return r.beside(name, content)
		}
		part = strings.TrimPrefix(part, root+"/")
	}
	if subchart.MatchString(part) {
		return fmt.Errorf("its subcharts are nested more than %d deep", maxDepth)
	}
	switch {
	case name == "Chart.yaml":
		if err := r.metadata(content); err != nil {
			return err
		}
		fallthrough
	case part == "Chart.yaml" || part == "requirements.yaml" || part == "values.yaml" || part == "values.schema.json":
		r.values(strings.TrimSuffix(strings.TrimSuffix(name, part), "/"), part, content)
	case strings.HasPrefix(part, "crds/") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(part)):
		return r.crds(content)
	case strings.HasPrefix(part, "templates/"):
		r.template(string(content))
	}
	return nil
}

// beside takes in a file that lies beside the folders of subcharts: a packed one, or nothing that Helm looks at.
func (r *chartReader) beside(name string, content []byte) error {
	if path.Ext(name) != ".tgz" {
		return nil
	}
	return r.unpack(bytes.NewReader(content), name)
}

// values takes in a file that says something of the values of the chart in a folder. It is no reason to fail if it cannot be read: Flux
// will tell of that, and there is more to be found in the package.
func (r *chartReader) values(folder, name string, content []byte) {
	if r.parts[folder] == nil {
		r.parts[folder] = &part{}
	}
	part := r.parts[folder]
	var err error
	switch name {
	case "values.yaml":
		err = yaml.Unmarshal(content, &part.values)
	case "values.schema.json":
		part.schema, err = readSchema(content)
	default:
		err = part.readMetadata(content)
	}
	r.chart.unsure = r.chart.unsure || err != nil && name != "values.schema.json"
	if err != nil && r.chart.Unread == "" {
		r.chart.Unread = fmt.Sprintf("%s: %s", path.Join(folder, name), err)
	}
}

func (r *chartReader) metadata(content []byte) error {
	var metadata struct{ Name, Version string }
	if err := yaml.Unmarshal(content, &metadata); err != nil {
		return err
	}
	r.chart.Name, r.chart.Version = metadata.Name, metadata.Version
	return nil
}

func (r *chartReader) crds(content []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		crd, err := readCRD(document)
		if err != nil {
			return err
		}
		if crd.Name != "" {
			r.chart.CRDs = append(r.chart.CRDs, crd)
		}
	}
}

// readCRD reads a document; it returns the zero value for one that is no CRD.
func readCRD(document []byte) (CRD, error) {
	var raw struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     json.RawMessage
	}
	if err := yaml.Unmarshal(document, &raw); err != nil {
		return CRD{}, err
	}
	if raw.Kind != "CustomResourceDefinition" {
		return CRD{}, nil
	}
	var spec apiextensionsv1.CustomResourceDefinitionSpec
	if err := json.Unmarshal(raw.Spec, &spec); err != nil {
		return CRD{}, fmt.Errorf("CRD %s: %w", raw.Metadata.Name, err)
	}
	crd := CRD{Name: raw.Metadata.Name, Spec: raw.Spec}
	for i := range spec.Versions {
		crd.Versions = append(crd.Versions, spec.Versions[i].Name)
	}
	return crd, nil
}

var (
	crdKind = regexp.MustCompile(`(?m)^[^#\n]*kind"?:\s*["']?CustomResourceDefinition\b`)
	crdName = regexp.MustCompile(`(?m)^[^#\n]*\bname"?:\s*["']?([a-z0-9-]+(?:\.[a-z0-9-]+)+)`)
)

// template notes the names in a template that may be those of its CRDs.
func (r *chartReader) template(text string) {
	if !crdKind.MatchString(text) {
		return
	}
	for _, match := range crdName.FindAllStringSubmatch(text, -1) {
		r.chart.templated[match[1]] = true
	}
}
