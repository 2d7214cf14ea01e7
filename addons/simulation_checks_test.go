package addons

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// decide answers what a decision asks for, as the shell does, until nothing is asked any more.
func (c *cluster) decide(name string) (Observation, Decision) {
	o := c.observe(name)
	for range 10 + len(o.Dependencies) { // the health of each is asked for by itself
		d := Decide(o)
		if again := Decide(o); !reflect.DeepEqual(d, again) {
			c.Fatalf("decided differently from the same: %v and %v", d, again)
		}
		if d.Ask.Empty() {
			return o, d
		}
		c.answer(&o, d.Ask)
	}
	c.Fatalf("add-on %s asks and asks: %v", name, Decide(o).Ask)
	return o, Decision{}
}

func (c *cluster) answer(o *Observation, ask Ask) {
	for _, question := range ask.Checks {
		key := checkKey{question.Addon, question.Check}
		if known, twice := o.findings[key]; twice && (known.Fresh || !question.Fresh) {
			c.Fatalf("add-on %s asks twice for %v", o.Addon.Name, question)
		}
		if question.Fresh {
			c.believed[key] = c.closed[key]
		}
		finding := Finding{Passed: !c.believed[key], Fresh: question.Fresh}
		if !finding.Passed {
			finding.Message = cmp.Or(c.because[key], "people closed it")
		}
		o.Answer(question, finding)
	}
	for _, release := range ask.Owners {
		o.Owners[release.Name] = c.owner(release)
	}
	for _, release := range ask.Charts {
		finding := ChartFinding{}
		switch {
		case c.harmful[release.Name]:
			finding.Problem = "it would do harm"
		case c.waiting[release.Name]:
			finding.Waiting = "it is being fetched"
		}
		o.Charts[release.Name] = finding
	}
}

// owner says who else has a Helm release of the wanted name.
func (c *cluster) owner(release Release) OwnerFinding {
	live, finding := c.releases[release.Name], OwnerFinding{}
	if live != nil || c.records[release.Name] {
		finding.Taken = "somebody installed it"
	}
	if c.fought[release.Name] {
		finding.Fought = "somebody keeps it"
	}
	if live != nil && (live.deleting || live.suspendedBy != "" || live.history && live.installed != identityOf(release)) {
		finding.Fought = "its HelmRelease goes, is suspended, or is of another chart"
	}
	return finding
}

// passed says whether a decision rests on the add-on's checks having been found to pass.
func passed(o Observation, addon string, checks []*v1alpha1.Check) bool {
	return !slices.ContainsFunc(checks, func(check *v1alpha1.Check) bool { return !o.findings[checkKey{addon, check.Name}].Passed })
}

// someChecks draws gates and health checks. What they look at does not matter: people open and close them.
func someChecks(t *rapid.T) edit {
	return func(def *v1alpha1.AddonDefinition) {
		for _, when := range []v1alpha1.Moment{v1alpha1.MomentInstall, v1alpha1.MomentUpgrade, v1alpha1.MomentRemove} {
			for i := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "gates") {
				gate(when, fmt.Sprintf("%s-%d", strings.ToLower(string(when)), i))(def)
			}
		}
		for i := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "health checks") {
			healthy(fmt.Sprintf("health-%d", i))(def)
		}
	}
}

// allChecks names the checks of all definitions, sorted.
func (c *cluster) allChecks() (keys []checkKey) {
	for i := range c.definitions {
		def := &c.definitions[i]
		for j := range def.Spec.Gates {
			keys = append(keys, checkKey{def.Name, def.Spec.Gates[j].Name})
		}
		for j := range def.Spec.Health {
			keys = append(keys, checkKey{def.Name, def.Spec.Health[j].Name})
		}
	}
	return keys
}

// catchUp makes cached facts those that hold now.
func (c *cluster) catchUp() { c.believed = maps.Clone(c.closed) }

// open says whether all gates of an add-on that stand before a moment are open at present.
func (c *cluster) open(def *v1alpha1.AddonDefinition, when v1alpha1.Moment) bool {
	return !slices.ContainsFunc(gatesAt(def, when), func(gate *v1alpha1.Check) bool { return c.closed[checkKey{def.Name, gate.Name}] })
}
