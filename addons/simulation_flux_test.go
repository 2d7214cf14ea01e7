package addons

import (
	"fmt"
	"slices"
)

// helmRelease models one HelmRelease: what is asked for, and how far Flux has come with it.
type helmRelease struct {
	addon, name string
	spec        string // everything in it that makes a new generation
	asked       string
	dependsOn   []string
	generation  int
	suspendedBy string
	requested   string
	deleting    bool

	deployed  string
	revision  int64
	working   bool // Flux is at work on workOn
	workOn    string
	workOf    int
	attempted int // generation of the last finished attempt
	failed    bool
	waiting   int    // generation that was found to wait for others
	looked    string // the last request at which it was found so
}

func (r *helmRelease) phase() Phase {
	switch {
	case r.deleting:
		return PhaseDeleting
	case r.attempted == r.generation && r.failed && !r.working:
		return PhaseFailing
	case r.attempted == r.generation && !r.failed && r.deployed == r.asked:
		return PhaseSettled
	case r.waiting == r.generation && !r.working:
		return PhaseWaiting
	default:
		return PhaseProgressing
	}
}

func (r *helmRelease) observe() Observed {
	return Observed{
		Chart: r.name, TargetNamespace: r.addon,
		Name: r.name, Namespace: r.addon, Phase: r.phase(), SuspendedBy: r.suspendedBy,
		AskedVersion: r.asked, ChartVersion: r.deployed, Revision: r.revision, Requested: r.requested, DependsOn: r.dependsOn,
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
		delete(c.releases, r.name)
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
		r.working, r.workOn, r.workOf = true, r.asked, r.generation
		return true
	}
}

func (c *cluster) finish(r *helmRelease, succeed bool) {
	r.working, r.attempted, r.failed = false, r.workOf, !succeed
	if succeed {
		r.deployed = r.workOn
		r.revision++
	}
}

// write models applying a HelmRelease for a version. It returns whether that changed anything.
func (c *cluster) write(release Release, version string) bool {
	spec := fmt.Sprintf("%s %v %v %s", release.ChartVersion, release.DependsOn, release.Defaults, text(release.Values))
	live := c.releases[release.Name]
	if live == nil {
		live = &helmRelease{addon: release.Addon, name: release.Name}
		c.releases[release.Name] = live
	}
	if live.spec == spec {
		return false
	}
	if live.suspendedBy != "" || live.deleting || live.addon != release.Addon {
		c.Fatalf("I3: wrote release %s, which is suspended by %q, deleted %v, and of add-on %s", live.name, live.suspendedBy, live.deleting, live.addon)
	}
	live.spec, live.asked, live.dependsOn = spec, release.ChartVersion, release.DependsOn
	live.generation++
	c.target[live.addon] = version
	return true
}

func (c *cluster) poke(name, token string) bool {
	c.releases[name].requested = token
	c.flux(c.releases[name], true)
	return true
}

func (c *cluster) remove(name string) bool {
	live := c.releases[name]
	if c.addons[live.addon].Spec.State != "Absent" {
		c.Fatalf("I1: deleted release %s, although add-on %s is wanted", name, live.addon)
	}
	if live.suspendedBy != "" {
		c.Fatalf("I3: deleted release %s, although it is suspended", name)
	}
	for _, other := range c.releases {
		if slices.Contains(other.dependsOn, name) {
			c.Fatalf("I1: deleted release %s, although %s depends on it", name, other.name)
		}
	}
	live.deleting = true
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
