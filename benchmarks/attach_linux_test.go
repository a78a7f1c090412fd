package benchmarks

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
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
		all[n] = startRegistered(b, name)
	}
	i := kerneltest.NewInstance(b, fs, 64)
	measureAttach(b, fmt.Sprintf("processes=%d", processes), i, name, func(on bool) bool {
		for _, c := range all {
			if c.ask(b) != strconv.FormatBool(on) {
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
			time.Sleep(grace) //nolint:forbidigo // a wait that only the figure depends on
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

// serveEvent registers an event and answers every line with whether it is enabled.
func serveEvent(name string, in io.Reader, out io.Writer) error {
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	ev, err := p.Register(tracepoint.Declaration{Name: name}, nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "registered") // a parent that ended ends the input, too
	for lines := bufio.NewScanner(in); lines.Scan(); {
		_, _ = fmt.Fprintln(out, ev.Enabled())
	}
	return nil
}

// startRegistered starts a process that registered an event.
func startRegistered(tb testing.TB, event string) *child {
	c := startChild(tb, "event:"+event)
	require.Equal(tb, "registered", c.line(tb))
	return c
}
