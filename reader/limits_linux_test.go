//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestMemoryLimit: a program in shared memory writes so many records of an event in a second, also of one that appears later, and all
// errors. The reader says for how long records are missing.
func TestMemoryLimit(t *testing.T) {
	testscale.HostOnly(t)
	const limit = 20
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_limit"}, Excludes: []string{"*_request"}}, Limit: limit, Poll: time.Millisecond})
	l := slog.New(memoryProgram(t, "mem_limit"))
	began := time.Now()
	failures, seconds, read := 0, map[uint64]int{}, map[string]int{}
	next := func() {
		ready(t, r, func(ev *record.Record) {
			if read[ev.Message]++; ev.Message == "flood" {
				seconds[ev.Monotonic/uint64(time.Second)]++
			}
		})
	}
	ctx := context.Background()
	for range 3 {
		testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, slog.LevelDebug) }, "it stays disabled")
		flood(t, func() bool { return l.Enabled(ctx, slog.LevelDebug) }, func() { l.Debug("flood") })
		l.Error("failed")
		failures++
	}
	testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, slog.LevelDebug) }, "it stays disabled")
	// Of an event that the program registers, and floods, before the reader has seen it.
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	defer p.Close()
	late, err := p.Register(tracepoint.MustParse("mem_limit_late u32 n"), nil)
	require.NoError(t, err)
	flood(t, late.Enabled, func() {
		_, err := late.WriteRecord(make([]byte, uevents.IndexSize+4))
		require.NoError(t, err)
	})
	testscale.Eventually(t, func() bool { next(); return late.Enabled() }, "it stays disabled")
	require.NoError(t, r.Stop())
	next()
	elapsed := time.Since(began) //nolint:forbidigo // what is measured
	assert.Equal(t, failures, read["failed"])
	for _, n := range seconds {
		assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
	}
	st, err := r.Stats()
	require.NoError(t, err)
	limitedEvents := []string{"user_events:mem_limit_debug", "user_events:mem_limit_late"}
	for _, s := range st.Events {
		assert.Equal(t, slices.Contains(limitedEvents, s.Name), s.Limited > 0, s.Name)
		assert.Less(t, s.Limited, elapsed)
		if s.Name == "user_events:mem_limit_debug" {
			assert.EqualValues(t, 3, s.LimitedTimes)
		}
	}
	var limited time.Duration
	times := uint64(0)
	for _, n := range notices() {
		if n.Kind == reader.NoticeLimited {
			assert.Contains(t, limitedEvents, n.Event)
			limited += n.Gap
			times += n.Count
		}
	}
	assert.Equal(t, []any{st.Total.Limited, st.Total.LimitedTimes}, []any{limited, times})
	require.NoError(t, r.Close())
	closed, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, st.Total, closed.Total)
}

// flood writes until an event is disabled. A program that keeps to a limit has disabled it long before the last of a million records.
func flood(t *testing.T, enabled func() bool, write func()) {
	t.Helper()
	for n := 0; enabled(); n++ {
		require.Less(t, n, 1_000_000, "it stays enabled")
		write()
	}
}

// TestMemoryShare: of a program in shared memory above its share of bytes, the reader disables the events that have more than an equal part
// of it until the next second, and not that of errors.
func TestMemoryShare(t *testing.T) {
	testscale.HostOnly(t)
	r, notices := openMemory(t, reader.Options{
		Selection: reader.Selection{Events: []string{"mem_share"}, Excludes: []string{"*_request"}}, ProgramLimit: reader.ProgramLimit{Bytes: 10_000}, Poll: time.Millisecond,
	})
	l := slog.New(memoryProgram(t, "mem_share"))
	written, read := map[string]int{}, map[string]int{}
	next := func() { ready(t, r, func(ev *record.Record) { read[ev.Message]++ }) }
	ctx := context.Background()
	floods := []slog.Level{slog.LevelDebug, slog.LevelInfo}
	for range 2 {
		for _, level := range floods {
			testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, level) }, "it stays disabled")
			testscale.Eventually(t, func() bool {
				for range 20 {
					if l.Enabled(ctx, level) {
						l.Log(ctx, level, "flood")
						written["flood"]++
					}
				}
				next()
				return !l.Enabled(ctx, level)
			}, "it stays enabled")
		}
		require.True(t, l.Enabled(ctx, slog.LevelError))
		l.Error("failed")
		written["failed"]++
	}
	require.NoError(t, r.Stop())
	next()
	assert.Equal(t, written, read)
	st, err := r.Stats()
	require.NoError(t, err)
	for _, s := range st.Events {
		of := slices.Contains([]string{"user_events:mem_share_debug", "user_events:mem_share_info"}, s.Name)
		assert.Equal(t, of, s.Limited > 0 && s.LimitedTimes >= 2, s.Name)
	}
	var times uint64
	for _, n := range notices() {
		if n.Kind == reader.NoticeLimited {
			times += n.Count
		}
	}
	assert.Equal(t, st.Total.LimitedTimes, times)
}

// TestMemorySelect: records are selected while a Reader runs, of events in shared memory.
func TestMemorySelect(t *testing.T) {
	testscale.HostOnly(t)
	testSelect(t, uevents.TransportMemory, reader.TransportMemory)
}

// TestKernelSelect: the same for the kernel's events.
func TestKernelSelect(t *testing.T) {
	kerneltest.Require(t)
	testSelect(t, uevents.TransportKernel, reader.TransportKernel)
}

// selectRig is a program that logs, and a Reader that is opened for its warnings with an even number.
type selectRig struct {
	t    *testing.T
	r    *reader.Reader
	h    slog.Handler
	base reader.Selection
	got  map[string]int // by level and number
	last int            // number of the last record
	warn int            // how many warnings it was opened for
}

func (a *selectRig) enabled(l slog.Level) bool { return a.h.Enabled(a.t.Context(), l) }

// log writes a record of each level, with the next number, and reads what is ready.
func (a *selectRig) log() {
	a.last++
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelWarn} {
		slog.New(a.h).Log(a.t.Context(), l, "message", "n", a.last)
	}
	if a.last%2 == 0 {
		a.warn++
	}
	a.read()
}

func (a *selectRig) read() {
	ready(a.t, a.r, func(ev *record.Record) {
		n, _ := where.ValueOf("n")(ev)
		a.got[ev.Severity.String()+"/"+n.String()]++
	})
}

// until logs and reads until a condition holds.
func (a *selectRig) until(condition func() bool) {
	a.t.Helper()
	testscale.Eventually(a.t, func() bool { a.log(); return condition() }, "%v", &a.got)
}

// all reads until the warnings are there that it was opened for, and checks that each is there once.
func (a *selectRig) all() {
	a.t.Helper()
	count := func() (n int) {
		for i := 2; i <= a.last; i += 2 {
			n += a.got["WARN/"+strconv.Itoa(i)]
		}
		return n
	}
	testscale.Eventually(a.t, func() bool { a.read(); return count() >= a.warn }, "%v", &a.got)
	for logged, n := range a.got {
		assert.Equal(a.t, 1, n, logged)
	}
}

// newSelectRig opens both.
func newSelectRig(t *testing.T, name string, transport uevents.Transport, o *reader.Options) *selectRig {
	t.Helper()
	p, err := uevents.Open(&uevents.Options{Transport: transport})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	o.Events = []string{name + "_warn"}
	o.Latency, o.Poll = time.Millisecond, time.Millisecond
	r, err := reader.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return &selectRig{t: t, r: r, h: h, base: o.Selection, got: map[string]int{}}
}

// add selects records beside those that the Reader was opened for.
func (a *selectRig) add(list ...reader.Selection) error {
	return a.r.Select(append([]reader.Selection{a.base}, list...)...)
}

func testSelect(t *testing.T, transport uevents.Transport, read reader.Transport) {
	where := condition("n & 0xffff and not (n =~ '[13579]$')")
	a := newSelectRig(t, "selects", transport, &reader.Options{Selection: reader.Selection{Where: where, Processes: []int{os.Getpid()}}, Transport: read})
	r := a.r
	a.until(func() bool { return a.last == 20 })
	a.all()
	assert.Len(t, a.got, 10, "%v", a.got)
	assert.False(t, a.enabled(slog.LevelDebug))

	// Another level, and other records of the level that is attached.
	require.NoError(t, a.add(
		reader.Selection{Events: []string{"selects"}, Excludes: []string{"selects_warn"}},
		reader.Selection{Events: []string{"selects_warn"}, Where: condition("n in (31, 33, 34)")},
	))
	a.until(func() bool { return a.enabled(slog.LevelDebug) && a.last > 40 })
	debug := a.last + 1
	a.until(func() bool { return a.got["DEBUG/"+strconv.Itoa(debug)] > 0 })
	a.all()
	assert.Zero(t, a.got["WARN/35"])
	if transport == uevents.TransportMemory { // at once
		assert.Equal(t, 1, a.got["WARN/31"])
	}

	// A wrong selection changes nothing.
	for _, wrong := range []string{"", "["} {
		assert.ErrorIs(t, a.add(reader.Selection{Events: []string{wrong}}), fs.ErrInvalid, wrong)
	}
	assert.True(t, a.enabled(slog.LevelDebug))

	// Other records of the same events.
	require.NoError(t, a.add(reader.Selection{Events: []string{"selects_warn"}}))
	a.until(func() bool { return !a.enabled(slog.LevelDebug) && a.got["WARN/"+strconv.Itoa(a.last/2*2-1)] > 0 })
	a.all()

	// Those that it was opened for go on.
	require.NoError(t, a.add())
	a.until(func() bool { return a.last%2 == 0 })
	a.all()
	testscale.Eventually(t, func() bool { // the kernel takes a moment
		a.log()
		a.log()
		a.all()
		return a.got["WARN/"+strconv.Itoa(a.last-a.last%2-1)] == 0
	}, "%v", &a.got)
	a.until(func() bool { return a.last%2 == 0 && a.last > 100 })
	a.all()
	assert.True(t, a.enabled(slog.LevelWarn))

	// They come back.
	require.NoError(t, a.add(reader.Selection{Events: []string{"selects_debug"}}))
	a.until(func() bool { return a.got["DEBUG/"+strconv.Itoa(a.last)] > 0 })
	a.all()
	require.NoError(t, r.Close())
	assert.ErrorIs(t, a.add(), os.ErrClosed)
	assert.Error(t, a.add(reader.Selection{Events: []string{"selects"}}))
}

// TestKernelSelectFiltered: the kernel drops records that are not selected when the Reader is opened, and another selection has them all the same.
func TestKernelSelectFiltered(t *testing.T) {
	fs := kerneltest.Require(t)
	a := newSelectRig(t, "filtered", uevents.TransportKernel, &reader.Options{Tracefs: fs.Path(), Selection: reader.Selection{Where: condition("level >= warn2")}})
	log := func() {
		a.last++
		slog.New(a.h).Log(t.Context(), slog.LevelWarn, "message", "n", a.last)
		slog.New(a.h).Log(t.Context(), slog.LevelWarn+1, "message", "n", a.last)
		a.read()
	}
	log()
	require.NoError(t, a.add(reader.Selection{Events: []string{"filtered_warn"}}))
	testscale.Eventually(t, func() bool { log(); return a.got["WARN/"+strconv.Itoa(a.last-1)] > 0 }, "%v", &a.got)
	require.NoError(t, a.add())
	testscale.Eventually(t, func() bool { log(); a.read(); return a.last > 100 && a.got["WARN/"+strconv.Itoa(a.last-1)] == 0 }, "%v", &a.got)
	testscale.Eventually(t, func() bool { a.read(); return a.got["WARN2/"+strconv.Itoa(a.last)] > 0 }, "%v", &a.got)
	assert.Zero(t, a.got["WARN/1"])
	for n := range a.last {
		assert.Equal(t, 1, a.got["WARN2/"+strconv.Itoa(n+1)], n+1)
	}
}

// TestMemorySelectMaxEvents: events that replace others find the room of these.
func TestMemorySelectMaxEvents(t *testing.T) {
	testscale.HostOnly(t)
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"none"}}, MaxEvents: 1, Poll: time.Millisecond})
	p := provider(t)
	first, second := register(t, p, "mem_swap_a"), register(t, p, "mem_swap_b")
	for range 3 {
		require.NoError(t, r.Select(reader.Selection{Events: []string{"mem_swap_b"}}))
		poll(t, r, func() bool { return second.Enabled() && !first.Enabled() })
		require.NoError(t, r.Select(reader.Selection{Events: []string{"mem_swap_a"}}))
		poll(t, r, func() bool { return first.Enabled() && !second.Enabled() })
	}
	for _, n := range notices() {
		assert.NotEqual(t, reader.NoticeFailed, n.Kind, "%v", n)
	}
}

// TestMemorySelectKinds: an event without records of the kinds is not attached, and another selection may be all that it lacks.
func TestMemorySelectKinds(t *testing.T) {
	testscale.HostOnly(t)
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"none"}}, Poll: time.Millisecond})
	h := memoryProgram(t, "mem_kinds")
	metrics := reader.Selection{Events: []string{"mem_kinds"}, Kinds: []record.Kind{record.KindMetric}}
	require.NoError(t, r.Select(metrics))
	looks := 0
	poll(t, r, func() bool { looks++; return looks > 10 })
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	assert.Equal(t, 5, r.State().NeverMatch)
	require.NoError(t, r.Select(metrics, reader.Selection{Events: []string{"mem_kinds_error"}}))
	poll(t, r, func() bool { return h.Enabled(t.Context(), slog.LevelError) })
	assert.Equal(t, 4, r.State().NeverMatch)
}

// TestMemorySelectProcesses: the programs of another selection are attached to in place of others.
func TestMemorySelectProcesses(t *testing.T) {
	testscale.HostOnly(t)
	other := reader.Selection{Events: []string{"mem_others"}, Processes: []int{1}}
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_others"}}, Poll: time.Millisecond})
	h := memoryProgram(t, "mem_others")
	for range 3 {
		poll(t, r, func() bool { return h.Enabled(t.Context(), slog.LevelInfo) })
		require.NoError(t, r.Select(other))
		poll(t, r, func() bool { return !h.Enabled(t.Context(), slog.LevelInfo) })
		require.NoError(t, r.Select(reader.Selection{Events: []string{"mem_others"}, Processes: []int{os.Getpid()}}))
	}
}

// TestKernelSelectShare: records of the second source of a divided event are a part of the share, too.
func TestKernelSelectShare(t *testing.T) {
	fs := kerneltest.Require(t)
	a := newSelectRig(t, "addshare", uevents.TransportKernel, &reader.Options{
		Tracefs: fs.Path(), Selection: reader.Selection{Where: condition("level >= warn2")}, ProgramLimit: reader.ProgramLimit{Records: 100},
	})
	r := a.r
	require.NoError(t, a.add(reader.Selection{Events: []string{"addshare_warn"}}))
	read := func() (n int) {
		ready(t, r, func(*record.Record) { n++ })
		return n
	}
	l := slog.New(a.h)
	testscale.Eventually(t, func() bool { l.Warn("x"); return read() > 0 }, "the other records are not there")
	testscale.Eventually(t, func() bool {
		for range 200 {
			l.Warn("flood")
		}
		read()
		st, err := r.Stats()
		require.NoError(t, err)
		return st.Total.LimitedTimes > 0
	}, "the event is not limited")
}
