package addons

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// untestedShown is how many values at the user's own risk are named.
const untestedShown = 5

// testedValues says whether an add-on is given nothing but values that its definition lists as tested; nil when it lists none. What
// Secrets and ConfigMaps hold is not looked into.
func testedValues(def *v1alpha1.AddonDefinition, spec *v1alpha1.AddonSpec) *Finding {
	if def == nil || len(def.Spec.SupportedValues) == 0 {
		return nil
	}
	var untested []string
	referred := false
	for _, release := range releaseNames(def) {
		values, from := overrides(spec, release)
		referred = referred || len(from) > 0
		tested := testedPaths(def, release)
		for _, set := range valuePaths(decodeValues(values)) {
			if !slices.ContainsFunc(tested, func(path ValuePath) bool { return path.Covers(set) }) {
				untested = append(untested, qualified(def, release)+set.String())
			}
		}
	}
	finding := &Finding{Passed: len(untested) == 0, Message: "every value that is set is tested"}
	if !finding.Passed {
		finding.Message = fmt.Sprintf("values that are not tested, at your own risk (%d): %s", len(untested), FirstFew(untested, untestedShown))
	}
	if referred {
		finding.Message += "; what valuesFrom refers to is not looked into"
	}
	return finding
}

// testedPaths lists the tested values of one release. Paths that validateSupportedValues refuses are left out.
func testedPaths(def *v1alpha1.AddonDefinition, release string) []ValuePath {
	var paths []ValuePath
	for _, supported := range def.Spec.SupportedValues {
		rest, ours := strings.CutPrefix(supported, qualified(def, release))
		if !ours {
			continue
		}
		if path, err := ParseValuePath(rest); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// qualified is what stands before the path of a release's value, where an add-on has several.
func qualified(def *v1alpha1.AddonDefinition, release string) string {
	if len(def.Spec.Releases) == 1 {
		return ""
	}
	return release + ":"
}

func validateSupportedValues(path *field.Path, def *v1alpha1.AddonDefinition) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, supported := range def.Spec.SupportedValues {
		at := path.Index(i)
		value, err := supportedPath(def, supported)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, supported, err.Error()))
		case seen[value]:
			errs = append(errs, field.Duplicate(at, supported))
		}
		seen[value] = true
	}
	return errs
}

// supportedPath reads a tested value's path, with the release before it, and writes it in the one way that equal ones share.
func supportedPath(def *v1alpha1.AddonDefinition, text string) (string, error) {
	names := releaseNames(def)
	if len(names) == 0 {
		return text, nil // there is no release to speak of, which is an error of its own
	}
	release, rest, has := strings.Cut(text, ":")
	known := has && slices.Contains(names, release)
	switch {
	case len(names) == 1 && known:
		return "", fmt.Errorf("the add-on has one release: leave out %q", release+":")
	case len(names) == 1:
		release, rest = "", text
	case !known:
		return "", fmt.Errorf("must begin with one of the add-on's releases (%s), as in %s:persistence.size", strings.Join(names, ", "), names[0])
	}
	path, err := ParseValuePath(rest)
	if err != nil {
		return "", fmt.Errorf("the path %q: %w", rest, err)
	}
	return release + ":" + path.String(), nil
}
