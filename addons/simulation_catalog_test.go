package addons

import (
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// visible are the definitions that are there now.
func (c *cluster) visible() []v1alpha1.AddonDefinition {
	return slices.DeleteFunc(c.edited(), func(def v1alpha1.AddonDefinition) bool { return c.away[def.Name] })
}

// edited are the definitions as people have made them by now.
func (c *cluster) edited() []v1alpha1.AddonDefinition {
	var list []v1alpha1.AddonDefinition
	for i := range c.definitions {
		def := c.definitions[i].DeepCopy()
		c.edit(def)
		list = append(list, *def)
	}
	return list
}

func (c *cluster) edit(def *v1alpha1.AddonDefinition) {
	for _, name := range releaseNames(def) {
		if c.unnamed[name] {
			def.Spec.Releases = slices.DeleteFunc(def.Spec.Releases, func(r v1alpha1.ReleaseDefinition) bool { return r.Name == name })
			for i := range def.Spec.Versions {
				delete(def.Spec.Versions[i].Releases, name)
			}
		}
	}
	for i := range def.Spec.Versions {
		if version := &def.Spec.Versions[i]; c.retired[def.Name+" "+version.Version] {
			version.Withdrawn = "it loses data"
		}
	}
	for i := range def.Spec.Releases {
		if part := &def.Spec.Releases[i]; c.moved[part.Name] {
			part.Chart.Name, part.Namespace = part.Name+"-moved", def.Name+"-moved"
		}
	}
}

func (c *cluster) catalog() Catalog {
	if c.current == nil {
		c.current = new(c.catalogue(c.visible()))
	}
	return *c.current
}

// unchecked takes definitions as valid: to check that takes most of the time.
func unchecked(definitions []v1alpha1.AddonDefinition) Catalog {
	catalog := Catalog{definitions: map[string]*v1alpha1.AddonDefinition{}}
	for i := range definitions {
		catalog.definitions[definitions[i].Name] = &definitions[i]
	}
	return catalog
}
