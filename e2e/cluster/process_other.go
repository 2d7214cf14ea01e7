//go:build !linux

package cluster

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes gives a detached child a session of its own. Only Linux can
// tie the other children to the life of this process.
func childAttributes(detached bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: detached}
}

// startTime returns when the process started and whether it is alive.
func startTime(pid int) (started string, alive bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return "", false
	}
	return strings.TrimSpace(started), true
}
