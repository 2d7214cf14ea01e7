package addons

import (
	"strings"
	"testing"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// database moves from minor to minor, while its replicas are in sync.
func database(edits ...edit) v1alpha1.AddonDefinition {
	return databaseAt([]string{"1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0"}, edits...)
}

func databaseAt(listed []string, edits ...edit) v1alpha1.AddonDefinition {
	return define("database", append([]edit{releases("db"), versions(listed...), gate(v1alpha1.MomentUpgrade, "replicas-in-sync")}, edits...)...)
}

// runsWith narrows what a version requires.
func runsWith(version, other, within string) edit {
	return at(version, func(v *v1alpha1.VersionDefinition) {
		v.Requires = append(v.Requires, v1alpha1.VersionRequirement{Addon: other, Version: within})
	})
}

// shop needs the database, and a version of its own.
func shop() v1alpha1.AddonDefinition {
	return define("shop", versions("3.0.0", "3.1.0"), requires("database"))
}

func TestUpgradeStories(t *testing.T) {
	t.Parallel()
	gate := checkKey{"database", "replicas-in-sync"}
	requireTales(t, map[string]tale{
		"install a chain": {[]v1alpha1.AddonDefinition{define("storage", healthy("capacity")), databaseAt([]string{"1.4.0"}, requires("storage")), shop()}, func(s *story) {
			capacity := checkKey{"storage", "capacity"}
			s.closed[capacity], s.because[capacity] = true, "no disk has been added to it"
			s.list("shop@3.0.0", "database", "storage")
			s.then("A disk is added.", func() { delete(s.closed, capacity) })
		}},
		"a gate closes at the third hop": {[]v1alpha1.AddonDefinition{database(), shop()}, func(s *story) {
			s.list("database@1.4.0", "shop@3.0.0")
			s.on("settled db 1.6.0", "A replica of the database falls behind.", func() {
				s.closed[gate], s.because[gate] = true, "replica 2 is 40 MB behind; wait until it has caught up"
			})
			s.list("database@1.8.0", "shop@3.1.0")
			s.then("The replica has caught up.", func() { delete(s.closed, gate) })
		}},
		"a hop fails and its version is mended": {[]v1alpha1.AddonDefinition{database(), shop()}, func(s *story) {
			s.list("database@1.4.0", "shop@3.0.0")
			s.failing["db 1.6.0"] = true
			s.list("database@1.8.0", "shop@3.1.0")
			s.then("The catalogue gets 1.6.1, which mends 1.6.0.", func() {
				s.redefine(databaseAt([]string{"1.4.0", "1.5.0", "1.6.0", "1.6.1", "1.7.0", "1.8.0"}))
			})
		}},
		"a hop fails and its values are mended": {[]v1alpha1.AddonDefinition{database()}, func(s *story) {
			s.list("database@1.4.0")
			s.failing["db 1.5.0"] = true
			s.list("database@1.6.0")
			s.then("The Installer gives the database the memory that 1.5.0 needs.", func() {
				s.installers[0].Spec.Addons[0].Values = rawJSON(`{"memory":"2Gi"}`)
				clear(s.failing)
			})
		}},
		"the catalogue changes on the way": {[]v1alpha1.AddonDefinition{database()}, func(s *story) {
			s.list("database@1.4.0")
			s.on("writing db 1.6.0", "Meanwhile the catalogue lets 1.6 and later move to 1.8.0 at once.", func() {
				s.redefine(database(upgradeFrom("1.8.0", ">=1.6")))
			})
			s.list("database@1.8.0")
		}},
		"the catalogue loses the wanted version on the way": {[]v1alpha1.AddonDefinition{database()}, func(s *story) {
			s.list("database@1.4.0")
			s.on("settled db 1.5.0", "1.8.0 leaves the catalogue.", func() {
				s.redefine(databaseAt([]string{"1.4.0", "1.5.0", "1.6.0", "1.7.0"}))
			})
			s.list("database@1.8.0")
			s.list("database@1.7.0")
		}},
		"a version lower than the running one is refused": {[]v1alpha1.AddonDefinition{database()}, func(s *story) {
			s.list("database@1.6.0")
			s.list("database@1.5.0")
			s.list("database")
		}},
		"Kubernetes is too old for a hop": {[]v1alpha1.AddonDefinition{database(onKubernetes("1.4.0", "<1.34"), onKubernetes("1.7.0", ">=1.32")), shop()}, func(s *story) {
			s.kubernetes = "v1.31.4"
			s.list("database@1.4.0", "shop@3.0.0")
			s.list("database@1.8.0", "shop@3.1.0")
			s.list("database@1.6.0", "shop@3.0.0")
			s.then("Kubernetes is upgraded to 1.33.", func() { s.kubernetes = "v1.33.1" })
			s.list("database@1.8.0", "shop@3.1.0")
		}},
		"two add-ons move in turns": {[]v1alpha1.AddonDefinition{
			define("operator", versions("1.0.0", "1.1.0", "1.2.0")),
			define("broker", versions("3.0.0", "3.1.0", "3.2.0"), requires("operator"),
				runsWith("3.0.0", "operator", ">=1.0 <1.2"), runsWith("3.1.0", "operator", ">=1.1"), runsWith("3.2.0", "operator", ">=1.2")),
		}, func(s *story) {
			s.list("broker@3.0.0", "operator@1.0.0")
			s.list("broker@3.2.0", "operator@1.2.0")
		}},
		"an approval is void once the catalogue changes": {[]v1alpha1.AddonDefinition{database()}, func(s *story) {
			subject := s.installers[0]
			subject.Spec.Approval = v1alpha1.ApprovalManual
			s.list("database@1.4.0")
			s.then("A person approves that.", func() { s.approve(subject) })
			s.list("database@1.6.0")
			s.then("A person approves that, and before the operator sees it the catalogue withdraws 1.5.0 and lists 1.5.1.", func() {
				s.approve(subject)
				s.redefine(databaseAt([]string{"1.4.0", "1.5.0", "1.5.1", "1.6.0"}, noted("1.5.0", "", "it loses data")))
			})
			s.on("settled db 1.5.1", "The catalogue changes once more: 1.6.0 is built from another chart.", func() {
				s.redefine(databaseAt([]string{"1.4.0", "1.5.0", "1.5.1", "1.6.0"}, charted("1.6.0", map[string]string{"db": "1.6.0-2"})))
			})
			s.then("A person approves what is planned now.", func() { s.approve(subject) })
			s.then("A person approves that, too.", func() { s.approve(subject) })
		}},
		"a person suspends the release between two hops": {[]v1alpha1.AddonDefinition{database(), shop()}, func(s *story) {
			s.list("database@1.4.0", "shop@3.0.0")
			s.on("settled db 1.5.0", "Somebody suspends the HelmRelease db.", func() { toggleSuspension(s.releases["db"]) })
			s.list("database@1.6.0", "shop@3.1.0")
			s.then("It is resumed.", func() { toggleSuspension(s.releases["db"]) })
		}},
	})
}

// on has something happen once a release has settled at a version.
func (s *story) on(when, what string, event func()) {
	s.events[when] = func() {
		s.say("* %s", what)
		event()
	}
}

// then has something happen now, and tells what follows.
func (s *story) then(what string, event func()) {
	s.say("%s", strings.TrimSpace(what))
	event()
	s.tellPlansAgain()
	s.goOn()
}
