package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Operator is the name of the operator for Kill, Interrupt and Restart.
const Operator = "operator"

// A ServiceAccount's token is valid for a day, so a demo runs as long.
const operatorStart = 2 * time.Minute

// StartOperator installs deploy/bundle.yaml except for its Deployment, compiles the operator from this checkout, and runs it on
// this machine as its own ServiceAccount, with the rights that the bundle gives it and no others. It returns when the operator is ready.
// Args are further arguments of the operator.
func (c *Cluster) StartOperator(ctx context.Context, args ...string) error {
	if err := c.InstallBundle(ctx); err != nil {
		return fmt.Errorf("install the operator's bundle: %w", err)
	}
	binary := filepath.Join(c.dir, "manager")
	if err := buildOperator(ctx, binary); err != nil {
		return err
	}
	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, v1alpha1.Namespace, v1alpha1.FieldManager)
	if err != nil {
		return err
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	p, err := c.group.launch(command{
		Name: Operator,
		Path: binary,
		Args: append([]string{
			"--metrics-bind-address=" + loopback(ports[0]),
			"--health-probe-bind-address=" + loopback(ports[1]),
		}, args...),
		Env:    []string{"KUBECONFIG=" + kubeconfig},
		Log:    c.group.logPath(Operator),
		Health: "http://" + loopback(ports[1]) + "/readyz",
	})
	if err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, operatorStart)
	defer cancel()
	return p.waitHealthy(patience)
}

// InstallBundle applies deploy/bundle.yaml but for objects of the given kinds, and for its Deployment, whose image is not in any registry
// that the cluster reaches.
func (c *Cluster) InstallBundle(ctx context.Context, without ...string) error {
	root, err := Checkout()
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(root, "deploy", "bundle.yaml"))
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	objects, err := parseManifest(manifest)
	if err != nil {
		return err
	}
	var rest bytes.Buffer
	for _, object := range objects {
		if object.GetKind() == "Deployment" || slices.Contains(without, object.GetKind()) {
			continue
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		rest.WriteString("---\n")
		rest.Write(text)
	}
	return c.Apply(ctx, rest.Bytes())
}

func buildOperator(ctx context.Context, path string) error {
	root, err := Checkout()
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/manager")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the operator: %w\n%s", err, output)
	}
	return nil
}
