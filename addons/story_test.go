package addons

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// story tells in English what operator and Flux do, one line a step, until nothing happens any more.
type story struct {
	*cluster

	failing map[string]bool   // releases that Helm cannot bring up for now, at any version or, as "db 1.6.0", at one
	events  map[string]func() // what happens once a release is "writing" or "settled" at a version, as "writing db 1.6.0"
	lines   []string
	states  map[string]string // what was last said of add-ons, and of their problems
}

func newStory(t *testing.T, definitions ...v1alpha1.AddonDefinition) *story {
	t.Helper()
	c := newCluster(t, definitions...)
	c.catalogue = func(definitions []v1alpha1.AddonDefinition) Catalog { return catalogOf(definitions...) }
	return &story{cluster: c, failing: map[string]bool{}, events: map[string]func(){}, states: map[string]string{}}
}

func (s *story) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// list sets what the Installer lists, and tells what follows.
func (s *story) list(entries ...string) {
	s.say("The Installer lists %s.", cmp.Or(strings.Join(entries, ", "), "nothing"))
	s.installers[0].Spec.Addons = want(entries...)
	s.installers[0].Generation++
	s.tellPlansAgain()
	s.goOn()
}

func (s *story) tellPlansAgain() {
	maps.DeleteFunc(s.states, func(of, _ string) bool { return strings.HasPrefix(of, "plan for ") })
}

func (s *story) goOn() {
	for changed := true; changed; {
		s.catchUp()
		changed = s.plan()
		for _, name := range sortedKeys(s.addons) {
			changed = s.operate(name) || changed
		}
		for _, name := range sortedKeys(s.releases) {
			changed = s.watchFlux(s.releases[name]) || changed
		}
	}
	s.say("")
}

func (s *story) plan() bool {
	world, running := s.world(), map[string]string{}
	for name := range s.addons {
		running[name] = RunningVersion(s.observe(name).Definition, s.observed(name))
	}
	resolution := Resolve(world, s.installers[0])
	for _, problem := range resolution.Problems {
		s.news("problem of "+problem.Addon, "  problem %s", problem.Message)
	}
	plan := MakePlan(world, s.installers[0], resolution, running)
	if plan.Guarded != "" && s.approve(s.installers[0]) {
		s.say("  approve %s", plan.Guarded)
	}
	s.askFor(plan)
	for _, change := range plan.Due() {
		s.news("plan for "+change.Addon, "  plan    %s", changeLine(change))
	}
	for _, change := range plan.Changes {
		if change.Waits != "" {
			s.news("hold of "+change.Addon, "  held    %s %s", change.Addon, change.Waits)
		}
	}
	return s.installerPass(s.installers[0], 100)
}

var digests = regexp.MustCompile(`sha256:[0-9a-f]+`)

// askFor shows people a plan, as status.plan does, and tells what they are asked to approve.
func (s *story) askFor(plan Plan) {
	subject := s.installers[0]
	approval := Approve(subject, plan)
	subject.Status.Plan, subject.Status.ObservedGeneration = nil, subject.Generation
	if approval.Required == "" {
		return
	}
	s.news("approval", "  asks    %s", digests.ReplaceAllString(approval.Required, "<digest>"))
	subject.Status.Approved = approval.Record
	subject.Status.Plan = &v1alpha1.Plan{Digest: plan.Digest, Kubernetes: plan.Kubernetes}
	for i := range plan.Changes {
		subject.Status.Plan.Changes = append(subject.Status.Plan.Changes, plan.Changes[i].Change)
	}
}

// news says something, unless that was the last that was said of the same.
func (s *story) news(of, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != s.states[of] {
		s.say("%s", text)
		s.states[of] = text
	}
}

// operate does one pass for an add-on, and tells what it did and says.
func (s *story) operate(name string) bool {
	_, d := s.decide(name)
	generations := map[string]int{}
	for release, live := range s.releases {
		generations[release] = live.generation
	}
	changed := s.addonPass(name, 100)
	for _, release := range d.Write {
		if s.releases[release.Name].generation > generations[release.Name] {
			s.say("  write   %s", writeLine(release))
			s.happen("writing " + release.Name + " " + release.ChartVersion)
		}
	}
	for _, release := range sortedKeys(d.Poke) {
		s.say("  poke    release %s: what it waits for has settled", release)
	}
	for _, release := range d.Delete {
		s.say("  delete  release %s", release)
	}
	if d.Gone {
		s.say("  forget  %s: all of it is uninstalled", name)
		delete(s.states, name)
		return changed
	}
	now, _ := s.decide(name)
	summary := Summarize(now, d)
	s.news(name, "  status  %s is %s: %s", name, summary.State, summary.Message)
	return changed
}

func writeLine(release Release) string {
	line := fmt.Sprintf("release %s at %s", release.Name, release.ChartVersion)
	if len(release.DependsOn) > 0 {
		line += ", after " + strings.Join(release.DependsOn, " and ")
	}
	return line
}

func (s *story) watchFlux(r *helmRelease) bool {
	before, fails := r.phase(), s.failing[r.name] || s.failing[r.name+" "+r.asked]
	if before == PhaseFailing && fails {
		return false
	}
	changed := s.flux(r, !fails)
	switch {
	case r.deleting && changed:
		s.say("  flux    has uninstalled release %s", r.name)
	case r.phase() == PhaseSettled && before != PhaseSettled:
		s.say("  flux    has settled release %s at %s", r.name, r.deployed)
		s.happen("settled " + r.name + " " + r.deployed)
	case r.phase() == PhaseFailing && before != PhaseFailing:
		s.say("  flux    fails on release %s", r.name)
	}
	return changed
}

// happen has an event take place, once.
func (s *story) happen(when string) {
	if event := s.events[when]; event != nil {
		delete(s.events, when)
		event()
	}
}

// redefine replaces a definition.
func (s *story) redefine(def v1alpha1.AddonDefinition) {
	for i := range s.definitions {
		if s.definitions[i].Name == def.Name {
			s.definitions[i] = def
		}
	}
	s.current = nil
}

func diamond() []v1alpha1.AddonDefinition {
	return []v1alpha1.AddonDefinition{
		define("base", versions("1.0.0", "1.1.0")), define("left", requires("base")), define("right", requires("base")),
		define("top", requires("left", "right")),
	}
}

// tale is a story, and the catalogue that it begins with.
type tale struct {
	catalog []v1alpha1.AddonDefinition
	tell    func(*story)
}

func requireTales(t *testing.T, tales map[string]tale) {
	t.Helper()
	for name, tale := range tales {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, tale.catalog...)
			tale.tell(s)
			requireGolden(t, strings.ReplaceAll(name, " ", "-"), strings.Join(slices.Compact(s.lines), "\n")+"\n")
		})
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	rook := define("rook", releases("operator", "cluster"), versions("1.17.0", "1.18.11", "1.19.7"),
		upgradeFrom("1.18.11", ">=1.17.0 <1.19"), upgradeFrom("1.19.7", ">=1.18.0 <1.20"))
	registry := define("registry", versions("2.7.0", "2.8.0"), needs(v1alpha1.Requirement{Addon: "rook", Version: ">=1.17"}))
	requireTales(t, map[string]tale{
		"install a diamond": {diamond(), func(s *story) {
			s.list("top", "left", "right", "base")
		}},
		"upgrade hop by hop": {[]v1alpha1.AddonDefinition{rook, registry}, func(s *story) {
			s.list("rook@1.17.0", "registry@2.7.0")
			s.list("rook@1.19.7", "registry@2.8.0")
			s.list("rook@1.18.11", "registry@2.8.0")
		}},
		"remove in reverse order": {diamond(), func(s *story) {
			s.list("base@1.0.0", "left", "right", "top")
			s.list("right", "base@1.0.0")
			s.list("right")
			s.list()
		}},
		"one fails and recovers": {diamond(), func(s *story) {
			s.failing["left"] = true
			s.list("base@1.0.0", "left", "right", "top")
			s.list("base@1.1.0", "left", "right", "top", "botom")
			s.say("What kept left from starting is mended.")
			clear(s.failing)
			s.goOn()
		}},
		"change one for another that conflicts": {[]v1alpha1.AddonDefinition{define("contour", conflicts("traefik", "")), define("traefik")}, func(s *story) {
			s.list("contour")
			s.list("traefik")
		}},
	})
}
