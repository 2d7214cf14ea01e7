package addons

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Plan is what has to change for an Installer, and why.
type Plan struct {
	// Changes in order: first what ends a removal; then installs and changes, each after what it depends on; then removals, each before
	// what it depends on. Some of them have to wait for others.
	Changes []PlannedChange
	// Keeps leave what runs as it is, where plans are to be approved: they tie Addons to the definition that they run by, and end the removal
	// of what is listed again. They need no approval.
	Keeps []PlannedChange
	// Guarded says what of the changes needs a person's approval under any policy; empty when nothing does.
	Guarded string
	// Kubernetes is the cluster's version, without suffixes; empty when unknown.
	Kubernetes string
	// Digest identifies the changes together with everything that is written for them, and what they rest on: the Installer's spec, the
	// definitions, Kubernetes, and the Addons as they are.
	Digest string
}

// Due lists the changes that wait for no other.
func (p Plan) Due() []PlannedChange {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(change PlannedChange) bool { return change.Waits != "" })
}

// Waits says why the change of an add-on has to wait; empty when it does not, or there is none.
func (p Plan) Waits(addon string) string {
	for i := range p.Changes {
		if p.Changes[i].Addon == addon {
			return p.Changes[i].Waits
		}
	}
	return ""
}

// PlannedChange is a change and the Addon spec that brings it about.
type PlannedChange struct {
	v1alpha1.Change

	Spec v1alpha1.AddonSpec
	// Stage is a version to go to first, where others have to move before the wanted one; empty when there is none.
	Stage string
	// Of identifies the Addon as it is before the change, so that what is approved for it is not approved for good; empty when there is
	// none.
	Of string

	definition *v1alpha1.AddonDefinition // of an add-on with a Stage
}

// Now is the spec to write for the change now.
func (c *PlannedChange) Now() v1alpha1.AddonSpec {
	if c.Stage == "" {
		return c.Spec
	}
	return inWordsOf(c.definition, c.Spec, c.Stage)
}

// MakePlan compares a resolution with the Addons that there are. Running gives the version that each add-on runs at, as
// observed; an add-on that is missing in it runs none. An entry with a problem changes nothing: its Addon, if any, stays as it is, and
// is not removed any more.
func MakePlan(world World, installer *v1alpha1.Installer, resolution Resolution, running map[string]string) Plan {
	p := newPlanner(world, installer, resolution, running)
	plan := Plan{Changes: p.putBack(), Kubernetes: newPlatform(world.Kubernetes).kubernetes.String()}
	for i := range resolution.Addons {
		if change, needed := p.change(&resolution.Addons[i]); needed {
			plan.Changes = append(plan.Changes, change)
			p.held[change.Addon] = change.Waits != "" && change.Stage != "" && change.Stage == change.From
		}
	}
	plan.Changes = append(plan.Changes, p.removals()...)
	for i := range plan.Changes {
		p.complete(&plan.Changes[i])
	}
	plan.Keeps = p.keeps()
	plan.Guarded, plan.Digest = guard(world, installer, p.owners, plan.Changes), digest(installer, plan)
	return plan
}

// planner compares what an Installer wants with what is there.
type planner struct {
	world      World
	installer  *v1alpha1.Installer
	resolution Resolution
	running    map[string]string
	existing   map[string]*v1alpha1.Addon
	owners     map[string]string
	needs      map[string][]Need // by the add-on that others need
	leaving    []string
	causes     map[string]string // add-on that cannot be installed yet: the root cause
	held       map[string]bool   // add-ons that are at their stage, and wait for others
}

func newPlanner(world World, installer *v1alpha1.Installer, resolution Resolution, running map[string]string) *planner {
	p := &planner{
		world: world, installer: installer, resolution: resolution, running: running,
		existing: map[string]*v1alpha1.Addon{}, owners: Owners(world.Installers, world.Addons), needs: map[string][]Need{}, causes: map[string]string{}, held: map[string]bool{},
	}
	for _, addon := range world.Addons {
		p.existing[addon.Name] = addon
	}
	for _, name := range sortedKeys(p.existing) {
		p.addNeeds(name)
	}
	p.leaving = leaving(world, p.owners)
	for _, problem := range resolution.Problems {
		if p.existing[problem.Addon] == nil {
			p.causes[problem.Addon] = fmt.Sprintf("the entry of %q has a problem; correct that first", problem.Addon)
		}
	}
	return p
}

// addNeeds gathers what an add-on demands of others, by what of it runs and what is being rolled out.
func (p *planner) addNeeds(name string) {
	def, err := p.world.Catalog.Get(name)
	if err != nil {
		return
	}
	for _, requirement := range def.Spec.Requires {
		other := requirement.Addon
		p.needs[other] = append(p.needs[other], needsOf(def, p.running[name], p.world.Asked[name], other)...)
	}
}

// complete adds what people should know of a change, and what it rests on.
func (p *planner) complete(change *PlannedChange) {
	change.Gates = gatesOf(p.world, change)
	change.Definition = p.world.Catalog.Digest(change.Addon)
	if addon := p.existing[change.Addon]; addon != nil {
		change.Of = fmt.Sprintf("%s/%d", addon.UID, addon.Generation)
	}
}

// leaving names, sorted, the add-ons that are there and that nobody wants any more.
func leaving(world World, owners map[string]string) []string {
	var names []string
	for _, addon := range world.Addons {
		if owners[addon.Name] == "" {
			names = append(names, addon.Name)
		}
	}
	slices.Sort(names)
	return names
}

// SpecEqual compares Addon specs by meaning: the text of values may differ where their content does not.
func SpecEqual(a, b v1alpha1.AddonSpec) bool {
	return a.Version == b.Version && (apiequality.Semantic.DeepEqual(a, b) || apiequality.Semantic.DeepEqual(canonical(a), canonical(b)))
}

// canonical has equal content for specs that mean the same.
func canonical(spec v1alpha1.AddonSpec) v1alpha1.AddonSpec {
	spec.Values = canonicalJSON(spec.Values)
	spec.Releases = slices.Clone(spec.Releases)
	for i := range spec.Releases {
		spec.Releases[i].Values = canonicalJSON(spec.Releases[i].Values)
	}
	return spec
}

// canonicalJSON sorts keys and drops white space. What is no JSON stays as it is.
func canonicalJSON(values *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	if values == nil {
		return nil
	}
	var parsed any
	if err := decodeExactly(values, &parsed); err != nil {
		return values
	}
	text, err := json.Marshal(parsed)
	if err != nil {
		return values
	}
	return &apiextensionsv1.JSON{Raw: text}
}

func digest(installer *v1alpha1.Installer, plan Plan) string {
	parts := []any{edition(installer), plan.Kubernetes}
	for _, change := range plan.Changes {
		change.Waits, change.Stage, change.Spec = "", "", canonical(change.Spec)
		parts = append(parts, change)
	}
	return digestOf(parts...)
}
