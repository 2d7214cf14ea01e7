package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sections of the tally.
const (
	talliedKills    = "operator killed"
	talliedFlux     = "Flux killed"
	talliedFaults   = "faults"
	talliedWrites   = "writes"
	talliedPeople   = "people"
	talliedSeen     = "seen"
	talliedVerdicts = "checked"
)

var sections = []string{talliedKills, talliedFlux, talliedFaults, talliedWrites, talliedPeople, talliedSeen, talliedVerdicts}

// tally counts what happened. It is safe for concurrent use.
type tally struct {
	mu         sync.Mutex
	counts     map[string]map[string]int
	converged  []time.Duration
	violations []violation
}

// violation is a broken invariant.
type violation struct {
	invariant string
	what      string
}

// String names the invariant first.
func (v violation) String() string { return v.invariant + ": " + v.what }

func newTally() *tally { return &tally{counts: map[string]map[string]int{}} }

func (t *tally) count(section, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[section] == nil {
		t.counts[section] = map[string]int{}
	}
	t.counts[section][what]++
}

// total sums up a section.
func (t *tally) total(section string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := 0
	for _, n := range t.counts[section] {
		sum += n
	}
	return sum
}

func (t *tally) convergedIn(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.converged = append(t.converged, took)
}

func (t *tally) violated(v violation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.violations = append(t.violations, v)
}

func (t *tally) broken() []violation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.violations)
}

// report writes a section a line: its sum, and what it is made of, the most frequent first.
func (t *tally) report(out io.Writer) {
	for _, section := range sections {
		fmt.Fprintf(out, "%-16s %5d  %s\n", section, t.total(section), t.parts(section))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(out, "%-16s %5d  %s\n", "converged", len(t.converged), spread(t.converged))
	fmt.Fprintf(out, "%-16s %5d\n", "violations", len(t.violations))
}

func (t *tally) parts(section string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts[section]
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func spread(took []time.Duration) string {
	if len(took) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(took))
	return fmt.Sprintf("within %s, half of them within %s", sorted[len(sorted)-1].Round(time.Second), sorted[len(sorted)/2].Round(time.Second))
}
