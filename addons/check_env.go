package addons

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// An evaluation ends at the first of these limits. They leave room for 300 units of cost and 20 turns of loops for each of 10,000 objects,
// where usual checks need 15 to 50 and 1 to 4, and are reached within about a second.
const (
	// maxCost is in the units in which Kubernetes counts the cost of CEL: about one for each field that is read and each call.
	maxCost = 3_000_000
	// maxTurns is how often the loops of an expression may go round in all: a loop with next to nothing in it costs next to nothing, but takes its time.
	maxTurns = 200_000
)

// variableAddon is what an expression sees of the add-on itself.
const variableAddon = "addon"

var (
	errTooCostly = fmt.Errorf("costs more than the limit of %d: narrow the resources by selector, namespace or name, and avoid loops in loops", maxCost)
	errTooLong   = fmt.Errorf("takes more than %d turns of loops: narrow the resources by selector, namespace or name, and avoid loops in loops", maxTurns)
)

// dialect is the CEL that Kubernetes offers, with all its functions, and cel.bind, without which a message would have to repeat its expression.
var dialect = sync.OnceValues(func() (*cel.Env, error) {
	kubernetes := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).StoredExpressionsEnv()
	return kubernetes.Extend(ext.Bindings(), cel.Variable(variableAddon, cel.MapType(cel.StringType, cel.StringType)))
})

// program is an expression that has been compiled; problem says why it could not be.
type program struct {
	code    cel.Program
	problem string
}

// compiler compiles each expression once, and takes over what a catalogue before has compiled.
type compiler struct {
	before   map[string]*program
	programs map[string]*program
	envs     map[string]*cel.Env
}

func newCompiler(before map[string]*program) *compiler {
	return &compiler{before: before, programs: map[string]*program{}, envs: map[string]*cel.Env{}}
}

// compile an expression over lists of objects that must give a type.
func (c *compiler) compile(expression string, lists []string, gives *cel.Type) *program {
	variables := strings.Join(lists, ",")
	key := strings.Join([]string{variables, gives.String(), expression}, "\n")
	if c.programs[key] == nil {
		c.programs[key] = c.before[key]
	}
	if c.programs[key] == nil {
		c.programs[key] = c.make(expression, lists, gives)
	}
	return c.programs[key]
}

func (c *compiler) make(expression string, lists []string, gives *cel.Type) *program {
	env, err := c.env(lists)
	if err != nil {
		return &program{problem: oneLine(err.Error(), maxMessage)}
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return &program{problem: describe(issues, lists)}
	}
	if given := ast.OutputType(); !given.IsExactType(gives) && !given.IsExactType(cel.DynType) {
		return &program{problem: fmt.Sprintf("must give %s, but gives %s", typeName(gives), typeName(given))}
	}
	code, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(1))
	if err != nil {
		return &program{problem: oneLine(err.Error(), maxMessage)}
	}
	return &program{code: code}
}

// env knows lists of objects as variables.
func (c *compiler) env(lists []string) (*cel.Env, error) {
	key := strings.Join(lists, ",")
	if env := c.envs[key]; env != nil {
		return env, nil
	}
	base, err := dialect()
	if err != nil {
		return nil, err
	}
	options := make([]cel.EnvOption, 0, len(lists))
	for _, list := range lists {
		options = append(options, cel.Variable(list, cel.ListType(cel.DynType)))
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, err
	}
	c.envs[key] = env
	return env, nil
}

// describe puts what the compiler says, with positions, on one line.
func describe(issues *cel.Issues, lists []string) string {
	const shown = 3
	var texts []string
	for _, issue := range issues.Errors() {
		text := strings.ReplaceAll(issue.Message, " (in container '')", "")
		if strings.HasPrefix(text, "undeclared reference to '") {
			text += fmt.Sprintf(" (there are %s)", strings.Join(append([]string{variableAddon}, lists...), ", "))
		}
		texts = append(texts, fmt.Sprintf("line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, oneLine(text, maxMessage)))
	}
	if len(texts) > shown {
		texts = append(texts[:shown], fmt.Sprintf("and %d more", len(texts)-shown))
	}
	return strings.Join(texts, "; ")
}

// run evaluates the program. It never panics: CEL turns that into errors too.
func (p *program) run(variables map[string]any) (ref.Val, error) {
	m := &meter{variables: variables}
	value, _, err := p.code.Eval(m)
	var cancelled interpreter.EvalCancelledError
	switch {
	case m.turns > maxTurns:
		return nil, errTooLong
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return nil, errTooCostly
	case err != nil:
		return nil, fmt.Errorf("cannot be evaluated: %s", strings.TrimPrefix(err.Error(), "operation cancelled: "))
	}
	return value, nil
}

// meter is what a program sees, and counts the turns of its loops: each asks for the variable `#interrupted`.
type meter struct {
	variables map[string]any
	turns     int
}

// ResolveName gives the value of a variable.
func (m *meter) ResolveName(name string) (any, bool) {
	if name == "#interrupted" {
		m.turns++
		return m.turns > maxTurns, true
	}
	value, ok := m.variables[name]
	return value, ok
}

// Parent is none: these are all variables.
func (*meter) Parent() interpreter.Activation { return nil }

// typeName is how people call a type.
func typeName(t ref.Type) string {
	switch t.TypeName() {
	case types.BoolType.TypeName():
		return "true or false"
	case types.StringType.TypeName():
		return "text"
	case types.NullType.TypeName():
		return "null"
	}
	return "the type " + t.TypeName()
}
