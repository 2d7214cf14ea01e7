package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// killer kills the operator, mostly right after one of its writes, and starts it again as a kubelet would.
type killer struct {
	cluster *cluster.Cluster
	proxy   *proxy
	rng     *rand.Rand
	tally   *tally
	journal *journal
}

const (
	mostWrites   = 12              // of which the operator survives all but the last
	longestHunt  = 6 * time.Second // until the operator is killed although it has not written so often
	longestStart = time.Minute
	mostRestarts = 20
)

// hunt kills the operator again and again until the storm ends, and leaves it running.
func (k *killer) hunt(ctx, storm context.Context) error {
	for storm.Err() == nil {
		sprung := k.proxy.trap.arm(1 + k.rng.IntN(mostWrites))
		where := "at rest"
		select {
		case what := <-sprung:
			where = "after " + what
		case <-time.After(time.Duration(k.rng.Int64N(int64(longestHunt)))):
		case <-storm.Done():
		}
		k.journal.write("the operator dies %s", where)
		if err := k.cluster.Kill(ctx, cluster.Operator); err != nil {
			return err
		}
		k.proxy.trap.release()
		k.tally.count(talliedKills, where)
		if err := k.restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restart starts the operator. One that ends while it starts, since it cannot do without an answer, or waits for one in vain, is started again.
func (k *killer) restart(ctx context.Context) error {
	var err error
	for range mostRestarts {
		starting, cancel := context.WithTimeout(ctx, longestStart)
		err = k.cluster.Restart(starting, cluster.Operator)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		reason, _, _ := strings.Cut(err.Error(), ";") // without the end of its log
		k.journal.write("the operator did not start: %s", reason)
		k.tally.count(talliedSeen, "operators that did not start")
	}
	return fmt.Errorf("the operator does not start: %w", err)
}
