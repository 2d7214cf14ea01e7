package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// startControlPlane starts etcd and the API server, and unless the cluster is
// bare the controller manager and the scheduler, and waits for them.
func (l *local) startControlPlane(ctx context.Context) error {
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	etcdPort, peerPort, apiPort, managerPort, schedulerPort := ports[0], ports[1], ports[2], ports[3], ports[4]
	l.credentials = credentials{dir: filepath.Join(l.dir, "credentials")}
	if err := l.credentials.write(loopback(apiPort)); err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	if err := os.WriteFile(l.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	if err := l.startEtcd(ctx, etcdPort, peerPort); err != nil {
		return err
	}
	server, err := l.run(apiServer, append(l.apiServerArgs(etcdPort, apiPort), l.options.APIServerArgs...))
	if err != nil {
		return err
	}
	if l.config, err = connect(l.kubeconfig()); err != nil {
		return err
	}
	if err := waitServing(ctx, server, l.config); err != nil {
		return err
	}
	if l.options.Bare {
		return nil
	}
	if _, err := l.run(controllerManager, l.managerArgs(managerPort)); err != nil {
		return err
	}
	_, err = l.run(scheduler, l.schedulerArgs(schedulerPort))
	return err
}

// connect returns the connection that a kubeconfig file describes, without
// the client's own rate limit: the API server has one.
func connect(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// startEtcd waits for etcd, because the API server waits a second before it
// tries again to reach one that is not there yet.
func (l *local) startEtcd(ctx context.Context, clientPort, peerPort int) error {
	clientURL, peerURL := "http://"+loopback(clientPort), "http://"+loopback(peerPort)
	args := []string{
		"--name=main",
		"--data-dir=" + filepath.Join(l.dir, etcd),
		"--listen-client-urls=" + clientURL,
		"--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=main=" + peerURL,
		"--unsafe-no-fsync",
		"--heartbeat-interval=10", // milliseconds; a single member elects itself after
		"--election-timeout=100",  // the election timeout, a second by default
		"--log-level=warn",
	}
	database, err := l.launch(command{
		Name: etcd, Path: l.binaries[etcd], Args: args, Log: l.logPath(etcd), Health: clientURL + "/health",
	})
	if err != nil {
		return err
	}
	return database.waitHealthy(ctx)
}

func (l *local) apiServerArgs(etcdPort, port int) []string {
	return []string{
		"--etcd-servers=http://" + loopback(etcdPort),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--endpoint-reconciler-type=none", // it refuses a loopback address
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + l.credentials.certificate(),
		"--tls-private-key-file=" + l.credentials.key(),
		"--authorization-mode=RBAC",
		"--token-auth-file=" + l.credentials.tokens(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.credentials.serviceAccountKey(),
		"--service-account-signing-key-file=" + l.credentials.serviceAccountKey(),
		"--allow-privileged=true",
		"--audit-policy-file=" + l.auditPolicy(),
		"--audit-log-path=" + l.auditLog(),
		"--audit-log-maxsize=10000", // megabytes; never rotated, so that counts are complete
	}
}

func (l *local) managerArgs(port int) []string {
	return []string{
		"--kubeconfig=" + l.credentials.kubeconfig(managerUser.name),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		"--root-ca-file=" + l.credentials.certificate(),
		"--service-account-private-key-file=" + l.credentials.serviceAccountKey(),
	}
}

func (l *local) schedulerArgs(port int) []string {
	return []string{
		"--kubeconfig=" + l.credentials.kubeconfig(schedulerUser.name),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
	}
}

// waitServing waits until the API server is ready and has made the first
// namespace, without which nothing can be created.
func waitServing(ctx context.Context, server *process, config *rest.Config) error {
	probe, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	ready := func(ctx context.Context) (bool, error) { return answersOK(ctx, probe, config.Host+"/readyz"), nil }
	if err := server.waitFor(ctx, ready); err != nil {
		return err
	}
	c, err := newClient(config)
	if err != nil {
		return err
	}
	return server.waitFor(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Name: corev1.NamespaceDefault}, &corev1.Namespace{})
		return err == nil, client.IgnoreNotFound(err)
	})
}
