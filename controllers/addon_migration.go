package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// observeMigrations reads what the Migrations of an add-on say of themselves.
func (r *AddonReconciler) observeMigrations(ctx context.Context, addon string) (map[string]addons.MigrationState, error) {
	var list v1alpha1.MigrationList
	if err := r.Client.List(ctx, &list, client.MatchingLabels{v1alpha1.LabelAddon: addon}); err != nil {
		return nil, fmt.Errorf("listing the Migrations of add-on %s: %w", addon, err)
	}
	states := map[string]addons.MigrationState{}
	for i := range list.Items {
		states[list.Items[i].Name] = migrationState(&list.Items[i])
	}
	return states, nil
}

func migrationState(migration *v1alpha1.Migration) addons.MigrationState {
	var state addons.MigrationState
	if ready := apimeta.FindStatusCondition(migration.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		state.Finished, state.Message = ready.Status == metav1.ConditionTrue, ready.Message
	}
	unapproved := migration.Spec.Approval == v1alpha1.MigrationRequired && !migration.Spec.Approved
	if unapproved && !state.Finished {
		state.Message = fmt.Sprintf(`it waits for approval: kubectl patch migration %s --type merge -p '{"spec":{"approved":true}}'`, migration.Name)
	}
	state.Stalled = !state.Finished && (unapproved || apimeta.IsStatusConditionTrue(migration.Status.Conditions, v1alpha1.ConditionStalled))
	return state
}

// beginMigration makes the Migration that a decision asks for, unless there is one: it is made once, and what people or its own controller
// write on it is theirs.
func (r *AddonReconciler) beginMigration(ctx context.Context, addon string, run *addons.MigrationRun) error {
	if run == nil {
		return nil
	}
	migration := &v1alpha1.Migration{
		ObjectMeta: metav1.ObjectMeta{
			Name: run.Name, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.FieldManager, v1alpha1.LabelAddon: addon},
		},
		Spec: run.Spec,
	}
	if err := r.Client.Create(ctx, migration, client.FieldOwner(v1alpha1.FieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making Migration %s: %w", run.Name, err)
	}
	return nil
}
