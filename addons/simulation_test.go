package addons

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// cluster models everything that the operator sees and does. All its state is in the cluster: a pass that dies half way is one
// of which only the first writes happen.
type cluster struct {
	rapid.TB

	kubernetes  string                     // empty: unknown
	deaf        bool                       // Flux does not look again by itself at what waits
	crippled    bool                       // the ServiceAccount that Flux uninstalls as is missing
	definitions []v1alpha1.AddonDefinition // as they were drawn
	away        map[string]bool            // definitions that are not there for now
	moved       map[string]bool            // releases that their definition gives another chart and namespace
	unnamed     map[string]bool            // releases that their definition does not name any more
	retired     map[string]bool            // versions, as "a 1.1.0", that their definition has withdrawn
	catalogue   func([]v1alpha1.AddonDefinition) Catalog
	current     *Catalog // of the definitions; nil after a change of them
	installers  []*v1alpha1.Installer
	addons      map[string]*v1alpha1.Addon
	releases    map[string]*helmRelease
	records     map[string]bool // what Helm keeps in its storage, by the name of the release
	waiting     map[string]bool // charts that are still being fetched, by release
	harmful     map[string]bool // charts that would do harm, by release
	fought      map[string]bool // releases that somebody else would fight over
	closed      map[checkKey]bool
	because     map[checkKey]string // why a check is closed, where there is more to say than that people closed it
	believed    map[checkKey]bool   // which checks are closed, as far as cached facts tell
	made        int                 // objects so far: their UIDs

	target   map[string]string // version that was written last; the operator does not see it
	deleted  int               // HelmReleases that the operator has deleted so far
	approved map[string]bool   // removals that people approved, by identity
	allowed  map[string]string // replacements that people allowed: release to identity

	said map[string]Summary // what add-ons said of themselves last
}

func newCluster(t rapid.TB, definitions ...v1alpha1.AddonDefinition) *cluster {
	return &cluster{
		TB: t, definitions: definitions, catalogue: unchecked, away: map[string]bool{}, moved: map[string]bool{}, unnamed: map[string]bool{}, retired: map[string]bool{},
		addons: map[string]*v1alpha1.Addon{}, releases: map[string]*helmRelease{}, records: map[string]bool{},
		waiting: map[string]bool{}, harmful: map[string]bool{}, fought: map[string]bool{},
		closed: map[checkKey]bool{}, because: map[checkKey]string{}, believed: map[checkKey]bool{},
		target: map[string]string{}, approved: map[string]bool{}, allowed: map[string]string{}, said: map[string]Summary{},
		installers: []*v1alpha1.Installer{installer("default", 1), installer("other", 2)},
	}
}

func text(values *apiextensionsv1.JSON) string {
	if values == nil {
		return ""
	}
	return string(values.Raw)
}

func (c *cluster) uid() types.UID {
	c.made++
	return types.UID(fmt.Sprint(c.made))
}

func (c *cluster) world() World {
	world := World{Catalog: c.catalog(), Kubernetes: c.kubernetes, Installers: c.installers, Asked: map[string]string{}}
	for _, name := range c.catalog().Names() {
		def, _ := c.catalog().Get(name)
		world.Asked[name] = AskedVersion(def, c.observed(name))
	}
	all := maps.Clone(c.addons)
	maps.Copy(all, c.lost())
	for _, name := range sortedKeys(all) {
		world.Addons = append(world.Addons, all[name])
	}
	return world
}

// lost stands in for Addons that people deleted by hand, and of which there are HelmReleases.
func (c *cluster) lost() map[string]*v1alpha1.Addon {
	lost := map[string]*v1alpha1.Addon{}
	for _, name := range sortedKeys(c.releases) {
		if live := c.releases[name]; live.addon != "" && live.ours && c.addons[live.addon] == nil {
			lost[live.addon] = present(live.installer, live.addon+"@"+live.asked)
		}
	}
	return lost
}

func (c *cluster) plan(subject *v1alpha1.Installer) (Resolution, Plan) {
	world := c.world()
	resolution := Resolve(world, subject)
	return resolution, MakePlan(world, subject, resolution, c.running())
}

// running are the versions that run, as far as they can be told.
func (c *cluster) running() map[string]string {
	running := map[string]string{}
	for _, name := range c.catalog().Names() {
		def, _ := c.catalog().Get(name)
		if version := RunningVersion(def, c.observed(name)); version != "" {
			running[name] = version
		}
	}
	return running
}

// installerPass does one pass for an Installer, of which only so many writes happen. It returns whether anything changed.
func (c *cluster) installerPass(subject *v1alpha1.Installer, writes int) bool {
	owned := slices.ContainsFunc(c.world().Addons, func(a *v1alpha1.Addon) bool { return a.Spec.Installer == subject.Name })
	if subject.DeletionTimestamp != nil && !owned {
		c.installers = slices.DeleteFunc(c.installers, func(i *v1alpha1.Installer) bool { return i == subject })
		return true
	}
	resolution, plan := c.plan(subject)
	c.checkPlan(subject, resolution, plan)
	for _, change := range plan.Keeps[:min(writes, len(plan.Keeps))] {
		c.writeAddon(subject, change)
	}
	if len(plan.Keeps) > 0 {
		return true
	}
	approval := Approve(subject, plan)
	if approval.Required != "" {
		return false
	}
	var acts []func() bool
	if !reflect.DeepEqual(approval.Record, subject.Status.Approved) {
		acts = append(acts, func() bool { subject.Status.Approved = approval.Record; return true })
	}
	for _, change := range plan.Due() {
		if subject.Spec.Approval == v1alpha1.ApprovalManual && subject.DeletionTimestamp == nil && !c.approved[agreement(subject, change)] {
			c.Fatalf("%s of add-on %s, which nobody approved", change.Action, change.Addon)
		}
		acts = append(acts, func() bool { c.writeAddon(subject, change); return true })
	}
	for _, act := range acts[:min(writes, len(acts))] {
		act()
	}
	return len(acts) > 0
}

func (c *cluster) writeAddon(subject *v1alpha1.Installer, change PlannedChange) {
	if change.Action == v1alpha1.ActionRemove {
		c.checkRemoval(subject, change.Addon)
	}
	addon := c.addons[change.Addon]
	if addon == nil {
		addon = present(subject.Name, change.Addon)
		addon.UID = c.uid()
		delete(c.said, addon.Name)
	}
	addon = addon.DeepCopy()
	spec := change.Now()
	addon.Spec = *spec.DeepCopy()
	addon.Generation++
	c.addons[change.Addon] = addon
}

func (c *cluster) observe(name string) Observation {
	o := Observation{
		Addon: c.addons[name], Releases: c.observed(name), Kubernetes: c.kubernetes,
		Owners: map[string]OwnerFinding{}, Charts: map[string]ChartFinding{},
	}
	def, err := c.catalog().Get(name)
	if err != nil {
		o.Problem = err.Error()
	}
	o.Definition, o.Digest = def, c.catalog().Digest(name)
	for _, other := range c.catalog().Names() {
		if needing, err := c.catalog().Get(other); err == nil {
			o.Needs = append(o.Needs, NeedsBy(needing, c.observed(other), name)...)
		}
	}
	dependents := map[string]bool{}
	for _, release := range c.releases {
		for _, needed := range release.dependsOn {
			if _, ours := o.Releases[needed]; ours && release.addon != name && release.addon != "" {
				dependents[release.addon] = true
			}
		}
	}
	o.Dependents = sortedKeys(dependents)
	if def != nil {
		o.Dependencies = c.dependencies(def)
	}
	c.quote(&o)
	return o
}

func (c *cluster) dependencies(def *v1alpha1.AddonDefinition) (list []Dependency) {
	for _, needed := range Needs(def, c.catalog(), c.addons) {
		dependency := Dependency{Name: needed}
		if addon := c.addons[needed]; addon != nil {
			dependency.Definition, _ = c.catalog().Get(needed)
			dependency.Desired, dependency.Releases = addon.Spec.Version, c.observed(needed)
		}
		list = append(list, dependency)
	}
	return list
}

// addonPass does one pass for an Addon, of which only so many writes happen. It returns whether anything changed.
func (c *cluster) addonPass(name string, writes int) bool {
	o, d := c.decide(name)
	c.checkHop(o, d)
	changed := c.report(o, d)
	acts := c.acts(name, d)
	for _, act := range acts[:min(writes, len(acts))] {
		changed = act() || changed
	}
	return changed
}

// acts are the writes of a pass, in order. Each returns whether it changed anything.
func (c *cluster) acts(name string, d Decision) (list []func() bool) {
	for _, release := range d.LetGo {
		list = append(list, func() bool { return c.letGo(release) })
	}
	for _, release := range d.Write {
		if live := c.releases[release.Name]; live == nil || !live.deleting {
			list = append(list, func() bool { return c.write(release, d.Version) })
		}
	}
	for _, release := range d.Delete {
		list = append(list, func() bool { return c.remove(release) })
	}
	for _, release := range sortedKeys(d.Poke) {
		list = append(list, func() bool { return c.poke(release, d.Poke[release]) })
	}
	for _, release := range sortedKeys(c.observed(name)) {
		switch {
		case d.Gone:
			list = append(list, func() bool { return c.letGo(release) })
		case d.HandOver:
			list = append(list, func() bool { return c.handOver(release) })
		}
	}
	if d.Gone || d.HandOver {
		list = append(list, func() bool {
			delete(c.addons, name)
			delete(c.target, name)
			delete(c.said, name)
			return true
		})
	}
	return list
}

func TestSimulatedClustersConverge(t *testing.T) {
	t.Parallel()
	for i := range 3 { // three times as many worlds as rapid draws by itself: the rarest troubles show in one of hundreds
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, converges)
		})
	}
}

// converges checks that whatever happened, in the end exactly what is wanted runs, and that nothing is left when nothing is.
func converges(t *rapid.T) {
	c := settledCluster(t)
	for _, subject := range c.installers {
		subject.Spec.Addons = nil
	}
	c.settleWillingly()
	c.requireSettled()
}
