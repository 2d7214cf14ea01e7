// Command manager is the add-on operator.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kurlsh/addon-operator/addons/catalog"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/controllers"
)

// version is set at link time.
var version = "dev"

type options struct {
	metricsAddress string
	healthAddress  string
	leaderElect    bool
	logLevel       string
	showVersion    bool
}

func main() {
	opts := parseFlags()
	if opts.showVersion {
		fmt.Println(version)
		return
	}
	level, err := zapcore.ParseLevel(opts.logLevel)
	if err != nil {
		fmt.Fprintf(os.Stderr, "--log-level=%q: choose debug, info, warn or error\n", opts.logLevel)
		os.Exit(2)
	}
	log := zap.New(zap.Level(uberzap.NewAtomicLevelAt(level)))
	ctrl.SetLogger(log)
	if err := run(ctrl.SetupSignalHandler(), log, opts); err != nil {
		log.Error(err, "The operator ends")
		os.Exit(1)
	}
}

func parseFlags() options {
	var opts options
	pflag.StringVar(&opts.metricsAddress, "metrics-bind-address", ":8080", "address to serve metrics on; 0 turns them off")
	pflag.StringVar(&opts.healthAddress, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on; 0 turns them off")
	pflag.BoolVar(&opts.leaderElect, "leader-elect", false, "let only one of several operators work")
	pflag.StringVar(&opts.logLevel, "log-level", "info", "least level to log: debug, info, warn or error")
	pflag.BoolVar(&opts.showVersion, "version", false, "print the version and end")
	pflag.Parse()
	return opts
}

func run(ctx context.Context, log logr.Logger, opts options) error {
	builtin, err := catalog.Definitions()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	if err := controllers.WaitForKinds(ctx, config, log); err != nil {
		return err
	}
	mgr, err := newManager(config, opts)
	if err != nil {
		return err
	}
	if err := controllers.Setup(ctx, mgr, builtin); err != nil {
		return err
	}
	log.Info("Starting the operator", "version", version)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the controllers: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, opts options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	// The API server's own fairness limits us; a client-side limit would only delay what people wait for.
	config.QPS, config.Burst = -1, -1
	grace := 20 * time.Second
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controllers.CacheOptions(),
		Metrics:                       metricsserver.Options{BindAddress: opts.metricsAddress},
		HealthProbeBindAddress:        opts.healthAddress,
		LeaderElection:                opts.leaderElect,
		LeaderElectionID:              strings.ReplaceAll(v1alpha1.FieldManager+"."+v1alpha1.GroupVersion.Group, "/", "-"),
		LeaderElectionNamespace:       v1alpha1.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	err = errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping))
	return mgr, err
}
