package addons

import (
	"fmt"
	"slices"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// helmRelease models one HelmRelease: what is asked for, and how far Flux has come with it.
type helmRelease struct {
	addon, name string // no add-on once it was handed over
	installer   string
	uid         string
	spec        string // everything in it that makes a new generation
	asked       string
	askedFor    identity
	dependsOn   []string
	generation  int
	suspendedBy string
	requested   string
	handled     string
	seen        int  // generation at which Flux has looked at it last, once it was deleted
	ours, flux  bool // finalizers
	deleting    bool
	assumed     bool // Flux found nothing to uninstall

	history    bool // Helm has tried something
	installed  identity
	deployed   string
	revision   int64
	working    bool // Flux is at work on workOn
	workOn     string
	workFor    identity
	workOf     int
	attempted  int // generation of the last finished attempt
	failed     bool
	remembered string // deployed when the spec was last changed, if anything was
	forgotten  bool   // helm-controller died at work, and its history names nothing deployed until it succeeds
	waiting    int    // generation that was found to wait for others
	looked     string // the last request at which it was found so
}

// identity is what Flux cannot change of a release but by reinstalling it.
type identity struct{ chart, namespace string }

func identityOf(release Release) identity { return identity{release.Chart, release.Namespace} }

func (r *helmRelease) phase() Phase {
	switch {
	case r.deleting:
		return PhaseDeleting
	case r.attempted == r.generation && r.failed && !r.working:
		return PhaseFailing
	case r.attempted == r.generation && !r.failed && r.deployed == r.asked && r.suspendedBy == "":
		return PhaseSettled
	case r.waiting == r.generation && !r.working && r.suspendedBy == "":
		return PhaseWaiting
	default:
		return PhaseProgressing
	}
}

func (r *helmRelease) uninstall() Uninstall {
	switch {
	case !r.deleting || r.flux:
		return UninstallUnderway
	case r.history:
		return UninstallSkipped
	case r.assumed:
		return UninstallAssumed
	default:
		return UninstallDone
	}
}

// known is what the operator takes for deployed.
func (r *helmRelease) known() string {
	if r.forgotten && !r.deleting {
		return r.remembered
	}
	return r.deployed
}

func (r *helmRelease) observe() Observed {
	return Observed{
		Name: r.name, UID: r.uid, Namespace: r.askedFor.namespace, AskedChart: r.askedFor.chart, Phase: r.phase(), SuspendedBy: r.suspendedBy,
		Chart: r.installed.chart, TargetNamespace: r.installed.namespace,
		AskedVersion: r.asked, ChartVersion: r.known(), Revision: r.revision, DependsOn: r.dependsOn,
		Requested: r.requested, Handled: r.handled, Uninstall: r.uninstall(),
		Token:   fmt.Sprintf("%d.%d", r.generation, r.revision),
		Message: messages[r.phase()],
	}
}

// messages are close to what Flux says.
var messages = map[Phase]string{
	PhaseSettled: "Helm succeeded", PhaseProgressing: "Helm is at work", PhaseWaiting: "a dependency is not ready",
	PhaseFailing: "Helm timed out waiting for 1 Deployment", PhaseDeleting: "Helm uninstalls",
}

// flux models what Flux does to a release when it looks at it. It returns whether that changed anything.
func (c *cluster) flux(r *helmRelease, succeed bool) bool {
	switch {
	case r.deleting:
		return c.uninstall(r, succeed)
	case !r.flux:
		r.flux = true
		return true
	case r.suspendedBy != "":
		return false
	case r.working:
		c.finish(r, succeed)
		return true
	case r.phase() == PhaseSettled || c.deaf && r.phase() == PhaseWaiting && r.looked == r.requested:
		return false
	case slices.ContainsFunc(r.dependsOn, func(name string) bool { return c.releases[name] == nil || c.releases[name].phase() != PhaseSettled }):
		changed := r.waiting != r.generation
		r.waiting, r.looked = r.generation, r.requested
		return changed
	default:
		r.working, r.workOn, r.workFor, r.workOf = true, r.asked, r.askedFor, r.generation
		return true
	}
}

// finish ends an attempt. One at another chart or namespace than the installed ones uninstalls those first.
func (c *cluster) finish(r *helmRelease, succeed bool) {
	if r.installed != r.workFor {
		r.deployed, r.revision, r.forgotten = "", 0, false
	}
	r.working, r.attempted, r.failed, r.history, r.installed = false, r.workOf, !succeed, true, r.workFor
	c.records[r.name] = true
	if succeed {
		r.deployed, r.forgotten = r.workOn, false
		r.revision++
	}
}

// killFlux lets helm-controller begin what there is to do, and die of it. What it goes on with then has no history.
func (c *cluster) killFlux() {
	c.lookAtAll()
	for _, name := range sortedKeys(c.releases) {
		r := c.releases[name]
		if !r.deleting && !r.working {
			c.flux(r, true)
		}
		r.forgotten = r.forgotten || r.working
	}
	c.lookAtAll()
}

func (c *cluster) lookAtAll() {
	for _, name := range sortedKeys(c.addons) {
		if c.addons[name] != nil {
			c.addonPass(name, 100)
		}
	}
}

// uninstall models a look of Flux at a HelmRelease that is being deleted: the first, and each that it is asked for afterwards.
func (c *cluster) uninstall(r *helmRelease, succeed bool) bool {
	skip := r.suspendedBy != "" || c.crippled
	if !r.flux && r.handled == r.requested && r.seen == r.generation || !succeed && !skip {
		return false
	}
	r.flux, r.working, r.handled, r.seen = false, false, r.requested, r.generation
	if !skip {
		r.assumed = r.history && !c.records[r.name]
		r.history, r.deployed, r.revision, r.installed = false, "", 0, identity{}
		delete(c.records, r.name)
	}
	c.collect(r)
	return true
}

// collect lets a deleted HelmRelease go that no finalizer holds.
func (c *cluster) collect(r *helmRelease) {
	if r.deleting && !r.flux && !r.ours {
		delete(c.releases, r.name)
	}
}

// write models applying a HelmRelease for a version. It returns whether that changed anything.
func (c *cluster) write(release Release, version string) bool {
	spec := fmt.Sprintf("%s %v %v %v %s", release.ChartVersion, identityOf(release), release.DependsOn, release.Defaults, text(release.Values))
	live := c.releases[release.Name]
	c.checkTakeover(release, live)
	if live == nil {
		live = &helmRelease{addon: release.Addon, name: release.Name, uid: string(c.uid())}
		c.releases[release.Name] = live
	}
	if live.spec == spec && live.ours && live.addon == release.Addon && live.installer == release.Installer {
		return false
	}
	c.checkWrite(live, release)
	if live.spec != spec {
		live.generation++
		live.remember(identityOf(release))
	}
	live.spec, live.asked, live.askedFor, live.dependsOn = spec, release.ChartVersion, identityOf(release), release.DependsOn
	live.addon, live.installer, live.ours = release.Addon, release.Installer, true
	c.target[live.addon] = version
	return true
}

// remember models what is taken down on a HelmRelease whose spec changes.
func (r *helmRelease) remember(next identity) {
	switch {
	case r.askedFor != next:
		r.remembered = ""
	case !r.forgotten && r.deployed != "":
		r.remembered = r.deployed
	}
}

func (c *cluster) poke(name, token string) bool {
	live := c.releases[name]
	if live.uninstall() == UninstallSkipped { // it is tried again
		c.checkUninstall(live)
	}
	waits := live.phase() == PhaseWaiting
	live.requested = token
	if waits {
		c.flux(live, true)
	}
	return true
}

// remove deletes a HelmRelease; one that lost our finalizer gets that first, and is deleted in the next pass.
func (c *cluster) remove(name string) bool {
	live := c.releases[name]
	if !live.ours {
		live.ours = true
		return true
	}
	c.checkUninstall(live)
	c.deleted++
	c.delete(live)
	return true
}

func (c *cluster) delete(r *helmRelease) {
	if !r.deleting {
		r.deleting = true
		r.generation++
	}
	c.collect(r)
}

func (c *cluster) letGo(name string) bool {
	live := c.releases[name]
	if !live.deleting || live.uninstall() == UninstallUnderway {
		c.Fatalf("I1: let go of release %s before Flux was done with it", name)
	}
	live.ours = false
	c.collect(live)
	return true
}

func (c *cluster) handOver(name string) bool {
	live := c.releases[name]
	if addon := c.addons[live.addon]; addon.Spec.State != v1alpha1.Orphaned {
		c.Fatalf("I6: handed release %s over, and add-on %s is %s", name, addon.Name, addon.Spec.State)
	}
	if live.deleting && live.uninstall() == UninstallUnderway {
		c.Fatalf("handed release %s over while Flux was uninstalling it", name)
	}
	live.addon, live.ours = "", false
	c.collect(live)
	return true
}

func (c *cluster) observed(addon string) map[string]Observed {
	observed := map[string]Observed{}
	for name, release := range c.releases {
		if release.addon == addon {
			observed[name] = release.observe()
		}
	}
	return observed
}
