package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// migrating adds a migration with a step.
func migrating(name, from, to string, edits ...func(*v1alpha1.MigrationDefinition)) edit {
	return func(def *v1alpha1.AddonDefinition) {
		migration := v1alpha1.MigrationDefinition{
			Name: name, When: v1alpha1.MigrateUpgrade, From: from, To: to,
			Steps: []v1alpha1.MigrationStep{{Name: "drop", Delete: &v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "Service", Namespace: "a", Name: "old"}}},
		}
		for _, apply := range edits {
			apply(&migration)
		}
		def.Spec.Migrations = append(def.Spec.Migrations, migration)
	}
}

func TestAHopWaitsForItsMigrations(t *testing.T) {
	t.Parallel()
	def := minors(migrating("first", "<1.2.0", ">=1.2.0"), migrating("second", "", "1.2.0"), migrating("earlier", "", "<1.2.0"))
	o := Observation{
		Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(release("a", PhaseSettled, "1.1.1", "1.1.1")), Migrations: map[string]MigrationState{},
	}
	require.Equal(t, []string{"first", "second"}, migrationsOnPath(&def, "1.1.1", []string{"1.2.0"}))
	require.Equal(t, []string{"earlier", "first", "second"}, migrationsOnPath(&def, "1.0.0", []string{"1.1.1", "1.2.0"}))

	for _, name := range []string{"first", "second"} {
		d := Decide(o)
		require.NotNil(t, d.Migrate, "%s is to be made", name)
		require.Regexp(t, "^a-"+name+"-[0-9a-f]{8}$", d.Migrate.Name)
		assert.Equal(t, &v1alpha1.MigrationHop{Addon: "a", Migration: name, From: "1.1.1", To: "1.2.0"}, d.Migrate.Spec.Hop)
		assert.Equal(t, []string{"a"}, d.Migrate.Spec.Addons)
		made := d.Migrate.Name
		for _, state := range []MigrationState{{}, {Message: "step drop runs"}, {Message: "step drop failed", Stalled: true}} {
			o.Migrations[made] = state
			d = Decide(o)
			assert.Nil(t, d.Migrate, "it is made once")
			assert.Empty(t, d.Write)
			s := Summarize(o, d)
			assert.Equal(t, v1alpha1.StateMigrating, s.State)
			assert.Equal(t, state.Stalled, s.Stalled)
			assert.Equal(t, []v1alpha1.Blocker{{Kind: v1alpha1.BlockerMigration, Name: made, Message: d.Hold.By.Message}}, s.BlockedBy)
			assert.Equal(t, "the upgrade to 1.2.0 waits for Migration "+made+": "+d.Hold.By.Message, s.Message)
		}
		o.Migrations[made] = MigrationState{Finished: true}
	}
	d := Decide(o)
	assert.Nil(t, d.Hold)
	assert.Equal(t, "1.2.0", d.Version)

	o.Definition.Spec.Migrations[0].Steps[0].Delete.Name = "other"
	require.NotNil(t, Decide(o).Migrate, "other steps are another migration")
}

func TestMigrationsWaitForTheGates(t *testing.T) {
	t.Parallel()
	def := minors(migrating("first", "", ""), gate(v1alpha1.MomentUpgrade, "closed"))
	o := Observation{Addon: present("default", "a@1.2.0"), Definition: &def, Releases: byName(release("a", PhaseSettled, "1.1.1", "1.1.1"))}
	o.Answer(Question{Addon: "a", Check: "closed"}, Finding{Message: "not yet"})
	d := Decide(o)
	assert.Nil(t, d.Migrate)
	assert.Equal(t, v1alpha1.BlockerGate, d.Hold.By.Kind)
}

func TestValidateMigrations(t *testing.T) {
	t.Parallel()
	step := func(apply func(*v1alpha1.MigrationStep)) func(*v1alpha1.MigrationDefinition) {
		return func(m *v1alpha1.MigrationDefinition) { apply(&m.Steps[0]) }
	}
	target := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "operator"}
	for name, test := range map[string]struct {
		edit func(*v1alpha1.MigrationDefinition)
		want string // empty where nothing is wrong
	}{
		"delete": {edit: func(*v1alpha1.MigrationDefinition) {}},
		"scale": {edit: step(func(s *v1alpha1.MigrationStep) {
			s.Delete, s.Scale = nil, &v1alpha1.ScaleStep{Target: target, Replicas: new(int32)}
		})},
		"patch": {edit: step(func(s *v1alpha1.MigrationStep) {
			s.Delete, s.Patch = nil, &v1alpha1.PatchStep{Target: target, Patch: rawJSON(`{}`)}
		})},
		"wait": {edit: step(func(s *v1alpha1.MigrationStep) {
			s.Delete, s.Wait = nil, &v1alpha1.WaitStep{Resources: map[string]v1alpha1.ResourceQuery{"pods": {APIVersion: "v1", Kind: "Pod"}}, Expression: "pods.size() == 0"}
		})},
		"a wrong moment": {edit: func(m *v1alpha1.MigrationDefinition) { m.When = "Install" }, want: `spec.migrations[m].when: Unsupported value: "Install": supported values: "Upgrade"`},
		"no range":       {edit: func(m *v1alpha1.MigrationDefinition) { m.From = "old" }, want: `spec.migrations[m].from: Invalid value: "old": "old" is not a version range`},
		"no steps":       {edit: func(m *v1alpha1.MigrationDefinition) { m.Steps = nil }, want: `spec.migrations[m].steps: Required value: a migration has at least one step`},
		"a step twice":   {edit: func(m *v1alpha1.MigrationDefinition) { m.Steps = append(m.Steps, m.Steps[0]) }, want: `spec.migrations[m].steps[drop].name: Duplicate value: "drop"`},
		"nothing to do":  {edit: step(func(s *v1alpha1.MigrationStep) { s.Delete = nil }), want: `spec.migrations[m].steps[drop]: Invalid value: "drop": exactly one of scale, delete, patch and wait must be set`},
		"two things":     {edit: step(func(s *v1alpha1.MigrationStep) { s.Patch = &v1alpha1.PatchStep{Target: target, Patch: rawJSON(`{}`)} }), want: `exactly one of scale, delete, patch and wait must be set`},
		"deletes all":    {edit: step(func(s *v1alpha1.MigrationStep) { s.Delete.Name = "" }), want: `spec.migrations[m].steps[drop].delete.name: Required value: a name or a selector: nothing deletes all objects of a kind`},
		"no replicas":    {edit: step(func(s *v1alpha1.MigrationStep) { s.Delete, s.Scale = nil, &v1alpha1.ScaleStep{Target: target} }), want: `spec.migrations[m].steps[drop].scale.replicas: Required value: how many there are to be: 0 or more`},
		"no patch":       {edit: step(func(s *v1alpha1.MigrationStep) { s.Delete, s.Patch = nil, &v1alpha1.PatchStep{Target: target} }), want: `spec.migrations[m].steps[drop].patch.patch: Required value: a JSON merge patch`},
		"no CEL": {edit: step(func(s *v1alpha1.MigrationStep) {
			s.Delete, s.Wait = nil, &v1alpha1.WaitStep{Resources: map[string]v1alpha1.ResourceQuery{"pods": {APIVersion: "v1", Kind: "Pod"}}, Expression: "pods.size("}
		}), want: `spec.migrations[m].steps[drop].wait.expression: Invalid value: "pods.size("`},
		"nobody's target": {edit: step(func(s *v1alpha1.MigrationStep) {
			s.Delete, s.Patch = nil, &v1alpha1.PatchStep{Target: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Service"}, Patch: rawJSON(`{}`)}
		}), want: `spec.migrations[m].steps[drop].patch.target.name: Required value: the name of the object`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define("a", migrating("m", "<2", "", test.edit))
			err := ValidateDefinition(&def).ToAggregate()
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
	def := define("a", migrating("m", "", ""), migrating("m", "", ""))
	assert.ErrorContains(t, ValidateDefinition(&def).ToAggregate(), `spec.migrations[m].name: Duplicate value: "m"`)
}
