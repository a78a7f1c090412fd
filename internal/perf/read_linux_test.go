package perf_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestRecord reads the records of a program.
func TestRecord(t *testing.T) {
	fs := kerneltest.Require(t)
	ev, err := program(t).Register(tracepoint.MustParse(newName()+" u32 n; __rel_loc char[] text"), nil)
	require.NoError(t, err)
	s := open(t, fs, &perf.Options{Callchain: true, CgroupID: true})
	src := attach(t, s, ev, nil)
	assert.Equal(t, "user_events:"+ev.Name(), src.String())
	assert.Equal(t, src.String(), src.Event().String())

	payload := "\x07\x00\x00\x00\x00\x00\x06\x00hello\x00"
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := time.Now()
	written, err := ev.WriteRecord([]byte("    " + payload))
	after := time.Now()
	require.NoError(t, err)
	require.True(t, written)
	var r live.Record
	require.NoError(t, s.ReadInto(&r), "it waits for the window of order")
	assert.Equal(t, live.Sample, r.Kind)
	assert.Same(t, src, r.Tag)
	assert.Equal(t, os.Getpid(), int(r.PID))
	assert.Equal(t, threadID(t), int(r.TID))
	assert.Less(t, r.CPU, runtime.NumCPU())
	assert.False(t, r.Time.Before(before.Add(-time.Millisecond)) || r.Time.After(after.Add(time.Millisecond)), "%v not in %v to %v", r.Time, before, after)
	assert.Equal(t, payload, string(r.Raw[tracepoint.CommonSize:][:len(payload)]))
	assert.Less(t, len(r.Raw[tracepoint.CommonSize:])-len(payload), 8)
	format, err := fs.Event(ev.Name()).Format()
	require.NoError(t, err)
	assert.Equal(t, byte(7), r.Raw[format.Fields[0].Offset])
	assert.NotZero(t, r.CgroupID)
	functions := runtime.CallersFrames(pcs(r.Callchain))
	var chain []string
	for more := true; more; {
		var f runtime.Frame
		f, more = functions.Next()
		chain = append(chain, f.Function)
	}
	assert.Contains(t, chain, "github.com/userevents/userevents-go/internal/perf_test.TestRecord")
}

func pcs(chain []uint64) (list []uintptr) {
	for _, ip := range chain {
		list = append(list, uintptr(ip))
	}
	return list
}

func threadID(t *testing.T) int {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self")
	require.NoError(t, err)
	var pid, tid int
	_, err = fmt.Sscanf(link, "%d/task/%d", &pid, &tid)
	require.NoError(t, err)
	return tid
}

// TestOrder: records of four writers on all CPUs come in the order in which they were written.
func TestOrder(t *testing.T) {
	fs := kerneltest.Require(t)
	const writers, each = 4, 3000
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1 << 20})
	src := attach(t, s, ev, nil)
	var turn sync.Mutex
	var seq, want uint64
	cpus, byWriter := map[int]int{}, map[uint64]int{}
	round := func() {
		var writing sync.WaitGroup
		for w := range uint64(writers) {
			writing.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for range each {
					turn.Lock()
					seq++
					write(t, ev, seq, w)
					turn.Unlock()
					runtime.Gosched()
				}
			})
		}
		var r live.Record
		for range writers * each {
			require.NoError(t, s.ReadInto(&r))
			got := sampleOf(t, &r)
			want++
			require.Equal(t, want, got.seq)
			cpus[r.CPU]++
			byWriter[got.writer]++
		}
		writing.Wait()
	}
	testscale.Eventually(t, func() bool {
		round()
		return len(cpus) == runtime.NumCPU()
	}, "the test needs records of all CPUs")
	assert.Len(t, byWriter, writers)
	assert.Zero(t, statsOf(t, src).Lost)
	stats := perf.MustStats(t, s)
	assert.Zero(t, stats.Late)
}

// reading reads a record in a goroutine, and returns when that waits for the kernel.
func reading(t *testing.T, s *perf.Session, r *live.Record) <-chan error {
	t.Helper()
	read := make(chan error)
	go func() { read <- s.ReadInto(r) }()
	testscale.Eventually(t, s.Waiting, "the reader does not wait")
	return read
}

// TestWatermark: a ring that fills up wakes the reader long before the timer.
func TestWatermark(t *testing.T) {
	s, ev, _ := session(t, &perf.Options{BufferSize: 1, Latency: time.Hour}, nil)
	s.SetDeadline(testscale.Deadline())
	read := reading(t, s, new(live.Record))
	for i := range uint64(100) {
		write(t, ev, i, 0)
	}
	assert.NoError(t, <-read)
}

// TestDeadline: a waiting reader notices a new deadline, and can continue after it.
func TestDeadline(t *testing.T) {
	s, ev, _ := session(t, &perf.Options{Latency: time.Hour}, nil)
	var r live.Record
	s.SetDeadline(time.Now().Add(-time.Second))
	assert.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded)
	s.SetDeadline(time.Now().Add(20 * time.Millisecond))
	assert.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded)
	s.SetDeadline(time.Time{})
	read := reading(t, s, &r)
	s.SetDeadline(time.Now())
	assert.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
	write(t, ev, 1, 0)
	assert.Len(t, flushed(t, s), 1, "what is ready comes, deadline or not")
	require.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded)
}

// TestFlush: a waiting reader returns the written records, and then ErrFlushed.
func TestFlush(t *testing.T) {
	s, ev, src := session(t, &perf.Options{Latency: time.Hour, Window: time.Hour}, nil)
	var r live.Record
	read := reading(t, s, &r)
	write(t, ev, 7, 0)
	require.NoError(t, s.Flush())
	require.NoError(t, <-read)
	assert.Equal(t, sample{src, 7, 0}, sampleOf(t, &r))
	assert.ErrorIs(t, s.ReadInto(&r), perf.ErrFlushed)
	s.SetDeadline(time.Now().Add(50 * time.Millisecond))
	write(t, ev, 8, 0)
	assert.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded, "it flushes once")
}

// TestStop: the kernel stops recording, and the reader gets the remaining records and then the end.
func TestStop(t *testing.T) {
	s, ev, src := session(t, &perf.Options{Latency: time.Hour, Window: time.Hour, Tasks: true}, nil)
	write(t, ev, 1, 0)
	write(t, ev, 2, 0)
	require.NoError(t, s.Stop())
	_, err := ev.WriteRecord(make([]byte, 20))
	require.NoError(t, err)
	require.NoError(t, s.Stop(), "again")
	var r live.Record
	var seqs []uint64
	for err = s.ReadInto(&r); err == nil; err = s.ReadInto(&r) {
		if r.Kind == live.Sample {
			seqs = append(seqs, sampleOf(t, &r).seq)
		}
	}
	assert.ErrorIs(t, err, io.EOF)
	assert.ErrorIs(t, s.ReadInto(&r), io.EOF)
	assert.Equal(t, []uint64{1, 2}, seqs)
	assert.Equal(t, uint64(2), statsOf(t, src).Matched)
	_, err = s.Attach(ev.Name(), nil)
	assert.ErrorIs(t, err, os.ErrClosed)
}

// TestCloseWhileReading: the reader and all later calls return an error.
func TestCloseWhileReading(t *testing.T) {
	s, ev, src := session(t, &perf.Options{Latency: time.Hour}, nil)
	var r live.Record
	read := reading(t, s, &r)
	assert.Error(t, s.ReadInto(new(live.Record)), "one reads already")
	require.NoError(t, s.Close())
	assert.ErrorIs(t, <-read, os.ErrClosed)
	require.NoError(t, s.Close(), "again")
	assert.ErrorIs(t, s.ReadInto(&r), os.ErrClosed)
	assert.ErrorIs(t, s.Flush(), os.ErrClosed)
	assert.ErrorIs(t, s.Stop(), os.ErrClosed)
	assert.NoError(t, src.Detach())
	_, err := s.Attach(ev.Name(), nil)
	assert.ErrorIs(t, err, os.ErrClosed)
	assert.False(t, ev.Enabled())
}

// TestReadAllocations: reading a record does not allocate.
func TestReadAllocations(t *testing.T) {
	s, ev, _ := session(t, &perf.Options{Callchain: true, Poll: time.Hour}, nil)
	var r live.Record
	round := func() {
		for i := range uint64(100) {
			write(t, ev, i, 0)
		}
		for range 100 {
			if err := s.ReadInto(&r); err != nil {
				t.Error(err)
			}
		}
	}
	for range 20 { // buffers grow
		round()
	}
	writing := testing.AllocsPerRun(20, func() {
		for i := range uint64(100) {
			write(t, ev, i, 0)
		}
	})
	require.NoError(t, s.Flush())
	for s.ReadInto(&r) == nil { // until it is flushed
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(20, round), writing)
}
