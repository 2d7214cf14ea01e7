package addons

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// approve has a person approve the plan of an Installer that is shown now. It returns whether there was something to approve.
func (c *cluster) approve(subject *v1alpha1.Installer) bool {
	_, plan := c.plan(subject)
	if Approve(subject, plan).Required == "" {
		return false
	}
	annotate(subject, v1alpha1.AnnotationApprovedPlan, plan.Digest)
	for _, change := range plan.Changes {
		if change.Action == v1alpha1.ActionRemove {
			c.approved[c.removalOf(subject, change.Addon)] = true
		}
		c.approved[agreement(subject, change)] = true
	}
	return true
}

// agreement identifies a change that one edit of an Installer asks for.
func agreement(subject *v1alpha1.Installer, change PlannedChange) string {
	return fmt.Sprintf("%s %s %d: %s %s", subject.Name, subject.UID, subject.Generation, change.Addon, digestOf(canonical(change.Spec)))
}

// allow has a person allow the replacements that an add-on asks for now. It returns whether it asked for any.
func (c *cluster) allow(name string) bool {
	_, d := c.decide(name)
	if d.Hold == nil {
		return false
	}
	_, token, asks := strings.Cut(d.Hold.Message, v1alpha1.AnnotationAllowReplace+"=")
	if !asks {
		return false
	}
	addon := c.addons[name].DeepCopy()
	annotate(addon, v1alpha1.AnnotationAllowReplace, token)
	c.addons[name] = addon
	def, _ := c.catalog().Get(name)
	for release, live := range c.releases {
		if live.addon != name {
			continue
		}
		at := slices.IndexFunc(def.Spec.Releases, func(part v1alpha1.ReleaseDefinition) bool { return part.Name == release })
		by := identity{}
		if at >= 0 {
			by = identity{def.Spec.Releases[at].Chart.Name, def.Spec.Releases[at].Namespace}
		}
		c.allowed[release] = replacement(live, by)
	}
	return true
}

func annotate(object metav1.Object, key, value string) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

func toggleSuspension(r *helmRelease) {
	r.generation++
	if r.suspendedBy == "" {
		r.suspendedBy = "flux"
	} else {
		r.suspendedBy = ""
	}
}

// settle lets operator and Flux go on, without interference, until nothing changes any more.
func (c *cluster) settle() { c.goOn(func() bool { return false }) }

// settleWillingly has people agree to whatever the operator asks for.
func (c *cluster) settleWillingly() {
	c.goOn(func() bool {
		agreed := false
		for _, subject := range c.installers {
			agreed = c.approve(subject) || agreed
		}
		for _, name := range sortedKeys(c.addons) {
			agreed = c.allow(name) || agreed
		}
		return agreed
	})
}

func (c *cluster) goOn(people func() bool) {
	const rounds = 300
	for range rounds {
		c.catchUp()
		changed := people()
		for _, subject := range slices.Clone(c.installers) {
			changed = c.installerPass(subject, 100) || changed
		}
		for _, name := range sortedKeys(c.addons) {
			changed = c.addonPass(name, 100) || changed
		}
		for _, name := range sortedKeys(c.releases) {
			changed = c.flux(c.releases[name], true) || changed
		}
		if !changed {
			c.checkExplained()
			return
		}
	}
	c.Fatalf("nothing settles after %d rounds: %s", rounds, c.describe())
}

func (c *cluster) describe() (lines string) {
	for _, name := range sortedKeys(c.addons) {
		o, d := c.decide(name)
		s := Summarize(o, d)
		lines += fmt.Sprintf("\n%s %s, %s at %q: %s", c.addons[name].Spec.State, name, s.State, s.Version, s.Message)
		for _, release := range sortedKeys(o.Releases) {
			lines += fmt.Sprintf("\n  %+v", o.Releases[release])
		}
	}
	for _, subject := range c.installers {
		resolution, plan := c.plan(subject)
		lines += fmt.Sprintf("\nInstaller %s: problems %v; approve %q", subject.Name, resolution.Problems, Approve(subject, plan).Required)
		for _, change := range plan.Changes {
			lines += fmt.Sprintf("\n  %s %s from %s to %s, by way of %q: %s; waits: %q", change.Action, change.Addon, change.From, change.To, change.Stage, change.Reason, change.Waits)
		}
	}
	return lines
}

// requireSettled checks that exactly what the Installers list runs, at its versions.
func (c *cluster) requireSettled() {
	wanted := c.wanted()
	for name := range c.addons {
		if wanted[name] == "" {
			c.Fatalf("add-on %s is not wanted, and still there: %s", name, c.describe())
		}
	}
	should := 0
	for name, version := range wanted {
		if c.addons[name] == nil {
			c.Fatalf("add-on %s is wanted, and not there", name)
		}
		o, d := c.decide(name)
		if s := Summarize(o, d); s.State != v1alpha1.StateReady || s.Version != version {
			c.Fatalf("add-on %s is to run %s, and is %s at %s: %s", name, version, s.State, s.Version, c.describe())
		}
		should += len(findVersion(o.Definition, version).Releases)
	}
	ours := 0
	for _, live := range c.releases {
		if live.addon != "" {
			ours++
		}
	}
	if ours != should {
		c.Fatalf("there are %d releases, and should be %d", ours, should)
	}
}
