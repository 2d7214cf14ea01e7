package flux

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const valuesKey = "values.yaml"

// Defaults is the immutable ConfigMap that holds a release's default values; nil when it has none. Its name contains a hash of
// its content, so that new defaults are a new generation of the HelmRelease. YAML text keeps nulls, which inline values can lose.
func Defaults(r addons.Release) *corev1.ConfigMap {
	if len(r.Defaults) == 0 {
		return nil
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace,
			Name:      DefaultsName(r),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.FieldManager,
				v1alpha1.LabelAddon:     r.Addon,
				v1alpha1.LabelRelease:   r.Name,
			},
		},
		Immutable: new(true),
		Data:      map[string]string{valuesKey: defaultsText(r)},
	}
}

// DefaultsName is the name of the ConfigMap that Defaults makes.
func DefaultsName(r addons.Release) string {
	return fmt.Sprintf("%s-defaults-%s", r.Name, shortHash(defaultsText(r)))
}

// defaultsText cannot fail: the values were read from JSON.
func defaultsText(r addons.Release) string {
	text, _ := yaml.Marshal(r.Defaults)
	return string(text)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:5])
}
