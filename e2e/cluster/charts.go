package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
)

// Charts serves the charts of e2e/charts in two ways. Both endpoints can be
// taken down, brought up again and made to require a login.
type Charts struct {
	HTTP *Endpoint // a Helm repository with an index
	OCI  *Endpoint // a registry
}

// chartAddress says where chart servers listen. A port of 0 means a free one.
type chartAddress struct {
	listen, advertise string
	httpPort, ociPort int
}

// ChartURLs are the addresses of served charts, as HTTPURL and OCIURL return them.
type ChartURLs struct {
	HTTP string `json:"http"`
	OCI  string `json:"oci"`
}

// ServeCharts packages the charts of e2e/charts and serves them from this
// process until Stop, at addresses that the cluster can reach.
func (c *Cluster) ServeCharts(ctx context.Context) (*Charts, error) {
	listen, advertise, err := c.backend.chartHost(ctx)
	if err != nil {
		return nil, err
	}
	charts, err := serveCharts(ctx, chartAddress{listen: listen, advertise: advertise})
	if err != nil {
		return nil, err
	}
	c.charts = append(c.charts, charts)
	return charts, nil
}

func serveCharts(ctx context.Context, address chartAddress) (*Charts, error) {
	packages, err := PackageCharts(ctx)
	if err != nil {
		return nil, err
	}
	registry, err := chartRegistry(packages)
	if err != nil {
		return nil, err
	}
	files := http.FileServer(http.Dir(packages))
	charts := &Charts{}
	if charts.HTTP, err = newEndpoint(address.listen, address.advertise, address.httpPort, files); err != nil {
		return nil, err
	}
	if charts.OCI, err = newEndpoint(address.listen, address.advertise, address.ociPort, registry); err != nil {
		return nil, errors.Join(err, charts.HTTP.Down())
	}
	return charts, nil
}

// HTTPURL returns the address of the Helm repository, for a HelmRepository.
func (c *Charts) HTTPURL() string { return c.HTTP.URL() }

// OCIURL returns the address of the charts in the registry, as
// "oci://host:port/charts", for a HelmRepository of type oci with insecure true.
func (c *Charts) OCIURL() string {
	return "oci://" + strings.TrimPrefix(c.OCI.URL(), "http://") + "/" + ociFolder
}

// Close takes both endpoints down for good.
func (c *Charts) Close() error {
	return errors.Join(c.HTTP.Down(), c.OCI.Down())
}

// ChartsDir returns the folder with the sources of the test charts.
func ChartsDir() (string, error) {
	root, err := Checkout()
	if err != nil {
		return "", fmt.Errorf("find the test charts: %w", err)
	}
	return filepath.Join(root, "e2e", "charts"), nil
}
