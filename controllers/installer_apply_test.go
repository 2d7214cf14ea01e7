package controllers

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

func TestAddonsHearOfNewVersionsInTheOrderOfThePlan(t *testing.T) {
	order := []string{"f", "b", "d", "a", "e", "c"}
	var definitions []v1alpha1.AddonDefinition
	var before, after []v1alpha1.InstallerAddon
	for i, name := range order {
		definitions = append(definitions, definition(name, order[max(0, i-1):i], name))
		before, after = append(before, wanted(name, "1.0.0")), append(after, wanted(name, "1.1.0"))
	}
	s := newStage(t, definitions...)
	s.apply(installer("default", before...))
	s.settle()

	s.apply(installer("default", after...))
	s.catchUp()
	_, err := s.installer.Reconcile(s.ctx, get(s, "default", &v1alpha1.Installer{}))
	require.NoError(t, err)
	last := 0
	for _, name := range order {
		addon := get(s, name, &v1alpha1.Addon{})
		assert.Equal(t, "1.1.0", addon.Spec.Version)
		written, err := strconv.Atoi(addon.ResourceVersion)
		require.NoError(t, err)
		assert.Greater(t, written, last, "%s before one that it depends on", name)
		last = written
	}
}
