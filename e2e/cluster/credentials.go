package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const validity = 10 * 365 * 24 * time.Hour

// credentials are the files that the API server and its first clients trust
// each other by.
type credentials struct {
	dir string
}

func (c credentials) path(name string) string { return filepath.Join(c.dir, name) }

func (c credentials) certificate() string       { return c.path("server.crt") }
func (c credentials) key() string               { return c.path("server.key") }
func (c credentials) serviceAccountKey() string { return c.path("service-account.key") }
func (c credentials) tokens() string            { return c.path("tokens.csv") }
func (c credentials) kubeconfig(user string) string {
	return c.path(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
}

// user is somebody whom the API server knows by a fixed token.
type user struct {
	name   string
	groups []string
}

// The users act under the names that they have in a usual cluster, so that
// the audit log and admission policies see them as there.
var (
	admin              = user{"kubernetes-admin", []string{"system:masters"}}
	managerUser        = user{"system:kube-controller-manager", []string{"system:masters"}}
	schedulerUser      = user{"system:kube-scheduler", nil}
	kwokUser           = user{"system:kwok", []string{"system:masters"}}
	helmControllerSA   = fluxUser(HelmController)
	sourceControllerSA = fluxUser(SourceController)
)

func fluxUser(name string) user {
	return user{
		"system:serviceaccount:" + FluxNamespace + ":" + name,
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + FluxNamespace},
	}
}

// write creates all files for an API server at the address.
func (c credentials) write(address string) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := c.writeServingCertificate(); err != nil {
		return fmt.Errorf("make the serving certificate: %w", err)
	}
	if _, err := newKey(c.serviceAccountKey()); err != nil {
		return fmt.Errorf("make the key of the service accounts: %w", err)
	}
	var lines strings.Builder
	for _, u := range []user{admin, managerUser, schedulerUser, kwokUser, helmControllerSA, sourceControllerSA} {
		token := rand.Text()
		fmt.Fprintf(&lines, "%s,%s,%s,%q\n", token, u.name, u.name, strings.Join(u.groups, ","))
		config := &rest.Config{Host: "https://" + address, BearerToken: token}
		config.CAFile = c.certificate()
		if err := writeKubeconfig(c.kubeconfig(u.name), config); err != nil {
			return err
		}
	}
	return os.WriteFile(c.tokens(), []byte(lines.String()), 0o600)
}

// writeServingCertificate makes a certificate that is its own authority.
func (c credentials) writeServingCertificate() error {
	key, err := newKey(c.key())
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: apiServer},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:              []string{"localhost", "kubernetes.default.svc"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	return writePEM(c.certificate(), "CERTIFICATE", der)
}

func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// writeKubeconfig writes the connection as a kubeconfig file that needs no
// other file beside it.
func writeKubeconfig(path string, config *rest.Config) error {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	const name = "cluster"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token:                 config.BearerToken,
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}
