package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// slip is what somebody who writes a gate may get wrong.
type slip struct {
	apiVersion, kind string // of what the gate looks at, as `things`; empty means Namespaces
	expression       string
	says             []string // parts of the message that explains it
}

// define applies the definition of an add-on with one release, and with the slip as its Remove gate.
func (m slip) define(s *story, name string) {
	s.t.Helper()
	gate := map[string]any{
		"name": "guard", "when": "Remove", "expression": m.expression,
		"resources": map[string]any{"things": map[string]any{"apiVersion": orElse(m.apiVersion, "v1"), "kind": orElse(m.kind, "Namespace")}},
	}
	s.apply(s.definition(name, "tiny"), gate)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// apply writes a definition with kubectl, as its author does. Gates replace its own.
func (s *story) apply(def *v1alpha1.AddonDefinition, gates ...any) {
	s.t.Helper()
	spec, err := yaml.Marshal(def.Spec)
	require.NoError(s.t, err)
	var content map[string]any
	require.NoError(s.t, yaml.Unmarshal(spec, &content))
	content["gates"] = gates
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "AddonDefinition", "metadata": map[string]any{"name": def.Name}, "spec": content,
	})
	require.NoError(s.t, err)
	_, err = s.kubectl(string(manifest), "apply", "--server-side", "--field-manager=vendor", "--force-conflicts", "-f", "-")
	require.NoError(s.t, err)
}

// What cannot be compiled makes a definition broken: nothing is done with it, and what runs is left alone.
func TestABrokenGateIsReportedAndHoldsTheRemoval(t *testing.T) {
	s := beside(t, "broken")
	slips := map[string]slip{
		"syntax":   {expression: `things.size( == 0`, says: []string{"Syntax error", "line 1, column"}},
		"type":     {expression: `"none"`, says: []string{"must give true or false, but gives text"}},
		"unknown":  {expression: `volumes.size() == 0`, says: []string{"undeclared reference to 'volumes'", "there are addon, things"}},
		"secret":   {kind: "Secret", expression: `things.size() == 0`, says: []string{"spec.gates[guard].resources[things].kind", "checks do not look at Secrets"}},
		"function": {expression: `things.count() == 0`, says: []string{"undeclared reference to 'count'"}},
	}
	var entries, names []string
	for name := range slips {
		s.define("broken-"+name, "tiny")
		entries, names = append(entries, "{name: broken-"+name+"}"), append(names, "broken-"+name)
	}
	s.install(`{addons: [` + strings.Join(entries, ", ") + `]}`)
	s.installerReady()
	before, begin := s.identity(names...), time.Now()

	for name, m := range slips {
		m.define(s, "broken-"+name)
	}
	for name, m := range slips {
		says := append([]string{fmt.Sprintf("the AddonDefinition %q is broken", "broken-"+name), "spec.gates[guard].", "correct the definition"}, m.says...)
		s.says("broken-"+name, v1alpha1.StateBlocked, says...)
		s.installerSays(v1alpha1.ConditionResolved, says...)
		assert.Equal(t, "True", status(s.addon(t, "broken-"+name).Status.Conditions, v1alpha1.ConditionStalled))
	}
	assert.Equal(t, before, s.identity(names...))

	s.install(`{addons: []}`)
	s.approve()
	for name, m := range slips {
		s.says("broken-"+name, v1alpha1.StateBlocked, append([]string{"it is not uninstalled", "its AddonDefinition says what has to be checked first"}, m.says...)...)
		chain := s.addon(t, "broken-"+name).Status.BlockedBy
		require.Len(t, chain, 1)
		assert.Equal(t, []string{"AddonDefinition", "broken-" + name}, []string{chain[0].Kind, chain[0].Name})
	}
	assert.Equal(t, before, s.identity(names...))
	assert.Empty(t, s.deletions(begin))

	for name := range slips {
		slip{expression: "things.size() > 0"}.define(s, "broken-"+name)
	}
	s.gone(names...)
}

// What can be compiled and not be evaluated closes the gate.
func TestAGateThatCannotBeEvaluatedIsClosed(t *testing.T) {
	s := beside(t, "closed")
	slips := map[string]slip{
		"division": {expression: `100 / things.filter(n, n.metadata.name == "nowhere").size() > 1`, says: []string{"division by zero"}},
		"field":    {expression: `things.all(n, n.spec.replicas == 0)`, says: []string{"no such key: replicas", "has()"}},
		"dynamic":  {expression: `things[0].metadata.name`, says: []string{"gives text instead of true or false"}},
		"index":    {expression: `things[100000].metadata.name == "x"`, says: []string{"index out of bounds"}},
		"cost": {
			expression: `things.all(a, things.all(b, things.all(c, things.all(d, things.all(e, things.all(f, things.all(g, a.metadata.name != "nowhere")))))))`,
			says:       []string{"its expression takes more than", "turns of loops", "avoid loops in loops"},
		},
		"typo":    {kind: "PersistentVolumeClam", expression: `things.size() == 0`, says: []string{`no kind "PersistentVolumeClam" in apiVersion "v1"`, "correct apiVersion or kind"}},
		"case":    {kind: "persistentvolumes", expression: `things.size() == 0`, says: []string{"did you mean PersistentVolume?"}},
		"version": {apiVersion: "apps/v1beta2", kind: "Deployment", expression: `things.size() == 0`, says: []string{"Deployment in apps/v1"}},
	}
	var entries, names []string
	for name, m := range slips {
		m.define(s, "closed-"+name)
		entries, names = append(entries, "{name: closed-"+name+"}"), append(names, "closed-"+name)
	}
	s.install(`{addons: [` + strings.Join(entries, ", ") + `]}`)
	s.installerReady()
	before, begin := s.identity(names...), time.Now()

	s.install(`{addons: []}`)
	s.approve()
	for name, m := range slips {
		s.says("closed-"+name, v1alpha1.StateBlocked, append([]string{"it is not removed while its gate guard is closed", `check "guard" is not passed`}, m.says...)...)
		addon := s.addon(t, "closed-"+name)
		assert.Equal(t, "False", status(addon.Status.Conditions, v1alpha1.ConditionGatesPassed))
		require.Len(t, addon.Status.BlockedBy, 1)
		assert.Equal(t, v1alpha1.BlockerGate, addon.Status.BlockedBy[0].Kind)
	}
	s.lookAgain(names...)
	assert.Equal(t, before, s.identity(names...))
	assert.Empty(t, s.deletions(begin))

	for name := range slips {
		slip{expression: "things.size() > 0"}.define(s, "closed-"+name)
	}
	s.gone(names...)
	assert.Len(t, s.installer(t).Status.Removed, len(slips))
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.vendor.example.com}
spec:
  group: vendor.example.com
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// A vendor's kind may be missing, which means that there are no objects of it; it may be there and not to be read, and the message says
// what to do about that.
func TestAGateOverAVendorsKind(t *testing.T) {
	s := beside(t, "gadget")
	m := slip{apiVersion: "vendor.example.com/v1", kind: "Gadget", expression: "things.size() == 0"}
	for _, name := range []string{"gadget-early", "gadget-late"} {
		m.define(s, name)
	}
	s.define("gadget-other", "tiny")
	s.define("gadget-more", "tiny")
	s.install(`{addons: [{name: gadget-early}, {name: gadget-late}, {name: gadget-other}, {name: gadget-more}]}`)
	s.installerReady()
	s.install(`{addons: [{name: gadget-late}, {name: gadget-other}, {name: gadget-more}]}`)
	s.gone("gadget-early")

	_, err := s.kubectl(gadgets, "apply", "-f", "-")
	require.NoError(t, err)
	_, err = s.kubectl("", "wait", "--for=condition=Established", "crd/gadgets.vendor.example.com", "--timeout=1m")
	require.NoError(t, err)
	_, err = s.kubectl(`{apiVersion: vendor.example.com/v1, kind: Gadget, metadata: {name: precious, namespace: default}}`, "apply", "-f", "-")
	require.NoError(t, err)
	begin := time.Now()
	s.install(`{addons: [{name: gadget-other}, {name: gadget-more}]}`)
	s.says("gadget-late", v1alpha1.StateBlocked, `its resource "things" (kind Gadget) cannot be read`, "the operator may not list gadgets.vendor.example.com", "allow it with a ClusterRole")
	s.grantAsAdvised(message(s.addon(t, "gadget-late").Status.Conditions))
	s.says("gadget-late", v1alpha1.StateBlocked, "it demands things.size() == 0")
	assert.Empty(t, s.deletions(begin))

	_, err = s.kubectl("", "delete", "gadget", "precious", "-n", "default")
	require.NoError(t, err)
	s.gone("gadget-late")
	assert.Equal(t, v1alpha1.OutcomeRemoved, s.receipt("gadget-late").Result)
}

// grantAsAdvised makes the ClusterRole that a message asks for, out of its words.
func (s *story) grantAsAdvised(message string) {
	s.t.Helper()
	_, advice, found := strings.Cut(message, "a ClusterRole that has the label ")
	require.True(s.t, found, message)
	label, rest, found := strings.Cut(advice, " and the rule ")
	require.True(s.t, found, message)
	rule := rest[:strings.Index(rest, "}")+1]
	_, err := s.kubectl(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: %s-vendor
  labels: {%s}
rules: [%s]
`, s.name, label, rule), "apply", "-f", "-")
	require.NoError(s.t, err)
}
