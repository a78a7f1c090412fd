package benchmarks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// declarations returns n events of five fields, with unused names.
func declarations(tb testing.TB, n int) []tracepoint.Declaration {
	plan, err := typed.PlanFor[Five](uniqueName())
	require.NoError(tb, err)
	list := make([]tracepoint.Declaration, n)
	for i := range list {
		list[i] = plan.Declaration()
		list[i].Name = fmt.Sprintf("%s_%d", list[i].Name, i)
	}
	return list
}

// register registers all, and returns them.
func register(tb testing.TB, p *uevents.Provider, list []tracepoint.Declaration) []*uevents.Event {
	events := make([]*uevents.Event, len(list))
	for i, d := range list {
		var err error
		events[i], err = p.Register(d, nil)
		require.NoError(tb, err)
	}
	return events
}

// BenchmarkRegister is the registration of so many events, one after the other.
func BenchmarkRegister(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				list := declarations(b, n)
				p, err := uevents.Open(nil)
				require.NoError(b, err)
				b.StartTimer()
				events := register(b, p, list)
				b.StopTimer()
				require.Len(b, events, n)
				require.NoError(b, p.Close())
				awaitDeletion(b, fs, strings.TrimSuffix(list[0].Name, "0"))
				b.StartTimer()
			}
		})
	}
}

// awaitDeletion waits until the kernel deleted all events whose names begin like this. It does
// so some time after the last program let go of them.
func awaitDeletion(tb testing.TB, fs *tracefs.Dir, prefix string) {
	testscale.Eventually(tb, func() bool {
		status, err := fs.Status()
		require.NoError(tb, err)
		return !slices.ContainsFunc(status.Events, func(e tracefs.EventStatus) bool { return strings.HasPrefix(e.Name, prefix) })
	}, "events %s* are still there", prefix)
}

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

// BenchmarkWrite is one event whose payload is made already, by its size, and the system call
// without the library.
func BenchmarkWrite(b *testing.B) {
	fs := kerneltest.Require(b)
	data, err := os.OpenFile(fs.Path("user_events_data"), os.O_RDWR, 0)
	require.NoError(b, err)
	defer data.Close()
	p, err := uevents.Open(&uevents.Options{File: data})
	require.NoError(b, err)
	defer p.Close()
	name := uniqueName()
	ev, err := p.Register(tracepoint.Declaration{Name: name}, nil)
	require.NoError(b, err)
	i := kerneltest.NewInstance(b, fs, 256)
	i.Attach(name)
	write := func(size int) func() {
		buf := make([]byte, uevents.IndexSize+size)
		return func() { _, _ = ev.WriteRecord(buf) }
	}
	for _, size := range []int{64, 256, opaque, 1024, 4064} {
		run(b, fmt.Sprintf("bytes=%d", size), call{log: write(size)})
	}
	buf := make([]byte, uevents.IndexSize+len(payload))
	_, err = ev.WriteRecord(buf)
	require.NoError(b, err) // puts the event's index in front, for good
	fd := int(data.Fd())
	run(b, "raw", call{log: func() { _, _ = unix.Write(fd, buf) }})
	tools := []*kerneltest.Instance{i}
	for range 2 {
		more := kerneltest.NewInstance(b, fs, 256)
		more.Attach(name)
		tools = append(tools, more)
		run(b, fmt.Sprintf("tools=%d", len(tools)), call{log: write(opaque)})
	}
	require.Greater(b, i.Stats().Entries+i.Stats().Overrun, uint64(5), "every way writes")
	for _, tool := range tools {
		tool.Detach()
	}
	full := kerneltest.NewInstance(b, fs, 4)
	require.NoError(b, os.WriteFile(full.Path("options", "overwrite"), []byte("0"), 0))
	full.Attach(name)
	for range batch {
		write(opaque)()
	}
	require.Positive(b, full.Stats().Dropped)
	run(b, "full", call{log: write(opaque)})
	full.Detach()
}
