package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// kindsPoll is how often we look whether missing CRDs have come.
const kindsPoll = 2 * time.Second

// WaitForKinds returns once the API server has every kind that the operator works with. Until then it logs which are missing and how
// to get them, once for each different answer. It returns an error only when the context ends.
func WaitForKinds(ctx context.Context, config *rest.Config, log logr.Logger) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the API server's discovery: %w", err)
	}
	said := ""
	err = wait.PollUntilContextCancel(ctx, kindsPoll, true, func(context.Context) (bool, error) {
		missing := missingKinds(client)
		if missing != nil && missing.Error() != said {
			said = missing.Error()
			log.Info("Waiting for the API server: " + said)
		}
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server's kinds: %w", err)
	}
	return nil
}

func missingKinds(client discovery.ServerResourcesInterface) error {
	const flux = "install Flux: flux install --components=source-controller,helm-controller"
	return errors.Join(
		missing(client, v1alpha1.GroupVersion, "apply the operator's bundle or chart", "installers", "addons", "addondefinitions", "migrations"),
		missing(client, helmv2.GroupVersion, flux, "helmreleases"),
		missing(client, sourcev1.GroupVersion, flux, "helmrepositories", "helmcharts"),
	)
}

func missing(client discovery.ServerResourcesInterface, group schema.GroupVersion, cure string, resources ...string) error {
	served, err := client.ServerResourcesForGroupVersion(group.String())
	if err != nil {
		return fmt.Errorf("%s is not served (%w): %s", group, err, cure)
	}
	names := map[string]bool{}
	for _, resource := range served.APIResources {
		names[resource.Name] = true
	}
	var absent []string
	for _, name := range resources {
		if !names[name] {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return fmt.Errorf("%s has no %s: %s", group, strings.Join(absent, ", "), cure)
	}
	return nil
}
