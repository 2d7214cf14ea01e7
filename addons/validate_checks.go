package addons

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// probes compiles all checks of a definition, by name.
func (c *compiler) probes(spec *field.Path, def *v1alpha1.AddonDefinitionSpec) (map[string]*Probe, field.ErrorList) {
	if len(def.Health)+len(def.Gates) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	probes := map[string]*Probe{}
	add := func(at *field.Path, check *v1alpha1.Check, gate bool) {
		if _, taken := probes[check.Name]; taken {
			errs = append(errs, field.Duplicate(at.Child("name"), check.Name))
		}
		errs = append(errs, validateLabel(at.Child("name"), check.Name, validation.DNS1123LabelMaxLength)...)
		if check.StableFor != nil && check.StableFor.Duration < 0 {
			errs = append(errs, field.Invalid(at.Child("stableFor"), check.StableFor.Duration.String(), "must not be negative"))
		}
		probe, problems := c.probe(at, check)
		errs = append(errs, problems...)
		if probe != nil {
			probe.Gate = gate
		}
		probes[check.Name] = probe
	}
	for i := range def.Health {
		add(spec.Child("health").Key(def.Health[i].Name), &def.Health[i], false)
	}
	for i := range def.Gates {
		at := spec.Child("gates").Key(def.Gates[i].Name)
		if moments := []v1alpha1.Moment{v1alpha1.MomentInstall, v1alpha1.MomentUpgrade, v1alpha1.MomentRemove}; !slices.Contains(moments, def.Gates[i].When) {
			errs = append(errs, field.NotSupported(at.Child("when"), def.Gates[i].When, moments))
		}
		add(at, &def.Gates[i].Check, true)
	}
	return probes, errs
}

var (
	variableName = regexp.MustCompile(`^[a-z][A-Za-z0-9_]{0,31}$`)
	kindName     = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9]{0,62}$`)
	versionName  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	// takenNames are the variable and types that there are already, and words that CEL keeps for itself.
	takenNames = []string{
		variableAddon, "as", "bool", "break", "bytes", "const", "continue", "double", "else", "false", "for", "function", "if", "import", "in", "int",
		"let", "list", "loop", "map", "namespace", "null", "null_type", "package", "return", "string", "true", "type", "uint", "var", "void", "while",
	}
)

func validateResources(at *field.Path, resources map[string]v1alpha1.ResourceQuery) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(at, "a check looks at objects of at least one kind")}
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(resources) {
		if !variableName.MatchString(name) {
			errs = append(errs, field.Invalid(at.Key(name), name, "names of resources are variables: a lower case letter, then up to 31 letters, digits and underscores"))
		} else if slices.Contains(takenNames, name) {
			errs = append(errs, field.Invalid(at.Key(name), name, "names of resources are variables, and this word has another meaning in expressions"))
		}
		query := resources[name]
		errs = append(errs, validateQuery(at.Key(name), &query)...)
	}
	return errs
}

func validateQuery(at *field.Path, query *v1alpha1.ResourceQuery) field.ErrorList {
	var errs field.ErrorList
	group, err := schema.ParseGroupVersion(query.APIVersion)
	if err != nil || !versionName.MatchString(group.Version) || group.Group != "" && len(validation.IsDNS1123Subdomain(group.Group)) > 0 {
		errs = append(errs, field.Invalid(at.Child("apiVersion"), query.APIVersion, "must be a version, such as v1, or a group and a version, such as apps/v1"))
	}
	if !kindName.MatchString(query.Kind) {
		errs = append(errs, field.Invalid(at.Child("kind"), query.Kind, "must be the name of a kind, such as PersistentVolume"))
	}
	if group.Group == "" && strings.EqualFold(query.Kind, "Secret") {
		errs = append(errs, field.Forbidden(at.Child("kind"), "checks do not look at Secrets: a message would show to everybody what is in them"))
	}
	if query.Namespace != "" {
		errs = append(errs, validateLabel(at.Child("namespace"), query.Namespace, validation.DNS1123LabelMaxLength)...)
	}
	if problems := content.IsPathSegmentName(query.Name); len(problems) > 0 {
		errs = append(errs, field.Invalid(at.Child("name"), query.Name, problems[0]))
	}
	if _, err := metav1.LabelSelectorAsSelector(query.Selector); err != nil {
		errs = append(errs, field.Invalid(at.Child("selector"), metav1.FormatLabelSelector(query.Selector), err.Error()))
	}
	return errs
}
