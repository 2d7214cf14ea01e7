// Command bench measures the operator against its peers, which are plain Flux and the helm command, on the same charts in
// one go, and holds the figures against the targets that the project has set itself. Every run gets a fresh cluster of
// its own and the machine for itself: nothing else should work on it meanwhile.
//
//	go run ./e2e/bench                         everything, about 15 minutes
//	go run ./e2e/bench -run chain/ours,change  some of it
//	go run ./e2e/bench -n 3 -o json            medians of three, for machines
//	go run ./e2e/bench -full                   also what takes long: 500 add-ons
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// runTimeout bounds one run; the longest, 500 add-ons, takes a third of it on two cores.
const runTimeout = 30 * time.Minute

type options struct {
	run         string
	repetitions int
	output      string
	full        bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(logr.Discard())
	if err := bench(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// bench does the chosen runs one after another and prints what they measured. A failed run does not keep the others from
// being run and printed, but makes for an error.
func bench(ctx context.Context, args []string, out, progress io.Writer) error {
	opts, err := parse(args, progress)
	if err != nil {
		return err
	}
	chosen, err := choose(runs(), opts)
	if err != nil {
		return err
	}
	results := newResults(opts.repetitions)
	var failures []error
	for repetition := range opts.repetitions {
		for _, r := range chosen {
			fmt.Fprintf(progress, "%s  %s (%d of %d): %s\n", time.Now().Format(time.TimeOnly), r.name, repetition+1, opts.repetitions, r.about)
			outcome, err := r.do(ctx, progress)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", r.name, err))
				fmt.Fprintln(progress, "  failed:", err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			results.add(r.name, outcome)
		}
	}
	results.compare()
	if err := results.print(out, opts.output); err != nil {
		return err
	}
	return errors.Join(failures...)
}

func parse(args []string, usage io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	var names []string
	for _, r := range runs() {
		names = append(names, r.name)
	}
	flags.StringVar(&opts.run, "run", "", "comma-separated runs, or groups of them such as chain: "+strings.Join(names, ", "))
	flags.IntVar(&opts.repetitions, "n", 1, "repetitions of every run; the median counts")
	flags.StringVar(&opts.output, "o", "table", "output: table or json")
	flags.BoolVar(&opts.full, "full", false, "do the longest runs too")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case opts.repetitions < 1:
		return opts, fmt.Errorf("-n %d: at least one repetition is needed", opts.repetitions)
	case opts.output != "table" && opts.output != "json":
		return opts, fmt.Errorf("-o %s: choose table or json", opts.output)
	}
	return opts, nil
}

// choose selects runs by name or group. Long ones must be asked for, by name or with -full.
func choose(all []run, opts options) ([]run, error) {
	if opts.run == "" {
		return slices.DeleteFunc(all, func(r run) bool { return r.long && !opts.full }), nil
	}
	var chosen []run
	for want := range strings.SplitSeq(opts.run, ",") {
		before := len(chosen)
		for _, r := range all {
			group, _, _ := strings.Cut(r.name, "/")
			if r.name == want || group == want && (!r.long || opts.full) {
				chosen = append(chosen, r)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("-run %s: there is no such run", want)
		}
	}
	return chosen, nil
}
