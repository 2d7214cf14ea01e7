// Command chartserver serves the test charts of e2e/charts, as a Helm
// repository and as an OCI registry, until it is killed. Detached clusters run
// it, since their charts must outlive the program that started them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var address cluster.ChartAddress
	flag.StringVar(&address.Listen, "listen", "127.0.0.1", "address to listen on")
	flag.StringVar(&address.Advertise, "advertise", "127.0.0.1", "host by which clients reach this machine")
	flag.IntVar(&address.HTTPPort, "http-port", 0, "port of the Helm repository; 0 means a free one")
	flag.IntVar(&address.OCIPort, "oci-port", 0, "port of the OCI registry; 0 means a free one")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	charts, err := cluster.ServeChartsAt(ctx, address)
	if err != nil {
		return err
	}
	fmt.Println(charts.HTTPURL())
	fmt.Println(charts.OCIURL())
	<-ctx.Done()
	return charts.Close()
}
