package benchmarks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkAttach is how long ftrace takes to attach to one event, until the program sees it:
// in a program that registered so many events, and when so many processes registered the event.
func BenchmarkAttach(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, n := range []int{1, 100, 1000} {
		p, err := uevents.Open(nil)
		require.NoError(b, err)
		list := declarations(b, n)
		ev := register(b, p, list)[n/2]
		i := kerneltest.NewInstance(b, fs, 64)
		measureAttach(b, fmt.Sprintf("events=%d", n), i, list[n/2].Name, func(on bool) bool { return ev.Enabled() == on })
		require.NoError(b, p.Close())
	}
	const processes = 100
	name := uniqueName()
	all := make([]*child, processes)
	for n := range all {
		all[n] = startChild(b, name)
	}
	i := kerneltest.NewInstance(b, fs, 64)
	measureAttach(b, fmt.Sprintf("processes=%d", processes), i, name, func(on bool) bool {
		for _, c := range all {
			if c.enabled(b) != on {
				return false
			}
		}
		return true
	})
}

// grace is longer than the kernel takes to release the last tracing tool. Before that, it lets the next one
// wait.
const grace = 100 * time.Millisecond

// measureAttach enables and disables an event. is reports whether all programs see the state.
func measureAttach(b *testing.B, name string, i *kerneltest.Instance, event string, is func(on bool) bool) {
	e := i.Event(event)
	b.Run(name, func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			time.Sleep(grace)
			b.StartTimer()
			require.NoError(b, e.Enable())
			b.StopTimer()
			require.True(b, is(true))
			require.NoError(b, e.Disable())
			require.True(b, is(false))
			b.StartTimer()
		}
	})
}

// childEnv is the name of the event that the test binary, as a child process, registers.
const childEnv = "USEREVENTS_BENCHMARK_CHILD"

// childMain registers an event and answers every line with whether it is enabled.
func childMain(name string, in io.Reader, out io.Writer) int {
	p, err := uevents.Open(nil)
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	ev, err := p.Register(tracepoint.Declaration{Name: name}, nil)
	fmt.Fprintln(out, err)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, ev.Enabled())
	}
	return 0
}

// child is a process that registered an event.
type child struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(tb testing.TB, event string) *child {
	path, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), childEnv+"="+event, "GOMAXPROCS=1")
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
	c := &child{in: in, out: bufio.NewScanner(out)}
	require.Equal(tb, "<nil>", c.line(tb))
	return c
}

func (c *child) line(tb testing.TB) string {
	require.True(tb, c.out.Scan(), "the child process ended: %v", c.out.Err())
	return c.out.Text()
}

// enabled asks it whether the event is enabled.
func (c *child) enabled(tb testing.TB) bool {
	_, err := fmt.Fprintln(c.in)
	require.NoError(tb, err)
	return c.line(tb) == "true"
}
