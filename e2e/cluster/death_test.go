package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// orphanDir makes the test program start a cluster in the folder that it
// names, say so, and wait for its own death.
const orphanDir = "ORPHAN_CLUSTER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanDir); dir != "" {
		_, err := cluster.Start(context.Background(), cluster.Options{Bare: true, Dir: dir})
		fmt.Println("started:", err)
		select {}
	}
	os.Exit(m.Run())
}

func TestClusterEndsWithAKilledProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children with their parent")
	}
	dir := t.TempDir()
	itself, err := os.Executable()
	require.NoError(t, err)
	program := exec.CommandContext(t.Context(), itself)
	program.Env = append(os.Environ(), orphanDir+"="+dir)
	output, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started: <nil>\n", line)
	require.Len(t, processesOf(t, dir), 3, "etcd, the API server and the program itself")

	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	assert.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, patience, 10*time.Millisecond)
}
