package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const moduleLine = "module github.com/kurlsh/addon-operator\n"

// Checkout returns the root of the checkout of this module that holds the
// working directory. Tests run in their package's directory and programs
// usually in the root, so the nearest go.mod upwards that names this module
// is the one. It is an error to be outside a checkout.
func Checkout() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil && bytes.HasPrefix(content, []byte(moduleLine)):
			return dir, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("find the checkout: %w", err)
		case dir == filepath.Dir(dir):
			return "", fmt.Errorf("find the checkout: neither %s nor a folder above is in it", start)
		}
	}
}
