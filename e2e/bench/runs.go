package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	changes = 5 // per cluster; each counts as a sample of its own
	minute  = time.Minute
)

var (
	chain       = task{count: 10, chained: true, pods: true}
	independent = task{count: 100, pods: true}
	many        = task{count: 100}
	verymany    = task{count: 500}
	guarded     = task{count: 100, gates: true}
)

// run measures one contestant at one task.
type run struct {
	name    string // group/contestant or group/size
	about   string
	long    bool
	measure func(ctx context.Context, b *testbed) (outcome, error)
}

// outcome is what one run has measured.
type outcome struct {
	figures []figure
	// requests to the API server by "verb resource", where that is of interest.
	requests map[string]float64
}

type figure struct {
	name, unit string
	value      float64
}

func (o *outcome) add(name, unit string, value float64) {
	o.figures = append(o.figures, figure{name: name, unit: unit, value: value})
}

// The names of figures that are compared with each other or with a target.
const (
	figureTime       = "apply to all ready"
	figureWrites     = "operator: writes per add-on"
	figureMemory     = "operator: peak memory"
	figureSteady     = "operator: writes a minute"
	figureLists      = "operator: lists a minute"
	figureChecked    = "operator: writes while Flux checks all"
	figureLatency    = "apply to HelmRelease written"
	figureFewWrites  = "operator: writes until HelmRelease written"
	figureLateWrites = "operator: writes until all ready again"
)

func runs() []run {
	return []run{
		{name: "chain/ours", about: "10 add-ons, each requiring the one before", measure: ours(chain)},
		{name: "chain/helm", about: "helm install 10 times in a row, waiting as Helm 3 and helm-controller 1.4 do", measure: helm(chain, "--wait=legacy")},
		{name: "chain/helm-watcher", about: "the same, waiting as Helm 4 does by default", measure: helm(chain, "--wait=watcher")},
		{name: "chain/poked", about: "10 HelmReleases with dependsOn, each poked when the one before has settled", measure: plain(chain, true)},
		{name: "chain/flux", about: "10 HelmReleases with dependsOn, left to Flux", measure: plain(chain, false)},
		{name: "independent/ours", about: "100 add-ons that need nothing", measure: ours(independent)},
		{name: "independent/flux", about: "the same 100 HelmReleases applied at once", measure: plain(independent, false)},
		{name: "steady/100", about: "a minute in which nothing changes", measure: steady(many)},
		{name: "gates/100", about: "a minute in which the closed gates of 100 add-ons hold their removal, with 500 volumes to look through", measure: gates(guarded)},
		{name: "change/100", about: "one add-on among 100 gets new values", measure: change(many)},
		{name: "change/500", about: "one add-on among 500 gets new values", long: true, measure: change(verymany)},
	}
}

// do measures on a fresh cluster.
func (r run) do(ctx context.Context, progress io.Writer) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	b, err := newTestbed(ctx, progress)
	if err != nil {
		return outcome{}, err
	}
	result, err := r.measure(ctx, b)
	if stopErr := b.cluster.Stop(); err == nil {
		err = stopErr
	}
	for _, f := range result.figures {
		fmt.Fprintf(progress, "  %s: %.3g %s\n", f.name, f.value, f.unit)
	}
	return result, err
}
