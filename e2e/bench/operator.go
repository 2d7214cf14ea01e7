package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	operatorUser = "system:serviceaccount:" + v1alpha1.Namespace + ":" + v1alpha1.FieldManager
	ticks        = 100 // Linux counts the CPU time that it shows in hundredths of a second
	// quiet is how long the operator must write nothing to count as at rest. It puts off news of mere progress for up to 5 s.
	quiet = 6 * time.Second
)

// process is a running program, as its folder in /proc.
type process struct{ dir string }

// operator finds the operator of this cluster: the process whose program is in the cluster's folder.
func (b *testbed) operator() (process, error) {
	dir, err := filepath.EvalSymlinks(b.cluster.Dir())
	if err != nil {
		return process{}, fmt.Errorf("find the operator: %w", err)
	}
	programs, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return process{}, fmt.Errorf("find the operator: %w", err)
	}
	for _, program := range programs {
		if path, err := os.Readlink(program); err == nil && path == filepath.Join(dir, "manager") {
			return process{dir: filepath.Dir(program)}, nil
		}
	}
	return process{}, fmt.Errorf("find the operator: no process runs %s/manager", dir)
}

type usage struct {
	cpuSeconds float64 // since the start, of all threads, in user and kernel mode
	peakMiB    float64 // most memory resident at a time since the start
}

func (p process) usage() (usage, error) {
	stat, err := os.ReadFile(filepath.Join(p.dir, "stat"))
	if err != nil {
		return usage{}, fmt.Errorf("read the operator's CPU time: %w", err)
	}
	status, err := os.ReadFile(filepath.Join(p.dir, "status"))
	if err != nil {
		return usage{}, fmt.Errorf("read the operator's memory: %w", err)
	}
	var result usage
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] { // utime and stime; the first field here is the third, the state
		value, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return result, fmt.Errorf("read the operator's CPU time: %w", err)
		}
		result.cpuSeconds += value / ticks
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			var kibibytes float64
			if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kibibytes); err != nil {
				return result, fmt.Errorf("read the operator's memory from %q: %w", line, err)
			}
			result.peakMiB = kibibytes / 1024
		}
	}
	return result, nil
}

// requests are the operator's, to the API server.
type requests []cluster.Request

func (b *testbed) operatorRequests(from, to time.Time) (requests, error) {
	all, err := b.cluster.Requests(from, to)
	if err != nil {
		return nil, err
	}
	var ours requests
	for _, request := range all {
		if request.User == operatorUser {
			ours = append(ours, request)
		}
	}
	return ours, nil
}

func (r requests) writes() int {
	count := 0
	for _, request := range r {
		if request.Write() {
			count++
		}
	}
	return count
}

func (r requests) lists() int {
	count := 0
	for _, request := range r {
		if request.Verb == "list" {
			count++
		}
	}
	return count
}

// byKind counts by verb and resource, as in "patch addons.addons.kurl.sh/status".
func (r requests) byKind() map[string]float64 {
	counts := map[string]float64{}
	for _, request := range r {
		kind := request.Verb + " " + request.Resource
		if request.Subresource != "" {
			kind += "/" + request.Subresource
		}
		counts[kind]++
	}
	return counts
}

// waitQuiet waits until the operator has written nothing for a while.
func (b *testbed) waitQuiet(ctx context.Context) error {
	for {
		from := time.Now()
		if err := wait(ctx, quiet); err != nil {
			return err
		}
		requests, err := b.operatorRequests(from, time.Now())
		if err != nil {
			return err
		}
		if requests.writes() == 0 {
			return nil
		}
	}
}

// wait lets time pass: how long is what is measured, or the condition itself.
func wait(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}
