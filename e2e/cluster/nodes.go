package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stages says how simulated nodes and pods live: see the file.
//
//go:embed stages.yaml
var stages []byte

// simulatedLabel marks the nodes that kwok plays.
const simulatedLabel = "simulation/node"

var nodeNames = []string{"node-1", "node-2"}

// startNodes simulates the nodes and waits until the controller manager works.
func (l *local) startNodes(ctx context.Context) error {
	api, err := newClient(l.config)
	if err != nil {
		return err
	}
	if err := l.simulateNodes(ctx, api, l.credentials.kubeconfig(kwokUser.name)); err != nil {
		return err
	}
	manager, err := l.find(controllerManager)
	if err != nil {
		return err
	}
	return manager.waitFor(ctx, func(ctx context.Context) (bool, error) {
		key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "default"}
		err := api.Get(ctx, key, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// simulateNodes creates the nodes, starts kwok, which plays their part and that
// of their pods, and waits until they are ready.
func (g *group) simulateNodes(ctx context.Context, api client.Client, kubeconfig string) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	config := filepath.Join(g.dir, "stages.yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return fmt.Errorf("write the stages of nodes and pods: %w", err)
	}
	for _, name := range nodeNames {
		if err := api.Create(ctx, simulatedNode(name)); err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	simulator, err := g.run(kwok, []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + config,
		"--manage-nodes-with-label-selector=" + simulatedLabel,
		"--server-address=" + loopback(ports[0]),
		"--node-lease-duration-seconds=40", // without leases nodes are lost after 50 s
	})
	if err != nil {
		return err
	}
	return simulator.waitFor(ctx, nodesReady(api))
}

func simulatedNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", simulatedLabel: "true"},
	}}
}

// nodesReady reports whether pods can be scheduled to every node.
func nodesReady(c client.Client) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var nodes corev1.NodeList
		if err := c.List(ctx, &nodes, client.HasLabels{simulatedLabel}); err != nil {
			return false, err
		}
		for _, node := range nodes.Items {
			if !nodeReady(node) || len(node.Spec.Taints) > 0 {
				return false, nil
			}
		}
		return len(nodes.Items) == len(nodeNames), nil
	}
}

func nodeReady(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
