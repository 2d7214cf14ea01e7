package addons

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// maxMessage is the most bytes that a message of a check has.
	maxMessage = 1024
	// maxQuote is the most bytes of a broken expression that an error repeats.
	maxQuote = 100
)

var errUnread = errors.New("nobody tried")

// Subject is the add-on that a check is about, as its expressions see it.
type Subject struct {
	Name string
	// From is the version that runs; empty when none does.
	From string
	// To is the version that comes next; empty for a removal.
	To string
}

// Probe is a check whose expressions have been compiled. It is read-only, and may be used from many goroutines.
type Probe struct {
	// Check that was compiled; shared with the definition, and not to be changed.
	Check *v1alpha1.Check
	// Gate says that the check is a gate, and not a health check.
	Gate bool

	path       *field.Path
	expression *program
	message    *program // nil when there is none
}

// NewProbe compiles a check. The path is where it is written, for errors and messages; nil is returned together with errors only.
func NewProbe(path *field.Path, check *v1alpha1.Check) (*Probe, field.ErrorList) {
	return newCompiler(nil).probe(path, check)
}

func (c *compiler) probe(path *field.Path, check *v1alpha1.Check) (*Probe, field.ErrorList) {
	lists := sortedKeys(check.Resources)
	errs := validateResources(path.Child("resources"), check.Resources)
	if len(errs) > 0 {
		return nil, errs // there would be no sense in what the compiler says
	}
	if check.Expression == "" {
		return nil, field.ErrorList{field.Required(path.Child("expression"), "text in CEL that is true or false")}
	}
	p := &Probe{Check: check, path: path, expression: c.compile(check.Expression, lists, cel.BoolType)}
	if p.expression.problem != "" {
		errs = append(errs, field.Invalid(path.Child("expression"), oneLine(check.Expression, maxQuote), p.expression.problem))
	}
	if check.Message != "" {
		if p.message = c.compile(check.Message, lists, cel.StringType); p.message.problem != "" {
			errs = append(errs, field.Invalid(path.Child("message"), oneLine(check.Message, maxQuote), p.message.problem))
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

// StableFor is how long the check must have been passed without a break; 0 means that once is enough.
func (p *Probe) StableFor() time.Duration {
	if p.Check.StableFor == nil {
		return 0
	}
	return p.Check.StableFor.Duration
}

// Evaluate the check on the objects that were found for each of its resources. The check is passed only if its expression is true: whatever
// goes wrong is a finding that is not passed, with a message that says what is wrong and where to correct it.
func (p *Probe) Evaluate(facts map[string][]map[string]any, subject Subject) Finding {
	variables := map[string]any{variableAddon: map[string]string{"name": subject.Name, "from": subject.From, "to": subject.To}}
	for name := range p.Check.Resources {
		objects, found := facts[name]
		if !found {
			return p.Unread(name, errUnread)
		}
		variables[name] = objects
	}
	value, err := p.expression.run(variables)
	if err != nil {
		return p.refused(fmt.Sprintf("its expression %s; %s", err, p.remedy("expression", err, subject)))
	}
	passed, ok := value.(types.Bool)
	if !ok {
		return p.refused(fmt.Sprintf("its expression gives %s instead of true or false; %s", typeName(value.Type()), p.remedy("expression", nil, subject)))
	}
	if passed {
		return Finding{Passed: true}
	}
	return Finding{Message: p.reason(variables, subject)}
}

// Unread is the finding on a check one of whose resources cannot be read, with the reason.
func (p *Probe) Unread(resource string, reason error) Finding {
	query := p.Check.Resources[resource]
	return p.refused(fmt.Sprintf("its resource %q (kind %s) cannot be read: %v", resource, query.Kind, reason))
}

func (p *Probe) refused(text string) Finding { return Finding{Message: p.named(text)} }

// reason is what the definition says for the case that the expression is false.
func (p *Probe) reason(variables map[string]any, subject Subject) string {
	demand := "it demands " + p.Check.Expression
	if p.message == nil {
		return p.named(demand)
	}
	value, err := p.message.run(variables)
	if err != nil {
		return p.named(fmt.Sprintf("its message %s; %s; %s", err, p.remedy("message", err, subject), demand))
	}
	text, ok := value.(types.String)
	if !ok {
		return p.named(fmt.Sprintf("its message gives %s instead of text; %s; %s", typeName(value.Type()), p.remedy("message", nil, subject), demand))
	}
	if reason := oneLine(string(text), maxMessage); reason != "" {
		return reason
	}
	return p.named(fmt.Sprintf("its message is empty; %s; %s", p.remedy("message", nil, subject), demand))
}

// named begins a text with the name of the check.
func (p *Probe) named(text string) string {
	return oneLine(fmt.Sprintf("check %q is not passed: %s", p.Check.Name, text), maxMessage)
}

// remedy says what to correct.
func (p *Probe) remedy(expression string, err error, subject Subject) string {
	advice := fmt.Sprintf("correct %s of the AddonDefinition %q", p.path.Child(expression), subject.Name)
	if err != nil && strings.Contains(err.Error(), "no such key") {
		advice += ", for example by asking first whether there is such a field, with has()"
	}
	return advice
}

// oneLine makes a text of any kind one that fits a line of so many bytes.
func oneLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) <= limit {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
