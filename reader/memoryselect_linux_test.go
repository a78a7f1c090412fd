//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func memoryProvider(t *testing.T) *uevents.Provider {
	t.Helper()
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func memoryEvent(t *testing.T, p *uevents.Provider, name string) *uevents.Event {
	t.Helper()
	e, err := p.Register(tracepoint.MustParse(name+" u64 n"), nil)
	require.NoError(t, err)
	return e
}

func writeTo(t *testing.T, e *uevents.Event) bool {
	t.Helper()
	written, err := e.WriteRecord(make([]byte, uevents.IndexSize+8))
	require.NoError(t, err)
	return written
}

func drainNow(r *Reader) (n int) {
	r.SetDeadline(time.Now().Add(20 * time.Millisecond))
	for r.Next(new(record.Record)) == nil {
		n++
	}
	return n
}

// TestMemoryAskedProcess: a process that AttachProcess asked for is read, also with two selections.
func TestMemoryAskedProcess(t *testing.T) {
	testscale.HostOnly(t)
	p := memoryProvider(t)
	e := memoryEvent(t, p, "sel_asked")
	r, err := Open(&Options{Selection: Selection{Events: []string{"sel_asked"}, Processes: []int{1}}, Transport: TransportMemory, Poll: time.Millisecond})
	require.NoError(t, err)
	defer r.Close()
	r.AttachProcess(os.Getpid())
	require.True(t, writeTo(t, e))
	assert.Equal(t, 1, drainNow(r), "one selection")
	require.NoError(t, r.Select(Selection{Events: []string{"sel_asked"}, Processes: []int{1}}, Selection{Events: []string{"sel_asked"}, Processes: []int{os.Getppid()}}))
	require.True(t, writeTo(t, e), "it stays attached")
	assert.Equal(t, 1, drainNow(r), "two selections: %+v", r.State())
}

// TestMemoryTaskRace: Select attaches to another event of a program, and copies its process, to which Next adds its context.
func TestMemoryTaskRace(t *testing.T) {
	testscale.HostOnly(t)
	p := memoryProvider(t)
	first := memoryEvent(t, p, "sel_race_0")
	var events []string
	for i := 1; i < 200; i++ {
		name := fmt.Sprintf("sel_race_%d", i)
		memoryEvent(t, p, name)
		events = append(events, name)
	}
	only := Selection{Events: []string{"user_events:sel_race_0"}, Processes: []int{os.Getpid()}}
	for range 40 {
		r, err := Open(&Options{Selection: only, Transport: TransportMemory, Poll: time.Millisecond})
		require.NoError(t, err)
		c, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "late"}, {Key: "zone", Value: "a"}})
		require.NoError(t, err)
		writeTo(t, first)
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, name := range events[:20] {
				assert.NoError(t, r.Select(only, Selection{Events: []string{"user_events:" + name}, Processes: []int{os.Getpid()}}))
			}
		})
		var rec record.Record
		require.NoError(t, r.Next(&rec))
		require.Equal(t, "late", rec.Process.ServiceName)
		wg.Wait()
		require.NoError(t, c.Close())
		require.NoError(t, r.Close())
	}
}

// TestMemoryLossName: the loss of an event has its name, also after all programs that had the event have ended for a while.
func TestMemoryLossName(t *testing.T) {
	testscale.HostOnly(t)
	var lost []Notice
	r, err := Open(&Options{
		Selection: Selection{Events: []string{"sel_loss"}, Processes: []int{os.Getpid()}}, Transport: TransportMemory, Poll: time.Millisecond, BufferSize: 16 << 10,
		Notify: func(n Notice) {
			if n.Kind == NoticeLost {
				lost = append(lost, n)
			}
		},
	})
	require.NoError(t, err)
	defer r.Close()
	tick := func() {
		r.mu.Lock()
		r.tickAt = time.Now().Add(-time.Second)
		r.mu.Unlock()
		r.CheckNotices()
	}
	round := func(n int) {
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		require.NoError(t, err)
		h, err := sloghandler.New("sel_loss", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		l := slog.New(h)
		for !l.Enabled(t.Context(), slog.LevelInfo) {
			drainNow(r)
		}
		for range n {
			l.Info("some text that takes room in the ring")
		}
		tick() // Next would say that once a second
		require.NoError(t, errors.Join(h.Close(), p.Close()))
		for r.memory.Events() > 0 {
			drainNow(r)
		}
		for range 4 {
			tick()
		}
	}
	round(3000)
	round(2000)
	for _, n := range lost {
		assert.Equal(t, "user_events:sel_loss_info", n.Event, "%+v", n)
	}
}

// TestMemoryStopped: Stop disables the events; none is enabled after it.
func TestMemoryStopped(t *testing.T) {
	testscale.HostOnly(t)
	p := memoryProvider(t)
	memoryEvent(t, p, "sel_stop_a")
	r, err := Open(&Options{
		Selection: Selection{Events: []string{"sel_stop"}, Processes: []int{os.Getpid()}}, Transport: TransportMemory, Poll: time.Hour,
	})
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, r.Stop())
	later := memoryEvent(t, p, "sel_stop_b")
	assert.False(t, later.Enabled())
	drainNow(r)
	assert.False(t, later.Enabled(), "after Stop")
}
