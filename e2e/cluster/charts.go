package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// Charts serves the charts of e2e/charts in two ways. Both endpoints can be
// taken down, brought up again and made to require a login.
type Charts struct {
	HTTP *Endpoint // a Helm repository with an index
	OCI  *Endpoint // a registry
}

// ChartAddress says where ServeChartsAt serves. A port of 0 means a free one.
type ChartAddress struct {
	Listen, Advertise string // IP address to listen on; host that clients use
	HTTPPort, OCIPort int
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
	charts, err := ServeChartsAt(ctx, ChartAddress{Listen: listen, Advertise: advertise})
	if err != nil {
		return nil, err
	}
	c.charts = append(c.charts, charts)
	return charts, nil
}

// ServeChartsAt packages the charts of e2e/charts and serves them from this
// process until Close, whether there is a cluster or not.
func ServeChartsAt(ctx context.Context, address ChartAddress) (*Charts, error) {
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
	if charts.HTTP, err = newEndpoint(address.Listen, address.Advertise, address.HTTPPort, files); err != nil {
		return nil, err
	}
	if charts.OCI, err = newEndpoint(address.Listen, address.Advertise, address.OCIPort, registry); err != nil {
		return nil, errors.Join(err, charts.HTTP.Down())
	}
	return charts, nil
}

// HTTPURL returns the address of the Helm repository, for a HelmRepository.
func (c *Charts) HTTPURL() string { return c.HTTP.URL() }

// OCIURL returns the address of the charts in the registry, as
// "oci://host:port/charts", for a HelmRepository of type oci with insecure true.
func (c *Charts) OCIURL() string { return ociURL(c.OCI.URL()) }

func (a ChartAddress) urls() ChartURLs {
	return ChartURLs{HTTP: httpURL(a.Advertise, a.HTTPPort), OCI: ociURL(httpURL(a.Advertise, a.OCIPort))}
}

func httpURL(host string, port int) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

func ociURL(registry string) string {
	return "oci://" + strings.TrimPrefix(registry, "http://") + "/" + ociFolder
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
