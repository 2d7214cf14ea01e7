package catalog_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/addons/catalog"
)

func TestBuiltInDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	definitions, err := catalog.Definitions()
	require.NoError(t, err)
	require.NotEmpty(t, definitions)
	for i := range definitions {
		name := definitions[i].Name
		assert.Empty(t, addons.ValidateDefinition(&definitions[i]), name)
		assert.FileExists(t, name+".yaml", "the file is named after the add-on")
		assert.NotEmpty(t, definitions[i].Spec.Description, name)
	}
}

// An add-on is data: no program of the operator may know one by name.
func TestNoGoFileKnowsAnAddon(t *testing.T) {
	t.Parallel()
	definitions, err := catalog.Definitions()
	require.NoError(t, err)
	for _, dir := range []string{"addons", "api", "cmd", "controllers", "flux"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for i := range definitions {
				assert.NotContains(t, string(text), definitions[i].Name, path)
			}
			return err
		})
		require.NoError(t, err)
	}
}
