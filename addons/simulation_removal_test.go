package addons

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// settledCluster draws a cluster that has been through something, and in which exactly what is wanted runs.
func settledCluster(t *rapid.T) *cluster {
	c := someCluster(t)
	t.Repeat(c.disturbances())
	c.calm(t)
	c.settleWillingly()
	c.requireSettled()
	return c
}

// state is what Flux and Helm have of an add-on, as text.
func (c *cluster) state(addon string) (lines string) {
	for _, name := range sortedKeys(c.releases) {
		if live := *c.releases[name]; live.addon == addon {
			live.requested, live.looked = "", "" // to be asked to look again does no harm
			lines += fmt.Sprintf("%+v\n", live)
		}
	}
	return lines
}

// closeSome closes a Remove gate of some add-ons, which get one if they have none. It returns these, and all that must stay with them.
func (c *cluster) closeSome(t *rapid.T) (staying map[string]bool) {
	staying = map[string]bool{}
	for i := range c.definitions {
		def := &c.definitions[i]
		if c.addons[def.Name] == nil || rapid.Bool().Draw(t, "closed") {
			continue
		}
		gate(v1alpha1.MomentRemove, "keep")(def)
		c.closed[checkKey{def.Name, "keep"}] = true
		staying[def.Name] = true
	}
	c.current = nil
	for before := -1; before != len(staying); {
		before = len(staying)
		for _, live := range c.releases {
			for _, needed := range live.dependsOn {
				if other := c.releases[needed]; staying[live.addon] && other != nil {
					staying[other.addon] = true
				}
			}
		}
	}
	return staying
}

func TestWhatAClosedGateKeepsIsNotTouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := settledCluster(t)
		for _, subject := range c.installers {
			subject.Spec.Approval = v1alpha1.ApprovalAutomatic
		}
		staying, lists, before := c.closeSome(t), map[string][]v1alpha1.InstallerAddon{}, map[string]string{}
		for name := range staying {
			before[name] = c.state(name)
		}
		for _, subject := range c.installers {
			lists[subject.Name], subject.Spec.Addons = subject.Spec.Addons, nil
			subject.Generation++
		}
		c.settleWillingly()
		if left := slices.Sorted(maps.Keys(c.addons)); !slices.Equal(left, sortedKeys(staying)) {
			t.Fatalf("%v stay, and should %v", left, sortedKeys(staying))
		}
		for name := range staying {
			if now := c.state(name); now != before[name] {
				t.Fatalf("add-on %s was touched:\n%s%s", name, before[name], now)
			}
		}
		runs, deleted := c.runs(staying), c.deleted
		for _, subject := range c.installers {
			subject.Spec.Addons = lists[subject.Name]
			subject.Generation++
		}
		c.settleWillingly()
		c.requireSettled()
		if now := c.runs(staying); !maps.Equal(now, runs) || c.deleted != deleted {
			t.Fatalf("%d HelmReleases were deleted to put everything back, and what stayed was %v and is %v", c.deleted-deleted, runs, now)
		}
	})
}

// runs says which HelmReleases of some add-ons there are, and what runs.
func (c *cluster) runs(addons map[string]bool) map[string]string {
	running := map[string]string{}
	for name, live := range c.releases {
		if addons[live.addon] {
			running[name] = fmt.Sprintf("%s at %s, deleted %v", live.uid, live.deployed, live.deleting)
		}
	}
	return running
}

func TestDeletedInstallersGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := settledCluster(t)
		policy := rapid.SampledFrom([]v1alpha1.DeletionPolicy{"", v1alpha1.DeletionRemove, v1alpha1.DeletionOrphan}).Draw(t, "policy")
		addons, left, deleted := len(c.addons), len(c.releases), c.deleted
		for _, subject := range c.installers {
			subject.DeletionTimestamp, subject.Spec.DeletionPolicy = &metav1.Time{}, policy
			delete(subject.Annotations, v1alpha1.AnnotationConfirmDelete)
		}
		c.settleWillingly()
		if c.deleted != deleted || len(c.addons) != addons {
			t.Fatalf("unconfirmed, %d HelmReleases were deleted, and %d of %d Addons are left", c.deleted-deleted, len(c.addons), addons)
		}
		if policy != v1alpha1.DeletionOrphan {
			left = len(c.observed(""))
		}
		for _, subject := range c.installers {
			annotate(subject, v1alpha1.AnnotationConfirmDelete, subject.Name)
		}
		c.settleWillingly()
		if len(c.installers)+len(c.addons) > 0 {
			t.Fatalf("Installers %v are left: %s", c.installers, c.describe())
		}
		for _, live := range c.releases {
			if live.deleting || live.ours || live.addon != "" {
				t.Fatalf("release %s is left: %+v", live.name, live)
			}
		}
		if len(c.releases) != left || policy == v1alpha1.DeletionOrphan && c.deleted != deleted {
			t.Fatalf("under policy %q, %d HelmReleases are left, and should be %d; %d were deleted", policy, len(c.releases), left, c.deleted-deleted)
		}
	})
}
