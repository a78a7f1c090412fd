package kerneltest

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// WhileRecording calls f while a tool records, and returns after the tool has ended. The arguments are those of perf record or
// trace-cmd record before the command. The tool runs in a directory of its own.
func WhileRecording(tb testing.TB, f func(), tool string, args ...string) {
	tb.Helper()
	// The tool starts the command once it records, and stops when the command ends.
	cmd := exec.Command(tool, slices.Concat(args, []string{"sh", "-c", "echo recording; cat"})...)
	cmd.Dir = tb.TempDir()
	var printed bytes.Buffer
	cmd.Stderr = &printed
	stop, err := cmd.StdinPipe()
	require.NoError(tb, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	out := bufio.NewReader(stdout)
	defer func() {
		_ = stop.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			tb.Errorf("%v: %v\n%s", cmd, err, printed.String())
		}
	}()
	for line := ""; line != "recording\n"; {
		line, err = out.ReadString('\n')
		require.NoError(tb, err, "%v ends before it records", cmd)
	}
	f()
}
