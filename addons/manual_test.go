package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// manor is an Installer whose plans are to be approved, in a world that changes.
type manor struct {
	*testing.T

	definitions []v1alpha1.AddonDefinition
	kubernetes  string
	installer   *v1alpha1.Installer
	addons      map[string]*v1alpha1.Addon
	running     map[string]string
}

func newManor(t *testing.T, definitions ...v1alpha1.AddonDefinition) *manor {
	t.Helper()
	m := &manor{T: t, definitions: definitions, kubernetes: "1.33.1", installer: installer("default", 1), addons: map[string]*v1alpha1.Addon{}, running: map[string]string{}}
	m.installer.Spec.Approval = v1alpha1.ApprovalManual
	m.installer.Generation = 1
	return m
}

func (m *manor) list(entries ...string) {
	m.installer.Spec.Addons = want(entries...)
	m.installer.Generation++
}

func (m *manor) plan() Plan {
	world := World{Catalog: catalogOf(m.definitions...), Kubernetes: m.kubernetes, Installers: []*v1alpha1.Installer{m.installer}}
	for _, name := range sortedKeys(m.addons) {
		world.Addons = append(world.Addons, m.addons[name])
	}
	return MakePlan(world, m.installer, Resolve(world, m.installer), m.running)
}

// pass does what the operator does, and returns what has to be approved.
func (m *manor) pass() Approval {
	plan := m.plan()
	if len(plan.Keeps) > 0 {
		m.write(plan.Keeps)
		plan = m.plan()
	}
	approval := Approve(m.installer, plan)
	m.installer.Status.Approved, m.installer.Status.Plan = approval.Record, nil
	m.installer.Status.ObservedGeneration = m.installer.Generation
	if approval.Required == "" {
		m.write(plan.Due())
		return approval
	}
	m.installer.Status.Plan = &v1alpha1.Plan{Digest: plan.Digest, Kubernetes: plan.Kubernetes, Differences: approval.Differences}
	for _, change := range plan.Changes {
		m.installer.Status.Plan.Changes = append(m.installer.Status.Plan.Changes, change.Change)
	}
	return approval
}

func (m *manor) write(changes []PlannedChange) {
	for i := range changes {
		addon := present("default", changes[i].Addon)
		if there := m.addons[changes[i].Addon]; there != nil {
			addon = there.DeepCopy()
		}
		addon.Spec, addon.Generation = changes[i].Now(), addon.Generation+1
		m.addons[changes[i].Addon] = addon
	}
}

// run lets everything run as its Addon says.
func (m *manor) run() {
	for name, addon := range m.addons {
		m.running[name] = addon.Spec.Version
	}
}

func (m *manor) approve() {
	m.Helper()
	require.NotNil(m, m.installer.Status.Plan, "nothing waits for approval")
	annotate(m.installer, v1alpha1.AnnotationApprovedPlan, m.installer.Status.Plan.Digest)
}

// requireApproved lets the operator work until nothing changes, without anybody's approval.
func (m *manor) requireApproved() {
	m.Helper()
	for range 10 {
		require.Empty(m, m.pass().Required)
		m.run()
	}
	require.Empty(m, m.plan().Changes)
	require.Nil(m, m.installer.Status.Approved, "the record is struck out")
}

func TestNothingIsWrittenBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	m := newManor(t, define("a", versions("1.0.0", "1.1.0", "1.2.0"), onKubernetes("1.2.0", ">=1.33")), define("b"))
	m.list("a@1.0.0", "b")
	for range 3 {
		assert.Equal(t, "spec.approval is Manual, and this waits for it: install a 1.0.0; install b 1.0.0; nothing is changed until that is approved with: "+
			"kubectl annotate --overwrite installer default addons.kurl.sh/approved-plan="+m.plan().Digest, m.pass().Required)
	}
	assert.Empty(t, m.addons)
	m.approve()
	m.requireApproved()

	m.list("a", "b")
	assert.Contains(t, m.pass().Required, "upgrade a 1.0.0 → 1.1.0 → 1.2.0;")
	m.list("b")
	assert.Contains(t, m.pass().Required, "this waits for it: remove a;")
	assert.Equal(t, "1.0.0", m.addons["a"].Spec.Version)
	m.list("a@1.0.0", "b")
	assert.Empty(t, m.pass().Required, "there is nothing to approve any more")
}

// Who lists an add-on again before it has gone need not wait for anybody's approval.
func TestARemovalIsTakenBackWithoutApproval(t *testing.T) {
	t.Parallel()
	m := newManor(t, define("a", versions("1.0.0", "1.1.0")), define("b"))
	m.list("a@1.0.0", "b")
	m.pass()
	m.approve()
	m.requireApproved()
	m.list("b")
	m.pass()
	m.approve()
	m.pass()
	require.Equal(t, v1alpha1.Absent, m.addons["a"].Spec.State)
	m.list("a", "b")
	assert.Contains(t, m.pass().Required, "upgrade a 1.0.0 → 1.1.0;")
	assert.Equal(t, v1alpha1.Present, m.addons["a"].Spec.State)
	assert.Equal(t, "1.0.0", m.addons["a"].Spec.Version)
}

// Another Installer policy does not let anything through that was not approved, and none that is approved now is asked for twice.
func TestAnInstallerThatTurnsToManualKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	m := newManor(t, define("a", versions("1.0.0", "1.1.0")))
	m.installer.Spec.Approval = ""
	m.list("a@1.0.0")
	m.requireApproved()
	require.Empty(t, m.addons["a"].Spec.Definition)

	m.installer.Spec.Approval = v1alpha1.ApprovalManual
	m.installer.Generation++
	m.requireApproved()
	pinned := m.addons["a"].Spec.Definition
	require.NotEmpty(t, pinned)

	m.definitions[0].Spec.Description = "changed"
	assert.Contains(t, m.pass().Required, "reconfigure a;")
	assert.Equal(t, pinned, m.addons["a"].Spec.Definition)
	m.installer.Spec.Approval = v1alpha1.ApprovalAutomatic
	m.installer.Generation++
	m.requireApproved()
	assert.Empty(t, m.addons["a"].Spec.Definition)
}

func TestTheApprovalOfAPlanIsVoidOnceWhatItRestsOnChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      func(*manor)
		differences []string
		goesOn      bool // what was begun
	}{
		"the spec": {
			change:      func(m *manor) { m.list("a@1.2.0", "b") },
			differences: []string{"the spec was edited", "upgrade a 1.0.0 → 1.1.0 → 1.2.0 → 1.3.0 is now upgrade a 1.0.0 → 1.1.0 → 1.2.0", "new: install b 1.0.0"},
		},
		"values": {
			change: func(m *manor) {
				m.installer.Spec.Addons[0].Values = rawJSON(`{"replicas":2}`)
				m.installer.Generation++
			},
			differences: []string{"the spec was edited"},
		},
		"the definition": {
			change:      func(m *manor) { m.definitions[0].Spec.Releases[0].Values = rawJSON(`{"replicas":2}`) },
			differences: []string{"the AddonDefinition of a has changed"},
		},
		"a chart's version": {
			change: func(m *manor) {
				m.definitions[0].Spec.Versions[2].Releases = map[string]v1alpha1.ReleaseVersion{"a": {ChartVersion: "7.0.0"}}
			},
			differences: []string{"the AddonDefinition of a has changed"},
		},
		"a hop": {
			change:      func(m *manor) { upgradeFrom("1.3.0", ">=1.0.0")(&m.definitions[0]) },
			differences: []string{"the AddonDefinition of a has changed", "upgrade a 1.0.0 → 1.1.0 → 1.2.0 → 1.3.0 is now upgrade a 1.0.0 → 1.3.0"},
		},
		"Kubernetes": {
			change:      func(m *manor) { m.kubernetes = "1.34.0" },
			differences: []string{"Kubernetes was 1.33.1 and is 1.34.0"}, goesOn: true,
		},
		"Kubernetes is not known any more": {
			change:      func(m *manor) { m.kubernetes = "" },
			differences: []string{"Kubernetes was 1.33.1 and is unknown"}, goesOn: true,
		},
		"the Addon was edited": {
			change:      func(m *manor) { m.addons["a"].Generation++ },
			differences: []string{"the Addons that it is about are not what they were"}, goesOn: true,
		},
	} {
		upgrade := func(t *testing.T) *manor {
			t.Helper()
			t.Parallel()
			m := newManor(t, define("a", versions("1.0.0", "1.1.0", "1.2.0", "1.3.0")), define("b"))
			m.list("a@1.0.0")
			m.pass()
			m.approve()
			m.requireApproved()
			m.list("a")
			m.pass()
			m.approve()
			return m
		}
		requireVoid := func(m *manor) {
			m.Helper()
			for range 3 {
				approval := m.pass()
				assert.Equal(m, test.differences, approval.Differences)
				assert.Contains(m, approval.Required, "what was approved is void, since "+test.differences[0])
				assert.Equal(m, "1.0.0", m.addons["a"].Spec.Version)
			}
			m.approve()
			m.requireApproved()
		}
		t.Run(name+", before anything of it was begun", func(t *testing.T) {
			m := upgrade(t)
			test.change(m)
			requireVoid(m)
		})
		t.Run(name+", after the operator wrote it down and died", func(t *testing.T) {
			m := upgrade(t)
			m.installer.Status.Approved = Approve(m.installer, m.plan()).Record
			test.change(m)
			if test.goesOn {
				m.requireApproved()
			} else {
				requireVoid(m)
			}
		})
	}
}

// What waits for other changes of the plan is approved with them.
func TestAStagedPlanIsApprovedOnce(t *testing.T) {
	t.Parallel()
	m := newManor(t, define("base", versions("1.0.0", "1.1.0", "1.2.0")),
		define("app", versions("1.0.0", "1.1.0"), requires("base"), demanding("1.0.0", "<1.2"), demanding("1.1.0", ">=1.1")))
	m.list("base@1.0.0", "app@1.0.0")
	m.pass()
	m.approve()
	m.requireApproved()
	m.list("base", "app")
	m.pass()
	m.approve()
	m.requireApproved()
	assert.Equal(t, "1.2.0", m.addons["base"].Spec.Version)
	assert.Equal(t, "1.1.0", m.addons["app"].Spec.Version)
}
