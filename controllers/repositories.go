package controllers

import (
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// repositoryUse says who uses a HelmRepository.
type repositoryUse int

const (
	useNone    repositoryUse = iota
	useForeign               // only HelmReleases that are not ours, or not any more
	useOurs
)

// tidyRepositories deletes the chart sources that nobody uses once an add-on has gone, and leaves to themselves those that only
// HelmReleases use which are not ours any more.
func (r *AddonReconciler) tidyRepositories(ctx context.Context, leaving string) error {
	repositories, err := objects(ctx, r.Client, &sourcev1.HelmRepositoryList{}, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldManager})
	if err != nil || len(repositories) == 0 {
		return err
	}
	uses, err := r.repositoryUses(ctx, leaving)
	if err != nil {
		return err
	}
	for _, repository := range repositories {
		switch uses[repository.GetName()] {
		case useOurs:
		case useForeign:
			err = r.unlabel(ctx, repository)
		default:
			err = r.deleteRepository(ctx, repository)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repositoryUses asks the API server, leaving out the add-on that goes: of several that go at the same time, the last one must see that
// it is.
func (r *AddonReconciler) repositoryUses(ctx context.Context, leaving string) (map[string]repositoryUse, error) {
	releases, err := r.liveReleases(ctx)
	if err != nil {
		return nil, err
	}
	uses := map[string]repositoryUse{}
	for i := range releases {
		use, owner := useForeign, addonOf(&releases[i])
		if owner == leaving {
			continue
		}
		if owner != "" {
			use = useOurs
		}
		for _, name := range repositoryOf(&releases[i]) {
			uses[name] = max(uses[name], use)
		}
	}
	return uses, nil
}

func (r *AddonReconciler) deleteRepository(ctx context.Context, repository client.Object) error {
	uid, version := repository.GetUID(), repository.GetResourceVersion()
	if err := r.Client.Delete(ctx, repository, client.Preconditions{UID: &uid, ResourceVersion: &version}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting HelmRepository %s: %w", repository.GetName(), err)
	}
	return nil
}
