package main

import (
	"fmt"
	"slices"
)

// results are the samples of all runs, in the order of their first appearance.
type results struct {
	repetitions int
	rows        []*row
	requests    map[string]map[string][]float64 // by run and kind of request
}

// row is one figure of one run.
type row struct {
	Run     string    `json:"run"`
	Figure  string    `json:"figure"`
	Unit    string    `json:"unit,omitempty"`
	Median  float64   `json:"median"`
	Samples []float64 `json:"samples"`
	Target  string    `json:"target,omitempty"`
	OK      *bool     `json:"ok,omitempty"` // nil without a target
}

func newResults(repetitions int) *results {
	return &results{repetitions: repetitions, requests: map[string]map[string][]float64{}}
}

func (r *results) add(run string, o outcome) {
	for _, f := range o.figures {
		found := r.find(run, f.name)
		if found == nil {
			found = &row{Run: run, Figure: f.name, Unit: f.unit}
			r.rows = append(r.rows, found)
		}
		found.Samples = append(found.Samples, f.value)
		found.Median = median(found.Samples)
	}
	for kind, count := range o.requests {
		if r.requests[run] == nil {
			r.requests[run] = map[string][]float64{}
		}
		r.requests[run][kind] = append(r.requests[run][kind], count)
	}
}

func (r *results) find(run, figure string) *row {
	for _, found := range r.rows {
		if found.Run == run && found.Figure == figure {
			return found
		}
	}
	return nil
}

// median of samples, of which there is at least one.
func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// target is a bound on a median.
type target struct {
	run, figure string
	most        float64
}

// targets do not depend on what others measured.
var targets = []target{
	{"independent/ours", figureWrites, 2.2},
	{"independent/ours", figureMemory, 80},
	{"steady/100", figureSteady, 0},
	{"steady/100", figureLists, 0},
	{"gates/100", figureSteady, 0},
	{"gates/100", figureLists, 60},
	{"steady/100", figureChecked, 0}, // the steady state includes Flux's regular checks
	{"change/100", figureFewWrites, 4},
	{"change/100", figureLatency, 0.2},
	{"change/500", figureFewWrites, 4},
	{"change/500", figureLatency, 0.2},
}

// compare holds the figures against the targets, and ours against those of the peers.
func (r *results) compare() {
	for _, t := range targets {
		if found := r.find(t.run, t.figure); found != nil {
			found.judge(fmt.Sprintf("≤ %g", t.most), found.Median <= t.most)
		}
	}
	r.compareChains()
	if ours, peer := r.find("independent/ours", figureTime), r.find("independent/flux", figureTime); ours != nil && peer != nil {
		ratio := r.ratio(ours, peer, "time / time of plain Flux")
		ratio.judge("≤ 1.05", ratio.Median <= 1.05)
	}
}

func (r *results) compareChains() {
	ours := r.find("chain/ours", figureTime)
	if ours == nil {
		return
	}
	var best *row
	for _, name := range []string{"chain/helm", "chain/poked"} {
		peer := r.find(name, figureTime)
		if peer == nil {
			continue
		}
		ratio := r.ratio(ours, peer, "time / time of "+name)
		if best == nil || ratio.Median > best.Median {
			best = ratio
		}
	}
	if best != nil {
		best.judge("≤ 1.15", best.Median <= 1.15) // only the faster peer sets the limit
	}
	if watcher := r.find("chain/helm-watcher", figureTime); watcher != nil {
		r.ratio(ours, watcher, "time / time of chain/helm-watcher") // out of reach for whatever Helm 3 waits for
	}
	if plain := r.find("chain/flux", figureTime); plain != nil {
		ratio := r.ratio(plain, ours, "time of plain Flux / time")
		ratio.Run = ours.Run
		ratio.judge("≥ 10", ratio.Median >= 10)
	}
}

// ratio adds the ratio of two medians, after the figures of the first one's run.
func (r *results) ratio(a, b *row, name string) *row {
	value := a.Median / b.Median
	ratio := &row{Run: a.Run, Figure: name, Median: value, Samples: []float64{value}}
	r.rows = append(r.rows, ratio)
	return ratio
}

func (r *row) judge(target string, ok bool) {
	r.Target, r.OK = target, &ok
}
