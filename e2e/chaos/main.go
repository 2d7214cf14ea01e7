// Command chaos shows that the operator keeps its promises while everything goes wrong. It runs the operator on a real cluster with real
// Flux, behind a proxy that delays, refuses, loses and repeats its requests; kills it right after writes; kills Flux's controllers; and
// lets people change their minds all the time. Meanwhile a watcher holds every change that the API server makes known against the
// invariants, and after each storm the world must settle to exactly what a calm run would have made of what people want then.
//
//   - proxy.go: what is between the operator and the API server; faults.go has the rates, trap.go stops the operator after a write
//   - driver.go: what people do; world.go has the add-ons that they do it to
//   - killer.go: the operator's death
//   - watcher.go: what is seen; watcher_rules.go has the invariants, expected.go the settled world
//   - tally.go: what is printed in the end
//
// It exits with 1 when an invariant is violated or the world does not settle:
//
//	go run ./e2e/chaos -kills 300
//	go run ./e2e/chaos -seed 7 -for 3m -dir /tmp/chaos
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	var opts options
	flag.Uint64Var(&opts.seed, "seed", rand.Uint64N(1e6), "what chance is made of; the operator and Flux have their own")
	flag.IntVar(&opts.kills, "kills", 300, "end after the round in which the operator has been killed so often")
	flag.DurationVar(&opts.lasts, "for", 0, "end after storms of this length in all, if there were not enough kills before; 0 means no limit")
	flag.StringVar(&opts.dir, "dir", "", "folder that keeps the logs; empty means none")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, opts, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}
