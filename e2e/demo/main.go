// Command demo starts a cluster with Flux and the operator, installs the quickstart sample, and shows how it becomes ready. The cluster
// stays until `demo down`.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// patience covers the slowest of the sample's charts many times over.
const patience = 5 * time.Minute

//go:embed catalog.yaml
var catalog []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := cluster.Checkout()
	if err == nil {
		dir := filepath.Join(root, ".cache", "demo")
		if len(os.Args) > 1 && os.Args[1] == "down" {
			err = down(dir)
		} else {
			err = up(ctx, root, dir)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func down(dir string) error {
	c, err := cluster.Attach(dir)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("There is no demo cluster.")
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return err
	}
	fmt.Println("The demo cluster has ended.")
	return os.RemoveAll(dir)
}

func up(ctx context.Context, root, dir string) error {
	if _, err := cluster.Attach(dir); err == nil {
		return fmt.Errorf("a demo cluster is there already, in %s; `make demo-down` ends it", dir)
	}
	say("Starting a cluster with Flux")
	c, err := cluster.Start(ctx, cluster.Options{Dir: dir, Detached: true, Progress: os.Stdout})
	if err != nil {
		return err
	}
	if err := install(ctx, c, root); err != nil {
		return errors.Join(err, c.Stop(), os.RemoveAll(dir))
	}
	watching, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = show(watching, c.RESTConfig())
	usage(c)
	return err
}

func install(ctx context.Context, c *cluster.Cluster, root string) error {
	say("Serving the sample charts over HTTP and from an OCI registry")
	charts, err := c.ServeChartsDetached(ctx)
	if err != nil {
		return err
	}
	say("Installing the operator with deploy/bundle.yaml")
	if err := c.StartOperator(ctx); err != nil {
		return err
	}
	definitions := bytes.ReplaceAll(catalog, []byte("http://charts"), []byte(charts.HTTP))
	definitions = bytes.ReplaceAll(definitions, []byte("oci://charts"), []byte(charts.OCI))
	if err := c.Apply(ctx, definitions); err != nil {
		return err
	}
	say("Applying deploy/samples/quickstart.yaml")
	sample, err := os.ReadFile(filepath.Join(root, "deploy", "samples", "quickstart.yaml"))
	if err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	return c.Apply(ctx, sample)
}

func say(step string) { fmt.Printf("== %s\n", step) }

func usage(c *cluster.Cluster) {
	fmt.Printf(`
The cluster stays until "make demo-down". To look around:

  export KUBECONFIG=%s
  alias kubectl=%s
  kubectl get installers,addons
  kubectl get helmreleases -n kurl-addons
  kubectl edit installer default

Logs are in %s
`, c.Kubeconfig(), c.Binary("kubectl"), c.Dir())
}
