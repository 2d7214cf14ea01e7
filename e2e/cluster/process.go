package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	pollInterval = 20 * time.Millisecond
	gracePeriod  = 10 * time.Second
	logTailBytes = 4096
)

// command is all that is needed to start a program again.
type command struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"` // beyond the environment of this process
	Log  string   `json:"log"`
	// Health is an address that answers 200 when the program is ready; empty if it has none.
	Health string `json:"health,omitempty"`
}

// process is a program that runs, or has run, on this machine. The start time
// tells it from a later program that was given the same process id.
type process struct {
	command
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// starter is the one OS thread that starts the children of this process. The
// kernel ends a child with the thread that started it, so this thread must
// live as long as the process does.
var starter = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// start runs the command. Detached processes survive this process, all others
// end with it, however it ends.
func (c command) start(detached bool) (*process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes(detached)
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &process{command: c, PID: cmd.Process.Pid}
	p.Started, _ = startTime(p.PID)
	go func() { _ = cmd.Wait() }()
	return p, nil
}

// running reports whether the process still exists. A process that has ended
// but was not yet waited for does not count.
func (p *process) running() bool {
	started, alive := startTime(p.PID)
	return alive && started == p.Started
}

func (p *process) signal(signal syscall.Signal) error {
	if !p.running() {
		return nil
	}
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s (process %d): %w", signal, p.Name, p.PID, err)
	}
	return nil
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill(ctx context.Context) error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.waitGone(ctx)
}

// interrupt asks the process to end and kills it when it takes too long.
func (p *process) interrupt(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, gracePeriod)
	defer cancel()
	if p.waitGone(patience) == nil {
		return nil
	}
	return p.kill(ctx)
}

func (p *process) waitGone(ctx context.Context) error {
	return poll(ctx, "the end of "+p.Name, func(context.Context) (bool, error) { return !p.running(), nil })
}

// waitFor polls until ready holds. When the process ends meanwhile, or the
// context does, the error shows the end of the process's log.
func (p *process) waitFor(ctx context.Context, ready func(context.Context) (bool, error)) error {
	err := poll(ctx, p.Name+" to become ready", func(ctx context.Context) (bool, error) {
		if !p.running() {
			return false, fmt.Errorf("%s ended", p.Name)
		}
		return ready(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w; the end of %s:\n%s", err, p.Log, tail(p.Log))
	}
	return nil
}

// poll calls done until it reports true or fails, or until ctx ends.
func poll(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

// tail returns the last lines of a log, as far as it can be read.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(content) > logTailBytes {
		content = content[len(content)-logTailBytes:]
	}
	return strings.TrimSpace(string(content))
}
