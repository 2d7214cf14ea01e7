package addons

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// MigrationRun is a Migration that a hop asks for. Its name identifies the add-on, the hop and the steps, so that it is made once, whatever
// crashes, and that other steps are another Migration.
type MigrationRun struct {
	Name string
	Spec v1alpha1.MigrationSpec
}

// MigrationState is what a Migration says of itself.
type MigrationState struct {
	// Finished says that it has ended well.
	Finished bool
	// Stalled says that it waits for a person.
	Stalled bool
	// Message says how far it is; empty when nothing has been said yet.
	Message string
}

// holdMigrations holds a hop until what its definition wants to be done before has been done, one after the other.
func (d *Decision) holdMigrations(o Observation, next string) *Hold {
	for _, migration := range migrationsOf(o.Definition, d.Running, next) {
		run := migrationRun(o.Addon.Name, migration, d.Running, next)
		state, there := o.Migrations[run.Name]
		switch {
		case !there:
			d.Migrate = &run
			state.Message = "it is being made"
		case state.Finished:
			continue
		case state.Message == "":
			state.Message = "it has not begun"
		}
		return &Hold{
			State: v1alpha1.StateMigrating, Message: fmt.Sprintf("the upgrade to %s waits for Migration %s: %s", next, run.Name, state.Message),
			By: v1alpha1.Blocker{Kind: v1alpha1.BlockerMigration, Name: run.Name, Message: state.Message}, Stalled: state.Stalled,
		}
	}
	return nil
}

// migrationsOf lists the migrations that a hop has to run.
func migrationsOf(def *v1alpha1.AddonDefinition, from, to string) []*v1alpha1.MigrationDefinition {
	var due []*v1alpha1.MigrationDefinition
	for i := range def.Spec.Migrations {
		migration := &def.Spec.Migrations[i]
		if (migration.From == "" || allows(migration.From, from)) && (migration.To == "" || allows(migration.To, to)) {
			due = append(due, migration)
		}
	}
	return due
}

func migrationRun(addon string, migration *v1alpha1.MigrationDefinition, from, to string) MigrationRun {
	hop := &v1alpha1.MigrationHop{Addon: addon, Migration: migration.Name, From: from, To: to}
	digest := strings.TrimPrefix(digestOf(hop, migration.Steps), "sha256:")
	return MigrationRun{
		Name: fmt.Sprintf("%s-%s-%s", addon, migration.Name, digest[:8]),
		Spec: v1alpha1.MigrationSpec{Addons: []string{addon}, Hop: hop, Approval: migration.Approval, Steps: migration.Steps},
	}
}

// migrationsOnPath names the migrations that an upgrade runs on its way.
func migrationsOnPath(def *v1alpha1.AddonDefinition, from string, path []string) []string {
	var names []string
	for _, to := range path {
		for _, migration := range migrationsOf(def, from, to) {
			names = append(names, migration.Name)
		}
		from = to
	}
	return names
}

func (c *compiler) validateMigrations(path *field.Path, migrations []v1alpha1.MigrationDefinition) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range migrations {
		migration, at := &migrations[i], path.Key(migrations[i].Name)
		if seen[migration.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), migration.Name))
		}
		seen[migration.Name] = true
		errs = append(errs, validateLabel(at.Child("name"), migration.Name, validation.DNS1123LabelMaxLength)...)
		if migration.When != v1alpha1.MigrateUpgrade {
			errs = append(errs, field.NotSupported(at.Child("when"), migration.When, []v1alpha1.MigrationMoment{v1alpha1.MigrateUpgrade}))
		}
		errs = append(errs, validateRange(at.Child("from"), migration.From)...)
		errs = append(errs, validateRange(at.Child("to"), migration.To)...)
		errs = append(errs, validateChoice(at.Child("approval"), migration.Approval, v1alpha1.MigrationAutomatic, v1alpha1.MigrationRequired)...)
		errs = append(errs, c.validateSteps(at.Child("steps"), migration.Steps)...)
	}
	return errs
}

func (c *compiler) validateSteps(path *field.Path, steps []v1alpha1.MigrationStep) field.ErrorList {
	if len(steps) == 0 {
		return field.ErrorList{field.Required(path, "a migration has at least one step")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range steps {
		at := path.Key(steps[i].Name)
		if seen[steps[i].Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), steps[i].Name))
		}
		seen[steps[i].Name] = true
		errs = append(errs, c.validateStep(at, &steps[i])...)
	}
	return errs
}

func (c *compiler) validateStep(at *field.Path, step *v1alpha1.MigrationStep) field.ErrorList {
	errs := validateLabel(at.Child("name"), step.Name, validation.DNS1123LabelMaxLength)
	errs = append(errs, validateChoice(at.Child("retry"), step.Retry, v1alpha1.RetryIdempotent, v1alpha1.RetryAtMostOnce)...)
	kinds := 0
	if step.Scale != nil {
		kinds++
		errs = append(errs, validateTarget(at.Child("scale", "target"), step.Scale.Target)...)
		if step.Scale.Replicas == nil || *step.Scale.Replicas < 0 {
			errs = append(errs, field.Required(at.Child("scale", "replicas"), "how many there are to be: 0 or more"))
		}
	}
	if step.Delete != nil {
		kinds++
		errs = append(errs, validateQuery(at.Child("delete"), step.Delete)...)
		if step.Delete.Name == "" && step.Delete.Selector == nil {
			errs = append(errs, field.Required(at.Child("delete", "name"), "a name or a selector: nothing deletes all objects of a kind"))
		}
	}
	if step.Patch != nil {
		kinds++
		errs = append(errs, validateTarget(at.Child("patch", "target"), step.Patch.Target)...)
		if step.Patch.Patch == nil {
			errs = append(errs, field.Required(at.Child("patch", "patch"), "a JSON merge patch"))
		}
	}
	if step.Wait != nil {
		kinds++
		_, problems := c.probe(at.Child("wait"), &v1alpha1.Check{Name: step.Name, Resources: step.Wait.Resources, Expression: step.Wait.Expression})
		errs = append(errs, problems...)
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, step.Name, "exactly one of scale, delete, patch and wait must be set"))
	}
	return errs
}

func validateTarget(at *field.Path, target v1alpha1.ObjectReference) field.ErrorList {
	errs := validateQuery(at, &v1alpha1.ResourceQuery{APIVersion: target.APIVersion, Kind: target.Kind, Namespace: target.Namespace, Name: target.Name})
	if target.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), "the name of the object"))
	}
	return errs
}
