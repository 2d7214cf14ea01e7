package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
)

const (
	kindStart          = 5 * time.Minute
	kindAuditFolder    = "/etc/kubernetes/audit"
	controlPlaneTaint  = "node-role.kubernetes.io/control-plane"
	kindAuditArguments = `kind: ClusterConfiguration
apiServer:
  extraArgs:
    audit-policy-file: /etc/kubernetes/audit/policy.yaml
    audit-log-path: /etc/kubernetes/audit/audit.log
    audit-log-maxsize: "10000"
  extraVolumes:
  - name: audit
    hostPath: /etc/kubernetes/audit
    mountPath: /etc/kubernetes/audit
    pathType: DirectoryOrCreate
`
)

// kind is a cluster in a container, with Flux as pods. The pods of charts run
// on simulated nodes there too, since their images do not exist: kwok runs on
// this machine, and the real node takes none but the system's and Flux.
type kind struct {
	*group
	options  Options
	provider *kindcluster.Provider
	api      client.Client
}

func newKind(g *group, options Options) *kind {
	provider := kindcluster.NewProvider()
	if detected, err := kindcluster.DetectNodeProvider(); err == nil && detected != nil {
		provider = kindcluster.NewProvider(detected)
	}
	return &kind{group: g, options: options, provider: provider}
}

func (k *kind) auditDir() string   { return filepath.Join(k.dir, "audit") }
func (k *kind) auditLog() string   { return filepath.Join(k.auditDir(), "audit.log") }
func (k *kind) kubeconfig() string { return filepath.Join(k.dir, "admin.kubeconfig") }

func (c *Cluster) startKind(ctx context.Context, options Options) error {
	binaries, err := Build(ctx, options.Progress, kwok, kubectl, helm)
	if err != nil {
		return err
	}
	k := newKind(&group{dir: c.dir, detached: options.Detached, binaries: binaries}, options)
	c.group, c.backend = k.group, k
	if err := k.create(options); err != nil {
		return err
	}
	if err := c.connectKind(k); err != nil || options.Bare {
		return err
	}
	if !options.WithoutFlux {
		fmt.Fprintln(options.Progress, "installing Flux")
		if err := k.installFlux(ctx); err != nil {
			return err
		}
	}
	if err := k.reserveNode(ctx); err != nil {
		return err
	}
	return k.simulateNodes(ctx, k.api, k.kubeconfig())
}

func (c *Cluster) attachKind(options Options) error {
	k := newKind(c.group, options)
	c.backend = k
	return c.connectKind(k)
}

func (c *Cluster) connectKind(k *kind) (err error) {
	c.kubeconfig, c.auditLog = k.kubeconfig(), k.auditLog()
	if c.config, err = connect(c.kubeconfig); err != nil {
		return err
	}
	k.api, err = newClient(c.config)
	return err
}

// create makes the kind cluster, named after the folder so that several can
// live side by side.
func (k *kind) create(options Options) error {
	if err := os.MkdirAll(k.auditDir(), 0o755); err != nil {
		return fmt.Errorf("make the folder of the audit log: %w", err)
	}
	if err := os.WriteFile(filepath.Join(k.auditDir(), "policy.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	audit, err := filepath.Abs(k.auditDir())
	if err != nil {
		return fmt.Errorf("find the folder of the audit log: %w", err)
	}
	k.state.Kind = filepath.Base(filepath.Dir(audit))
	if err := k.save(); err != nil {
		return err
	}
	fmt.Fprintf(options.Progress, "creating the kind cluster %s, takes about a minute\n", k.state.Kind)
	config := &v1alpha4.Cluster{
		KubeadmConfigPatches: []string{kindAuditArguments},
		Nodes: []v1alpha4.Node{{
			Role:        v1alpha4.ControlPlaneRole,
			ExtraMounts: []v1alpha4.Mount{{HostPath: audit, ContainerPath: kindAuditFolder}},
		}},
	}
	err = k.provider.Create(k.state.Kind,
		kindcluster.CreateWithV1Alpha4Config(config),
		kindcluster.CreateWithKubeconfigPath(k.kubeconfig()),
		kindcluster.CreateWithWaitForReady(kindStart))
	if err != nil {
		return fmt.Errorf("create the kind cluster %s: %w", k.state.Kind, err)
	}
	return nil
}

// reserveNode keeps the pods of charts off the real node.
func (k *kind) reserveNode(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := k.api.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list the nodes of kind: %w", err)
	}
	for _, node := range nodes.Items {
		before := client.MergeFrom(node.DeepCopy())
		node.Spec.Taints = []corev1.Taint{{Key: controlPlaneTaint, Effect: corev1.TaintEffectNoSchedule}}
		if err := k.api.Patch(ctx, &node, before); err != nil {
			return fmt.Errorf("taint node %s: %w", node.Name, err)
		}
	}
	return nil
}

func (k *kind) stop(ctx context.Context) error {
	name := k.state.Kind
	return errors.Join(k.group.stop(ctx), k.provider.Delete(name, k.kubeconfig()))
}
