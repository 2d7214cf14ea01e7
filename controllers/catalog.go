package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Catalog gives the controllers the current catalogue. It is made anew only when a definition in the cluster has changed.
type Catalog struct {
	// Reader of AddonDefinitions, normally the manager's cache.
	Reader client.Reader
	// Builtin are the definitions that come with the operator.
	Builtin []v1alpha1.AddonDefinition

	mu      sync.Mutex
	made    bool
	key     string
	current addons.Catalog
}

// Current returns the catalogue of the built-in definitions and those in the cluster.
func (c *Catalog) Current(ctx context.Context) (addons.Catalog, error) {
	var list v1alpha1.AddonDefinitionList
	if err := c.Reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return addons.Catalog{}, fmt.Errorf("listing AddonDefinitions: %w", err)
	}
	versions := make([]string, 0, len(list.Items))
	for i := range list.Items {
		versions = append(versions, string(list.Items[i].UID)+"@"+list.Items[i].ResourceVersion)
	}
	slices.Sort(versions) // a cache lists in any order
	key := strings.Join(versions, ",")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.made || c.key != key {
		c.current = c.current.Renew(c.Builtin, list.Items)
		c.key, c.made = key, true
	}
	return c.current, nil
}
