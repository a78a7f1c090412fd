//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestMemoryAdditions: records are selected while a Reader runs, of events in shared memory.
func TestMemoryAdditions(t *testing.T) {
	testscale.HostOnly(t)
	testAdditions(t, uevents.TransportMemory, reader.TransportMemory)
}

// TestKernelAdditions: the same for the kernel's events.
func TestKernelAdditions(t *testing.T) {
	kerneltest.Require(t)
	testAdditions(t, uevents.TransportKernel, reader.TransportKernel)
}

// additionsRig is a program that logs, and a Reader that selects its warnings with an even number.
type additionsRig struct {
	t    *testing.T
	r    *reader.Reader
	h    slog.Handler
	got  map[string]int // by level and number
	last int            // number of the last record
	warn int            // how many warnings Options select
}

func (a *additionsRig) enabled(l slog.Level) bool { return a.h.Enabled(a.t.Context(), l) }

// log writes a record of each level, with the next number, and reads what is ready.
func (a *additionsRig) log() {
	a.last++
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelWarn} {
		slog.New(a.h).Log(a.t.Context(), l, "message", "n", a.last)
	}
	if a.last%2 == 0 {
		a.warn++
	}
	a.read()
}

func (a *additionsRig) read() {
	a.r.SetDeadline(time.Now().Add(time.Millisecond))
	for ev := (reader.Event{}); ; {
		err := a.r.Next(&ev)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		require.NoError(a.t, err)
		require.NoError(a.t, ev.Decoder.Decode(ev.Raw, &ev, nil))
		n, _ := reader.ValueOf("n")(&ev)
		a.got[ev.Severity.String()+"/"+n.String()]++
	}
}

// until logs and reads until a condition holds.
func (a *additionsRig) until(condition func() bool) {
	a.t.Helper()
	testscale.Eventually(a.t, func() bool { a.log(); return condition() }, "%v", &a.got)
}

// all reads until the warnings that Options select are there, and checks that each is there once.
func (a *additionsRig) all() {
	a.t.Helper()
	count := func() (n int) {
		for i := 2; i <= a.last; i += 2 {
			n += a.got["WARN/"+strconv.Itoa(i)]
		}
		return n
	}
	testscale.Eventually(a.t, func() bool { a.read(); return count() >= a.warn }, "%v", &a.got)
	for record, n := range a.got {
		assert.Equal(a.t, 1, n, record)
	}
}

func testAdditions(t *testing.T, transport uevents.Transport, read reader.Transport) {
	p, err := uevents.Open(&uevents.Options{Transport: transport})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("additions", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	where := func(text string) *reader.Condition {
		c, err := reader.ParseCondition(text)
		require.NoError(t, err)
		return c
	}
	r, err := reader.Open(&reader.Options{
		Events: []string{"additions_warn"}, Where: where("n & 0xffff and not (n =~ '[13579]$')"), Transport: read, Processes: []int{os.Getpid()},
		Latency: time.Millisecond, Poll: time.Millisecond, Decode: reader.DecodeOptions{Mode: reader.DecodeNone},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	a := &additionsRig{t: t, r: r, h: h, got: map[string]int{}}
	a.until(func() bool { return a.last == 20 })
	a.all()
	assert.Len(t, a.got, 10, "%v", a.got)
	assert.False(t, a.enabled(slog.LevelDebug))

	// Another level, and other records of the level that is attached.
	require.NoError(t, r.Add([]reader.Addition{
		{Events: []string{"additions"}, Excludes: []string{"additions_warn"}}, {Events: []string{"additions_warn"}, Where: where("n in (31, 33, 34)")},
	}))
	a.until(func() bool { return a.enabled(slog.LevelDebug) && a.last > 40 })
	debug := a.last + 1
	a.until(func() bool { return a.got["DEBUG/"+strconv.Itoa(debug)] > 0 })
	a.all()
	assert.Zero(t, a.got["WARN/35"])
	if transport == uevents.TransportMemory { // at once
		assert.Equal(t, 1, a.got["WARN/31"])
	}

	// Wrong additions change nothing.
	for _, wrong := range []string{"", "sched:sched_switch", "["} {
		assert.ErrorIs(t, r.Add([]reader.Addition{{Events: []string{wrong}}}), fs.ErrInvalid, wrong)
	}
	assert.True(t, a.enabled(slog.LevelDebug))

	// Other records of the same events.
	require.NoError(t, r.Add([]reader.Addition{{Events: []string{"additions_warn"}}}))
	a.until(func() bool { return !a.enabled(slog.LevelDebug) && a.got["WARN/"+strconv.Itoa(a.last/2*2-1)] > 0 })
	a.all()

	// Without additions, the events of Options go on.
	require.NoError(t, r.Add(nil))
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
	require.NoError(t, r.Add([]reader.Addition{{Events: []string{"additions_debug"}}}))
	a.until(func() bool { return a.got["DEBUG/"+strconv.Itoa(a.last)] > 0 })
	a.all()
	require.NoError(t, r.Close())
	assert.ErrorIs(t, r.Add(nil), os.ErrClosed)
	assert.Error(t, r.Add([]reader.Addition{{Events: []string{"additions"}}}))
}

// TestKernelAdditionsFiltered: the kernel drops records that Options do not select, and additions have them all the same.
func TestKernelAdditionsFiltered(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("filtered", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	where, err := reader.ParseCondition("level >= warn2")
	require.NoError(t, err)
	r, err := reader.Open(&reader.Options{
		Tracefs: fs.Path(),
		Events:  []string{"filtered_warn"}, Where: where, Latency: time.Millisecond, Poll: time.Millisecond, Decode: reader.DecodeOptions{Mode: reader.DecodeNone},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	a := &additionsRig{t: t, r: r, h: h, got: map[string]int{}}
	log := func() {
		a.last++
		slog.New(h).Log(t.Context(), slog.LevelWarn, "message", "n", a.last)
		slog.New(h).Log(t.Context(), slog.LevelWarn+1, "message", "n", a.last)
		a.read()
	}
	log()
	require.NoError(t, r.Add([]reader.Addition{{Events: []string{"filtered_warn"}}}))
	testscale.Eventually(t, func() bool { log(); return a.got["WARN/"+strconv.Itoa(a.last-1)] > 0 }, "%v", &a.got)
	require.NoError(t, r.Add(nil))
	testscale.Eventually(t, func() bool { log(); a.read(); return a.last > 100 && a.got["WARN/"+strconv.Itoa(a.last-1)] == 0 }, "%v", &a.got)
	testscale.Eventually(t, func() bool { a.read(); return a.got["WARN2/"+strconv.Itoa(a.last)] > 0 }, "%v", &a.got)
	assert.Zero(t, a.got["WARN/1"])
	for n := range a.last {
		assert.Equal(t, 1, a.got["WARN2/"+strconv.Itoa(n+1)], n+1)
	}
}

// TestMemoryAdditionsMaxEvents: additions that replace others find the room of these.
func TestMemoryAdditionsMaxEvents(t *testing.T) {
	testscale.HostOnly(t)
	r, notices := openMemory(t, reader.Options{Events: []string{"none"}, MaxEvents: 1, Poll: time.Millisecond})
	p := provider(t)
	first, second := register(t, p, "mem_swap_a"), register(t, p, "mem_swap_b")
	for range 3 {
		require.NoError(t, r.Add([]reader.Addition{{Events: []string{"mem_swap_b"}}}))
		poll(t, r, func() bool { return second.Enabled() && !first.Enabled() })
		require.NoError(t, r.Add([]reader.Addition{{Events: []string{"mem_swap_a"}}}))
		poll(t, r, func() bool { return first.Enabled() && !second.Enabled() })
	}
	for _, n := range notices() {
		assert.NotEqual(t, reader.NoticeFailed, n.Kind, "%v", n)
	}
}

// TestMemoryAdditionsKinds: an event that additions alone select is none of Options that is never attached.
func TestMemoryAdditionsKinds(t *testing.T) {
	testscale.HostOnly(t)
	r, _ := openMemory(t, reader.Options{Events: []string{"none"}, Kinds: []reader.Kind{reader.KindMetric}, Poll: time.Millisecond})
	h := memoryProgram(t, "mem_kinds")
	require.NoError(t, r.Add([]reader.Addition{{Events: []string{"mem_kinds"}}}))
	looks := 0
	poll(t, r, func() bool { looks++; return looks > 10 })
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	assert.Zero(t, r.State().NeverMatch)
}

// TestKernelAdditionsShare: records that the kernel drops for Options, and that additions have, are a part of the share, too.
func TestKernelAdditionsShare(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("addshare", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	where, err := reader.ParseCondition("level >= warn2")
	require.NoError(t, err)
	r, err := reader.Open(&reader.Options{
		Tracefs: fs.Path(),
		Events:  []string{"addshare_warn"}, Where: where, ProgramLimit: reader.ProgramLimit{Records: 100},
		Latency: time.Millisecond, Poll: time.Millisecond, Decode: reader.DecodeOptions{Mode: reader.DecodeNone},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	require.NoError(t, r.Add([]reader.Addition{{Events: []string{"addshare_warn"}}}))
	var ev reader.Event
	read := func() (n int) {
		r.SetDeadline(time.Now().Add(time.Millisecond))
		for {
			err := r.Next(&ev)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return n
			}
			require.NoError(t, err)
			n++
		}
	}
	l := slog.New(h)
	testscale.Eventually(t, func() bool { l.Warn("x"); return read() > 0 }, "additions have no record")
	testscale.Eventually(t, func() bool {
		for range 200 {
			l.Warn("flood")
		}
		read()
		st, err := r.Stats()
		require.NoError(t, err)
		return st.Total.LimitedTimes > 0
	}, "the additions' event is not limited")
}
