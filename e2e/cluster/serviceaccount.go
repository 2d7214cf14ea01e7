package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const tokenSeconds = 24 * 60 * 60

// ServiceAccountConfig returns a connection that acts as an existing
// ServiceAccount, with its rights only, for a day. It lets a program outside
// of the cluster run as it would inside.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	api, err := newClient(c.config)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}
	if err := api.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = request.Status.Token
	return config, nil
}

// ServiceAccountKubeconfig writes the connection of ServiceAccountConfig to a
// kubeconfig file in the cluster's folder and returns its path.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	config, err := c.ServiceAccountConfig(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, namespace+"-"+name+".kubeconfig")
	return path, writeKubeconfig(path, config)
}
