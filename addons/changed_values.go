package addons

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// change is a value of a release that a version of its add-on does not know any more.
type change struct {
	index   int // of the version in the definition
	version string
	path    ValuePath
	to      ValuePath // empty when nothing has its meaning now
	message string
}

// changedShown is how many values that a version does not know are named.
const changedShown = 5

// changes of the values of a release, of ascending versions.
type changes []change

// changesIn lists what a definition's versions changed in the values of a release. Paths that validateChangedValues refuses are left out.
func changesIn(def *v1alpha1.AddonDefinition, release string) changes {
	var list changes
	for i := range def.Spec.Versions {
		version := &def.Spec.Versions[i]
		for _, changed := range version.Releases[release].ChangedValues {
			c := change{index: i, version: version.Version, message: changed.Message}
			var err error
			if c.path, err = ParseValuePath(changed.Path); err != nil {
				continue
			}
			if changed.RenamedTo != "" {
				c.to, _ = ParseValuePath(changed.RenamedTo)
			}
			list = append(list, c)
		}
	}
	return list
}

// changesValues says whether any version of a definition has changed values.
func changesValues(def *v1alpha1.AddonDefinition) bool {
	return slices.ContainsFunc(def.Spec.Versions, func(version v1alpha1.VersionDefinition) bool {
		for _, release := range version.Releases {
			if len(release.ChangedValues) > 0 {
				return true
			}
		}
		return false
	})
}

// concerns says whether a value is set that this change is about. A value that was moved to below itself, as image to image.name, leaves
// a map behind whose other keys are new.
func (c *change) concerns(path ValuePath) bool {
	if c.path.Covers(c.to) {
		return slices.Equal(c.path, path)
	}
	return c.path.Covers(path)
}

// moved is where a path that the change is about leads now.
func (c *change) moved(path ValuePath) ValuePath {
	return slices.Concat(c.to, path[len(c.path):])
}

// unknown finds the change by which a version, by its index, does not know a path; nil when it may know it. The latest change counts,
// and within a version the one that says most about the path.
func (list changes) unknown(path ValuePath, at int) *change {
	var found *change
	index, closeness := -1, -1
	for i := range list {
		c := &list[i]
		if c.index > at {
			break
		}
		if c.index > index {
			closeness = -1
		}
		if c.concerns(path) && len(c.path) > closeness {
			found, index, closeness = c, c.index, len(c.path)
		}
		if len(c.to) > 0 && c.to.Covers(path) && len(c.to) > closeness {
			found, index, closeness = nil, c.index, len(c.to)
		}
	}
	return found
}

// advice says of a path that a change is about since when it is not known, and what takes its place at a version, however often that was
// renamed.
func (list changes) advice(addon string, c *change, path ValuePath, at int) string {
	text := fmt.Sprintf("version %s of %q does not know it any more", c.version, addon)
	became := ""
	for len(c.to) > 0 {
		path = c.moved(path)
		next := list.unknown(path, at)
		if next == nil || next.index <= c.index {
			became = fmt.Sprintf("; it is called %s now", path)
			break
		}
		c = next
		became = fmt.Sprintf("; it was called %s then, and version %s does not know that either", path, c.version)
	}
	text += became
	switch {
	case c.message != "":
		text += ": " + c.message
	case len(c.to) == 0:
		text += "; remove it"
	}
	return text
}

// checkChangedValues refuses values that the wanted version does not know any more. Those in Secrets and ConfigMaps are not looked into.
func (r *resolver) checkChangedValues(def *v1alpha1.AddonDefinition, entry *v1alpha1.InstallerAddon) {
	if !r.world.Catalog.rewording[entry.Name] {
		return
	}
	at := versionIndex(def, r.versions[entry.Name])
	path := field.NewPath("spec", "addons").Key(entry.Name)
	problems := changedValues(def, releaseNames(def)[0], at, path.Child("values"), entry.Values)
	referred := len(entry.ValuesFrom) > 0
	for i := range entry.Releases {
		override := &entry.Releases[i]
		problems = append(problems, changedValues(def, override.Name, at, path.Child("releases").Key(override.Name).Child("values"), override.Values)...)
		referred = referred || len(override.ValuesFrom) > 0
	}
	if len(problems) == 0 {
		return
	}
	message := FirstClauses(problems, changedShown)
	if referred {
		message += "; what valuesFrom refers to has not been looked into, change it there too"
	}
	r.problem(entry.Name, message)
}

func changedValues(def *v1alpha1.AddonDefinition, release string, at int, path *field.Path, raw *apiextensionsv1.JSON) []string {
	if raw == nil {
		return nil
	}
	list := changesIn(def, release)
	if len(list) == 0 {
		return nil
	}
	var problems []string
	for _, set := range valuePaths(decodeValues(raw)) {
		if c := list.unknown(set, at); c != nil {
			problems = append(problems, fmt.Sprintf("%s.%s: %s", path, set, list.advice(def.Name, c, set, at)))
		}
	}
	return problems
}

// translateValues puts values that are meant for one version of an add-on into the words of another, which on the way to it comes before,
// or after it where a hop to a version that is not wanted any more has to be finished. A value that was renamed between the two goes by
// its name there; all others stay as they are, and so do all if one of the versions is not listed.
func translateValues(def *v1alpha1.AddonDefinition, release string, raw *apiextensionsv1.JSON, from, to string) *apiextensionsv1.JSON {
	if raw == nil || from == to {
		return raw
	}
	start, end := versionIndex(def, from), versionIndex(def, to)
	if start < 0 || end < 0 {
		return raw
	}
	list := changesIn(def, release)
	values, moved := exactValues(raw), false
	for i := start; i > end; i-- {
		moved = list.of(i).rename(values, (*change).backward) || moved
	}
	for i := start + 1; i <= end; i++ {
		moved = list.of(i).rename(values, (*change).forward) || moved
	}
	encoded, err := json.Marshal(values)
	if !moved || err != nil {
		return raw
	}
	return &apiextensionsv1.JSON{Raw: encoded}
}

// inWordsOf is a spec for another version of its add-on, with the same values by their names there.
func inWordsOf(def *v1alpha1.AddonDefinition, spec v1alpha1.AddonSpec, version string) v1alpha1.AddonSpec {
	spec.Values = translateValues(def, releaseNames(def)[0], spec.Values, spec.Version, version)
	spec.Releases = slices.Clone(spec.Releases)
	for i := range spec.Releases {
		override := &spec.Releases[i]
		override.Values = translateValues(def, override.Name, override.Values, spec.Version, version)
	}
	spec.Version = version
	return spec
}

// of lists the changes that one version brought.
func (list changes) of(index int) changes {
	return slices.DeleteFunc(slices.Clone(list), func(c change) bool { return c.index != index || len(c.to) == 0 })
}

func (c *change) forward() (from, to ValuePath)  { return c.path, c.to }
func (c *change) backward() (from, to ValuePath) { return c.to, c.path }

// rename moves values by the changes of one version, all at once: what lies deeper is taken first, and put in last.
func (list changes) rename(values map[string]any, direction func(*change) (from, to ValuePath)) bool {
	type move struct {
		from, to ValuePath
		value    any
	}
	moves := make([]move, len(list))
	for i := range list {
		moves[i].from, moves[i].to = direction(&list[i])
	}
	slices.SortFunc(moves, func(a, b move) int { return len(b.from) - len(a.from) })
	taken := moves[:0]
	for _, m := range moves {
		var ok bool
		if m.value, ok = takeValue(values, m.from); ok {
			taken = append(taken, m)
		}
	}
	slices.SortFunc(taken, func(a, b move) int { return len(a.to) - len(b.to) })
	for _, m := range taken {
		putValue(values, m.to, m.value)
	}
	return len(taken) > 0
}

// exactValues reads values so that every number is written again as it was.
func exactValues(raw *apiextensionsv1.JSON) map[string]any {
	values := map[string]any{}
	_ = decodeExactly(raw, &values) // as in decodeValues
	return values
}

// versionIndex finds a version in a definition; -1 when it is not listed.
func versionIndex(def *v1alpha1.AddonDefinition, version string) int {
	listed := findVersion(def, version)
	for i := range def.Spec.Versions {
		if &def.Spec.Versions[i] == listed {
			return i
		}
	}
	return -1
}
