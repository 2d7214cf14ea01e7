package pins

import (
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/flux"
)

// A HelmRepository of type oci never gets a status, not even an observedGeneration, though releases install from it and settle.
func TestRegistriesHaveNoStatus(t *testing.T) {
	w := share(t)
	release := w.release(t, "registry", "tiny", "1.0.0", "")
	release.Repository = addons.Repository{URL: w.charts.OCIURL(), Insecure: true}
	s := w.start(t, release)
	s.awaitSettled(t)
	repository := &sourcev1.HelmRepository{}
	name := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: flux.RepositoryName(release.Repository)}
	require.NoError(t, w.api.Get(t.Context(), name, repository))
	assert.Empty(t, repository.Status)
	assert.Empty(t, repository.Finalizers)
}
