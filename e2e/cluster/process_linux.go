package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// childAttributes ties a child to the life of the thread that starts it, or,
// detached, gives it a session of its own.
func childAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// startTime returns when the process started, as the kernel counts it, and
// whether it is alive.
func startTime(pid int) (started string, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the program's name in parentheses and may hold
	// anything; the state is field 3 and the start time field 22.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "X" || fields[state] == "Z" && !hasThreads(pid) {
		return "", false
	}
	return fields[start], true
}

// hasThreads says whether a process whose first thread has ended still has
// others. Until they have ended too, it keeps its ports.
func hasThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}
