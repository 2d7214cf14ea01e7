package addons

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// validateChangedValues says what is wrong with the values that one version of a release changed. A version that moves a value to a path
// which it takes away at the same time is refused: what a user sets there could be meant either way.
func validateChangedValues(path *field.Path, changed []v1alpha1.ChangedValue) field.ErrorList {
	var errs field.ErrorList
	gone, names := map[string]bool{}, map[string]bool{}
	for i := range changed {
		at := path.Index(i).Child("path")
		from, err := ParseValuePath(changed[i].Path)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, changed[i].Path, err.Error()))
		case gone[from.String()]:
			errs = append(errs, field.Duplicate(at, changed[i].Path))
		default:
			gone[from.String()] = true
		}
	}
	for i := range changed {
		if changed[i].RenamedTo == "" {
			continue
		}
		at := path.Index(i).Child("renamedTo")
		to, err := ParseValuePath(changed[i].RenamedTo)
		name := to.String()
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, changed[i].RenamedTo, err.Error()))
		case changed[i].RenamedTo == changed[i].Path:
			errs = append(errs, field.Invalid(at, changed[i].RenamedTo, "must differ from path; a value that keeps its name is not listed"))
		case gone[name]:
			errs = append(errs, field.Invalid(at, changed[i].RenamedTo,
				fmt.Sprintf("this version does not know %s any more, says another entry of the list; the new name of a value must be one that the version knows", name)))
		case names[name]:
			errs = append(errs, field.Duplicate(at, changed[i].RenamedTo))
		}
		names[name] = true
	}
	return errs
}
