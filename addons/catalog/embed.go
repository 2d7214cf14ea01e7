// Package catalog holds the built-in add-on definitions, one YAML file each.
package catalog

import (
	"embed"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

//go:embed *.yaml
var files embed.FS

// Definitions returns the built-in definitions, sorted by file name. The error names a file that is not an AddonDefinition, or
// that has a field which AddonDefinitions do not have.
func Definitions() ([]v1alpha1.AddonDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the catalogue: %w", err)
	}
	definitions := make([]v1alpha1.AddonDefinition, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading catalogue file %s: %w", name, err)
		}
		var definition v1alpha1.AddonDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			return nil, fmt.Errorf("reading catalogue file %s: %w", name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}
