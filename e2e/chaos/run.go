package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	// stormLength is how long everything goes wrong before the world is given time to settle.
	stormLength = 45 * time.Second
	// patience is how long it may take to settle. Flux tries what failed again after two minutes.
	patience = 6 * time.Minute
	often    = 500 * time.Millisecond
	// tellEvery so long while it settles the journal says what is still missing.
	tellEvery = 20 * time.Second
)

// options of a run. It ends after the first round with enough kills, or when its time is up.
type options struct {
	seed  uint64
	kills int
	// lasts limits the storms; settling comes on top. 0 means no limit.
	lasts time.Duration
	// dir keeps the cluster's logs and the journal; empty means a temporary folder.
	dir string
}

// chaos is a cluster with the operator behind the proxy, and everybody who acts on it.
type chaos struct {
	options options
	cluster *cluster.Cluster
	proxy   *proxy
	driver  *driver
	killer  *killer
	watcher *watcher
	tally   *tally
	journal *journal
	out     io.Writer
}

// run starts a cluster, and lets storms and times of rest follow each other. It prints the tally in any case, and fails when an
// invariant is violated or the world does not settle.
func run(ctx context.Context, opts options, out io.Writer) (err error) {
	c := &chaos{options: opts, tally: newTally(), out: out}
	fmt.Fprintf(out, "chaos with seed %d\n", opts.seed)
	if c.cluster, err = cluster.Start(ctx, cluster.Options{Dir: opts.dir, Progress: out, HelmControllerArgs: []string{"--concurrent=10"}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.cluster.Stop()) }()
	file, err := os.Create(filepath.Join(c.cluster.Dir(), "journal.log"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	c.journal = &journal{file: file}
	if err := c.furnish(ctx); err != nil {
		return err
	}
	defer c.proxy.close()
	begun := time.Now()
	err = c.rounds(ctx)
	fmt.Fprintf(out, "\nseed %d, %s\n", opts.seed, time.Since(begun).Round(time.Second))
	c.tally.report(out)
	if err != nil {
		c.explain()
	}
	return err
}

func (c *chaos) furnish(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	api, err := client.NewWithWatch(c.cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	charts, err := c.cluster.ServeCharts(ctx)
	if err != nil {
		return err
	}
	if err := c.startOperator(ctx); err != nil {
		return err
	}
	c.driver = &driver{
		api: api, cluster: c.cluster, world: theWorld(), repository: charts.HTTPURL(), rng: c.stream(3), diary: &diary{}, tally: c.tally, journal: c.journal,
		will: will{wanted: map[string]string{}, values: map[string]int{}, highest: map[string]string{}, off: map[string]bool{}, suspended: map[string]bool{}, broken: map[string]bool{}},
	}
	c.watcher = &watcher{
		api: api, cluster: c.cluster, world: map[string]member{}, diary: c.driver.diary, passed: &c.proxy.seen, tally: c.tally, journal: c.journal,
		receipts: map[string]bool{},
	}
	for _, m := range c.driver.world {
		c.watcher.world[m.name] = m
	}
	return c.driver.furnish(ctx)
}

// startOperator starts the operator, and again with the proxy in place of the API server.
func (c *chaos) startOperator(ctx context.Context) error {
	if err := c.cluster.StartOperator(ctx); err != nil {
		return err
	}
	path, err := c.cluster.ServiceAccountKubeconfig(ctx, v1alpha1.Namespace, v1alpha1.FieldManager)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	if c.proxy, err = startProxy(config, &dice{rng: c.stream(1), rates: ratesPerVerb(), calm: true}, c.tally); err != nil {
		return err
	}
	c.killer = &killer{cluster: c.cluster, proxy: c.proxy, rng: c.stream(2), tally: c.tally, journal: c.journal}
	if err := c.proxy.writeKubeconfig(path); err != nil {
		return err
	}
	return c.killer.restart(ctx)
}

// stream is a source of chance of its own, so that one does not disturb the other.
func (c *chaos) stream(number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.options.seed, number))
}

// rounds lets storms follow each other, each from a settled world, until there were enough, and then everything be removed.
func (c *chaos) rounds(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return together(
		func() error { return c.watcher.watch(ctx) },
		func() error {
			defer stop()
			return c.roundsWatched(ctx)
		})
}

func (c *chaos) roundsWatched(ctx context.Context) error {
	stormed := time.Duration(0)
	for round := 1; c.tally.total(talliedKills) < c.options.kills; round++ {
		length := stormLength
		if c.options.lasts > 0 {
			length = min(length, c.options.lasts-stormed)
		}
		if length <= 0 {
			break
		}
		stormed += length
		took, err := c.round(ctx, length)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s  round %d: %d kills, %d faults, %d actions of people so far; settled within %s\n", time.Now().Format(time.TimeOnly), round,
			c.tally.total(talliedKills), c.tally.total(talliedFaults), c.tally.total(talliedPeople), took.Round(time.Second))
	}
	return nil
}

// round is a storm, the rest after it, and something that has to be held.
func (c *chaos) round(ctx context.Context, length time.Duration) (time.Duration, error) {
	if err := c.driver.wantAll(ctx); err != nil {
		return 0, err
	}
	if err := c.storm(ctx, length, func(storm context.Context) error { return c.driver.walk(ctx, storm) }); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	c.tally.convergedIn(took)
	if err := c.held(ctx); err != nil {
		return 0, err
	}
	return took, c.watcher.finish(ctx)
}

// storm kills the operator and disturbs its requests for a while, in which people do something or other.
func (c *chaos) storm(ctx context.Context, length time.Duration, people func(storm context.Context) error) error {
	storm, end := context.WithTimeout(ctx, length)
	defer end()
	c.journal.write("storm")
	c.proxy.dice.becalm(false)
	defer c.proxy.dice.becalm(true)
	defer c.journal.write("calm")
	return together(
		func() error { return people(storm) },
		func() error { return c.killer.hunt(ctx, storm) })
}

// settle is I8: after everything, the world is as if nothing had gone wrong.
func (c *chaos) settle(ctx context.Context) error {
	if err := c.driver.mend(ctx); err != nil {
		return err
	}
	return c.until(ctx, "settle", func() ([]string, error) {
		if _, err := c.driver.makeInstaller(ctx); err != nil {
			return nil, err
		}
		if _, err := c.driver.approve(ctx); err != nil {
			return nil, err
		}
		if err := c.driver.tidy(ctx); err != nil {
			return nil, err
		}
		return c.driver.differences(ctx)
	})
}

// until waits until nothing is missing any more. It is a violation of I8 if that takes too long.
func (c *chaos) until(ctx context.Context, what string, missing func() ([]string, error)) error {
	begun, told := time.Now(), time.Duration(0)
	for {
		lines, err := missing()
		if err != nil || len(lines) == 0 {
			return err
		}
		waited := time.Since(begun)
		if waited > told+tellEvery {
			told = waited
			c.journal.write("for %s it does not %s: %s", waited.Round(time.Second), what, strings.Join(lines, "; "))
		}
		if waited > patience {
			return c.violated(violation{"I8", fmt.Sprintf("for %s it does not %s:\n  %s", patience, what, strings.Join(lines, "\n  "))})
		}
		if err := pause(ctx, often); err != nil {
			return err
		}
	}
}

func (c *chaos) violated(v violation) error {
	c.tally.violated(v)
	return errors.New(v.String())
}

// explain prints what people need who look into a failure.
func (c *chaos) explain() {
	fmt.Fprintf(c.out, "\nWhat happened last:\n")
	c.journal.report(c.out)
	if c.options.dir != "" {
		fmt.Fprintf(c.out, "\nAll of it, and all logs: %s\n", c.options.dir)
	}
	fmt.Fprintf(c.out, "\nThe same walk again: make chaos ARGS='-seed %d -dir /tmp/chaos'\n", c.options.seed)
}

// together does several things at once, until all are done or one fails, and returns what failed first.
func together(do ...func() error) error {
	failed := make(chan error, len(do))
	var running sync.WaitGroup
	for _, f := range do {
		running.Go(func() { failed <- f() })
	}
	for range do {
		if err := <-failed; err != nil {
			return err
		}
	}
	running.Wait()
	return nil
}
