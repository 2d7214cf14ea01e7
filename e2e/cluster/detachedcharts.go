package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

const chartServer = "chartserver"

// ServeChartsDetached serves the charts of e2e/charts from a process of its
// own, which survives this one and ends with the cluster. Only for a detached
// cluster. The addresses are in ChartURLs from then on.
func (c *Cluster) ServeChartsDetached(ctx context.Context) (ChartURLs, error) {
	if !c.group.detached {
		return ChartURLs{}, errors.New("serve charts: the cluster is not detached")
	}
	listen, advertise, err := c.backend.chartHost(ctx)
	if err != nil {
		return ChartURLs{}, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return ChartURLs{}, err
	}
	address := ChartAddress{Listen: listen, Advertise: advertise, HTTPPort: ports[0], OCIPort: ports[1]}
	if err := c.launchChartServer(ctx, address); err != nil {
		return ChartURLs{}, fmt.Errorf("serve charts: %w", err)
	}
	c.group.state.Charts = address.urls()
	return c.group.state.Charts, c.group.save()
}

// ChartURLs returns the addresses that ServeChartsDetached gave.
func (c *Cluster) ChartURLs() ChartURLs { return c.group.state.Charts }

func (c *Cluster) launchChartServer(ctx context.Context, address ChartAddress) error {
	root, err := Checkout()
	if err != nil {
		return err
	}
	program, err := filepath.Abs(filepath.Join(c.dir, chartServer))
	if err != nil {
		return err
	}
	if _, err := goTool(ctx, root, nil, "build", "-o", program, "./e2e/cluster/chartserver"); err != nil {
		return err
	}
	server, err := c.group.launch(command{
		Name: chartServer,
		Path: program,
		Args: []string{
			"--listen=" + address.Listen,
			"--advertise=" + address.Advertise,
			"--http-port=" + strconv.Itoa(address.HTTPPort),
			"--oci-port=" + strconv.Itoa(address.OCIPort),
		},
		Log:    c.group.logPath(chartServer),
		Health: "http://" + loopback(address.OCIPort) + "/v2/",
	})
	if err != nil {
		return err
	}
	return server.waitHealthy(ctx)
}
