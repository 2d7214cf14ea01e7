package controllers

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// config leads to a real API server with Flux's kinds, and nobody but the tests to act on them: they call the reconcilers, and
// play Flux by writing statuses.
var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	c, err := cluster.Start(context.Background(), cluster.Options{Bare: true, FluxCRDs: true, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = c.Stop() }()
	// Nothing is protected: here one administrator plays the operator, Flux and people.
	if err := c.InstallBundle(context.Background(), "ValidatingAdmissionPolicyBinding"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	config = c.RESTConfig()
	return m.Run()
}
