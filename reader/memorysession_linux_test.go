//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
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

// TestMemoryOfEnded: of programs that have ended, of which there may be any number, a reader keeps no more than the sums of their counts, after
// notices of their losses.
func TestMemoryOfEnded(t *testing.T) {
	testscale.HostOnly(t)
	for name, mode := range map[string]ReadMode{"stream": ReadStream, "counts": ReadCounts, "snapshot": ReadSnapshot} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testMemoryOfEnded(t, mode) }) // the reader looks at losses once a second
		})
	}
}

func testMemoryOfEnded(t *testing.T, mode ReadMode) {
	const event = "user_events:mem_kept_info"
	var lost uint64
	r, err := Open(&Options{
		Selection: Selection{Events: []string{"mem_kept"}, Processes: []int{os.Getpid()}}, Transport: TransportMemory, Read: mode, Poll: time.Millisecond, BufferSize: 16 << 10,
		Notify: func(n Notice) {
			if n.Kind == NoticeLost {
				assert.Equal(t, event, n.Event)
				lost += n.Count
			}
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	m := r.memory.(*memory)
	published, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "kept"}, {Key: "zone", Value: "a"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, published.Close()) }()
	until := func(says string, condition func() bool) {
		t.Helper()
		testscale.Eventually(t, func() bool {
			r.CheckNotices()
			_, err := r.Stats()
			if mode == ReadSnapshot {
				err = errors.Join(err, r.Snapshot(func(*record.Record) error { return nil }))
			}
			if mode == ReadStream {
				for r.SetDeadline(time.Now()); err == nil; err = r.Next(new(record.Record)) {
				}
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				err = nil
			}
			require.NoError(t, err)
			return condition()
		}, "%s", says)
	}
	const rounds, n = 3, 2000
	for range rounds {
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		require.NoError(t, err)
		h, err := sloghandler.New("mem_kept", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		logger := slog.New(h)
		until("the event is not enabled", func() bool { return logger.Enabled(t.Context(), slog.LevelInfo) })
		for range n {
			logger.Info("some text that takes room in the ring")
		}
		require.NoError(t, errors.Join(h.Close(), p.Close()))
		until("the end is not noticed", func() bool { return m.Events() == 0 })
	}
	var st Stats
	until("the counts stay with those of events that go on", func() bool {
		st, err = r.Stats()
		require.NoError(t, err)
		return len(st.Events) == 0
	})
	require.NoError(t, r.Close())
	assert.Empty(t, m.by)
	assert.Empty(t, m.attachedOf)
	assert.Empty(t, r.events)
	assert.Zero(t, r.processes.contexts.bytes.Load())
	assert.EqualValues(t, rounds*n, st.Total.Matched)
	assert.NotZero(t, st.Total.Lost)
	if mode != ReadCounts { // whose caller has the counts
		assert.Equal(t, st.Total.Lost, lost)
	}
}

// TestNoFollowRefused: a Reader that follows nothing, and finds no event in shared memory, has nothing to read, also if the kernel refuses
// to list its events. The error says so. One that follows waits.
func TestNoFollowRefused(t *testing.T) {
	testscale.HostOnly(t)
	denied := &fs.PathError{Op: "open", Path: "user_events_status", Err: fs.ErrPermission}
	for _, refused := range []error{denied, fs.ErrNotExist, errors.ErrUnsupported} {
		for _, noFollow := range []bool{true, false} {
			r, err := newReader(&Options{Selection: Selection{Events: []string{"nofollow_none"}}, NoFollow: noFollow}, "/proc")
			require.NoError(t, err)
			r.memory, err = newMemory(r)
			require.NoError(t, err)
			r.join()
			err = r.start(refused)
			if !noFollow {
				require.NoError(t, err)
				require.NoError(t, r.Close())
				continue
			}
			assert.ErrorIs(t, err, fs.ErrNotExist)
			if errors.Is(refused, denied) {
				assert.ErrorIs(t, err, fs.ErrPermission)
				assert.EqualError(t, err, "no event matches nofollow_none; the kernel's events are not read: "+denied.Error())
			} else {
				assert.EqualError(t, err, "no event matches nofollow_none")
			}
		}
	}
}

// TestMemoryKinds: programs that make up events take a bounded amount of memory, and later events are remembered all the same.
func TestMemoryKinds(t *testing.T) {
	r, err := newReader(&Options{Selection: Selection{Events: []string{"mem"}}, Transport: TransportMemory}, "/proc")
	require.NoError(t, err)
	m := &memory{r: r, kinds: map[string]*memoryKind{}}
	for i := range 2*maxKinds + 1 {
		m.kind(tracepoint.MustParse(fmt.Sprintf("mem_%d u64 a", i)))
		assert.LessOrEqual(t, len(m.kinds), maxKinds)
	}
	later := tracepoint.MustParse("mem_later u64 a")
	assert.Same(t, m.kind(later), m.kind(later))
	assert.NotNil(t, m.kind(later).reading)
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
	until := func(condition func() bool) { // reads what is ready until then
		t.Helper()
		testscale.Eventually(t, func() bool {
			for r.SetDeadline(past); r.Next(new(record.Record)) == nil; {
			}
			return condition()
		}, "not yet")
	}
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
		until(func() bool { return l.Enabled(t.Context(), slog.LevelInfo) })
		for range n {
			l.Info("some text that takes room in the ring")
		}
		tick() // Next would say that once a second
		require.NoError(t, errors.Join(h.Close(), p.Close()))
		until(func() bool { return r.memory.Events() == 0 })
		for range 4 {
			tick()
		}
	}
	round(3000)
	round(2000)
	require.NotEmpty(t, lost)
	for _, n := range lost {
		assert.Equal(t, "user_events:sel_loss_info", n.Event, "%+v", n)
	}
}
