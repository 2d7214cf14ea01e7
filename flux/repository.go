package flux

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Repository is the HelmRepository for a chart source. All releases with the same source share it. One for an oci:// URL gets
// no status from Flux; never wait for it.
func Repository(r addons.Repository) *sourcev1.HelmRepository {
	repository := &sourcev1.HelmRepository{
		TypeMeta: metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmRepositoryKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace,
			Name:      RepositoryName(r),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.FieldManager,
				v1alpha1.LabelProtected: "true",
			},
		},
		Spec: sourcev1.HelmRepositorySpec{
			URL:      r.URL,
			Type:     sourcev1.HelmRepositoryTypeDefault,
			Provider: "generic",
			Interval: metav1.Duration{Duration: Interval},
		},
	}
	if strings.HasPrefix(r.URL, "oci://") {
		repository.Spec.Type = sourcev1.HelmRepositoryTypeOCI
		repository.Spec.Insecure = r.Insecure
	}
	if r.SecretRef != "" {
		repository.Spec.SecretRef = &meta.LocalObjectReference{Name: r.SecretRef}
	}
	if r.CertSecretRef != "" {
		repository.Spec.CertSecretRef = &meta.LocalObjectReference{Name: r.CertSecretRef}
	}
	return repository
}

var (
	notInNames = regexp.MustCompile(`[^a-z0-9]+`)
	userInfo   = regexp.MustCompile(`^[^/]*@`)
)

// RepositoryName is the name of the HelmRepository that Repository makes: readable, and different for every source. A password
// in the URL is not in it.
func RepositoryName(r addons.Repository) string {
	_, address, _ := strings.Cut(strings.ToLower(r.URL), "://")
	address = userInfo.ReplaceAllString(address, "")
	readable := strings.Trim(notInNames.ReplaceAllString(address, "-"), "-")
	const longest = 48
	readable = cmp.Or(strings.Trim(readable[:min(len(readable), longest)], "-"), "repository")
	return fmt.Sprintf("%s-%s", readable, shortHash(fmt.Sprintf("%+v", r)))
}
