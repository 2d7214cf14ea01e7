package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// journal is what happened lately, for people who look into a violation. It is safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	lines []string
	file  io.Writer // gets every line
}

// journalKept is how many lines a violation is printed with.
const journalKept = 80

func (j *journal) write(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	j.lines = append(j.lines, line)
	if len(j.lines) > journalKept {
		j.lines = j.lines[1:]
	}
	fmt.Fprintln(j.file, line)
}

func (j *journal) report(out io.Writer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		fmt.Fprintln(out, line)
	}
}
