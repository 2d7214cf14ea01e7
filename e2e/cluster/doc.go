// Package cluster starts a real Kubernetes with real Flux for tests, for the
// demo and for benchmarks, and serves the test charts of e2e/charts.
//
// By default the cluster is a set of processes on this machine, compiled from
// the Go modules pinned in tools/: etcd, the API server with RBAC and an audit
// log, the controller manager, the scheduler, Flux's source-controller and
// helm-controller, and two simulated nodes (kwok), on which pods become ready
// and Jobs succeed without any container. It needs nothing but Go, and is
// ready in seconds once compiled. With CLUSTER=kind in the environment it is a
// kind cluster instead, for those who have Docker and the internet.
//
//	c, err := cluster.Start(ctx, cluster.Options{})  // everything
//	c, err := cluster.Start(ctx, cluster.Options{Bare: true}) // etcd and API server only
//	defer c.Stop()
//	c.RESTConfig(), c.Kubeconfig(), c.Dir()          // as administrator
//	c.ServiceAccountConfig(ctx, namespace, name)     // with the rights of a ServiceAccount
//	c.ServiceAccountKubeconfig(ctx, namespace, name)
//	c.Apply(ctx, yaml)                               // waits for CRDs
//	c.Kill(ctx, cluster.HelmController)              // Interrupt, Restart
//	c.CountRequests(from, to)                        // Requests: from the audit log
//	c.Logs(), c.Binary("kubectl")
//
//	charts, err := c.ServeCharts(ctx)
//	charts.HTTPURL(), charts.OCIURL()                // for HelmRepositories
//	charts.HTTP.Down(), Up(), RequireLogin(user, password), AllowAnyone(), Requests()
//	charts.OCI.Down(), …
//
// A detached cluster survives the program that started it: Start with
// Options.Detached and Options.Dir, later Attach(dir) and Stop.
package cluster
