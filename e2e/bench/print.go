package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// print writes the results as a table for people, or as JSON.
func (r *results) print(out io.Writer, format string) error {
	r.sort()
	if format == "json" {
		return r.printJSON(out)
	}
	fmt.Fprintf(out, "Kubernetes %s, %d CPUs, chart %s %s, repetitions: %d\n\n", cluster.KubernetesVersion, runtime.NumCPU(), chart, version, r.repetitions)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tFIGURE\tMEDIAN\tRANGE\tTARGET\t")
	for i, row := range r.rows {
		if i > 0 && r.rows[i-1].Run != row.Run {
			fmt.Fprintln(table, "\t\t\t\t\t")
		}
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\t%s\t%s\n", row.Run, row.Figure, number(row.Median), row.Unit, spread(row.Samples), row.Target, row.verdict())
	}
	for _, run := range slices.Sorted(maps.Keys(r.requests)) {
		fmt.Fprintf(table, "\nRequests of the operator in %s:\n", run)
		kinds := r.requests[run]
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			fmt.Fprintf(table, "  %s\t%s\n", kind, number(median(kinds[kind])))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the results: %w", err)
	}
	return nil
}

// sort brings the rows of a run together, in the order of the runs.
func (r *results) sort() {
	order := map[string]int{}
	for i, run := range runs() {
		order[run.name] = i
	}
	slices.SortStableFunc(r.rows, func(a, b *row) int { return order[a.Run] - order[b.Run] })
}

func (r *results) printJSON(out io.Writer) error {
	requests := map[string]map[string]float64{}
	for run, kinds := range r.requests {
		requests[run] = map[string]float64{}
		for kind, counts := range kinds {
			requests[run][kind] = median(counts)
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(map[string]any{
		"kubernetes": cluster.KubernetesVersion, "cpus": runtime.NumCPU(), "repetitions": r.repetitions, "figures": r.rows, "requests": requests,
	})
	if err != nil {
		return fmt.Errorf("print the results: %w", err)
	}
	return nil
}

func (r *row) verdict() string {
	switch {
	case r.OK == nil:
		return ""
	case *r.OK:
		return "ok"
	default:
		return "miss"
	}
}

// spread shows the least and the most of several samples.
func spread(samples []float64) string {
	if len(samples) < 2 {
		return ""
	}
	return number(slices.Min(samples)) + "–" + number(slices.Max(samples))
}

// number keeps what matters of a value: three digits, and all before the decimal point.
func number(value float64) string {
	switch {
	case value == float64(int64(value)), value >= 100:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}
