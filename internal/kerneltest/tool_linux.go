package kerneltest

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
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
	if tool != "trace-cmd" {
		f()
		return
	}
	// Its processes for the CPUs lose all if it ends before they have begun, and sometimes what they read at the end only. So they
	// have written all to their files before.
	testscale.Eventually(tb, func() bool { return len(recorders(cmd.Process.Pid)) == runtime.NumCPU() }, "trace-cmd does not read all CPUs")
	f()
	testscale.Eventually(tb, func() bool {
		for _, pid := range recorders(cmd.Process.Pid) {
			require.NoError(tb, syscall.Kill(pid, syscall.SIGUSR2)) // write what there is, of a page that is not full, too
		}
		return unread(tb) == 0
	}, "trace-cmd does not read all records")
}

func unread(tb testing.TB) uint64 {
	tb.Helper()
	fs, err := tracefs.Find()
	require.NoError(tb, err)
	return StatsOf(tb, fs.Top()).Entries
}

// recorders returns the children of a process that have a ring buffer open and wait for its records.
func recorders(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, file := range stats {
		text, _ := os.ReadFile(file) // of a process that may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) < 2 || fields[0] != "S" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		dir := filepath.Dir(file)
		links, _ := filepath.Glob(filepath.Join(dir, "fd", "*"))
		if slices.ContainsFunc(links, func(link string) bool {
			target, err := os.Readlink(link)
			return err == nil && filepath.Base(target) == "trace_pipe_raw"
		}) {
			pid, _ := strconv.Atoi(filepath.Base(dir)) // by the pattern
			pids = append(pids, pid)
		}
	}
	return pids
}
