package benchmarks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// childEnv says what the test binary does as a child process, and with what argument: KIND:ARGUMENT.
const childEnv = "USEREVENTS_BENCHMARK_CHILD"

// childMain serves as a child process until its input ends. It answers every line.
func childMain(what string) int {
	kind, arg, _ := strings.Cut(what, ":")
	serve := map[string]func(string, io.Reader, io.Writer) error{"event": serveEvent, "collector": serveCollector}[kind]
	if err := serve(arg, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is the test binary as another process.
type child struct {
	pid int
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts one, which ends with the test.
func startChild(tb testing.TB, what string) *child {
	path, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), childEnv+"="+what, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		require.NoError(tb, in.Close())
		require.NoError(tb, cmd.Wait())
	})
	return &child{pid: cmd.Process.Pid, in: in, out: bufio.NewScanner(out)}
}

// line returns the next line that it prints.
func (c *child) line(tb testing.TB) string {
	require.True(tb, c.out.Scan(), "the child process ended: %v", c.out.Err())
	return c.out.Text()
}

// ask sends it an empty line and returns its answer.
func (c *child) ask(tb testing.TB) string {
	_, err := fmt.Fprintln(c.in)
	require.NoError(tb, err)
	return c.line(tb)
}
