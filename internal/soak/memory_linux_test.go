//go:build !386 && !arm && !mips && !mipsle

package soak

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// memorySoak is a run without the kernel's events: programs offer theirs in shared memory.
type memorySoak struct {
	t        *testing.T
	random   *rand.Rand
	prefix   string // of the names of events: those of other programs are not attached
	r        *reader.Reader
	long     *program   // lives as long as the reader
	programs []*program // that run

	begun, returned uint64 // calls of programs that have ended
	exact           int    // comparisons of a program's events
	children        int
	memories        int // of programs
	faults          map[string]int
	order           []int

	received, late atomic.Uint64
	stalled        atomic.Int64 // longest time between two looks of the reader, in nanoseconds
}

// TestMemorySoak runs programs, tools and what befalls them, around a program and a reader that live from the beginning to the end:
// what these hold stays flat, and what programs have written is what was read and what was reported as lost.
func TestMemorySoak(t *testing.T) {
	testscale.HostOnly(t)
	rounds := len(memoryFaults)
	seed := cmp.Or(*seed, rand.Uint64())
	s := &memorySoak{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), prefix: fmt.Sprintf("soak_memory_%d", os.Getpid()), faults: map[string]int{},
	}
	say(t, "shared memory, %v, seed %d", cmp.Or(*duration, time.Second), seed)
	var err error
	s.r, err = reader.Open(&reader.Options{
		Events: []string{s.prefix}, Transport: reader.TransportMemory, BufferSize: 64 << 10, Decode: reader.DecodeOptions{Reuse: true},
		Notify: func(n reader.Notice) {
			if n.Kind == reader.NoticeFailed && n.Event != "" { // else other programs of this machine
				t.Error(n.Err)
			}
		},
	})
	require.NoError(t, err)
	var reading sync.WaitGroup
	c := checker{t: t}
	reading.Go(func() {
		s.read(func(ev *reader.Event) {
			if !c.check(ev) {
				s.late.Add(1)
			}
		})
	})
	s.long = s.begin()

	var first, last, firstLong, lastLong holdings
	started := time.Now()
	for round, done, sample := 0, 0.0, 1.0/5; done < 1 && !t.Failed(); round++ {
		s.fault()
		now := time.Since(started) //nolint:forbidigo // the length of make soak
		done = float64(round+1) / float64(rounds)
		if *duration > 0 {
			done = now.Seconds() / duration.Seconds()
		}
		if done < sample {
			continue
		}
		s.endAll()
		last, lastLong = hold(t), s.long.hold()
		say(t, "after %v: %d steps; reader: %v; program: %v", now.Round(time.Second), round+1, last, lastLong)
		if done < 1.0/4 || first == (holdings{}) {
			first, firstLong = last, lastLong // they warm up until then
		}
		if sample = done + 1.0/6; *duration == 0 {
			sample = 1 // the reader takes its time to forget programs
		}
	}
	s.endAll()
	testscale.Eventually(t, func() bool {
		last, lastLong = hold(t), s.long.hold()
		return len(last.grown(first)) == 0 && len(lastLong.grown(firstLong)) == 0 || t.Failed()
	}, "the reader holds %v, and the program %v more than at the beginning", last.grown(first), lastLong.grown(firstLong))
	s.end(s.long)
	require.NoError(t, s.r.Stop())
	reading.Wait()
	st, err := s.r.Stats()
	require.NoError(t, err)
	require.NoError(t, s.r.Close())
	s.judge(st)
	say(t, "reader at the beginning: %v", first)
	say(t, "reader at the end: %v", last)
	say(t, "program at the beginning: %v", firstLong)
	say(t, "program at the end: %v", lastLong)
}

// judge compares all that was written with all that was read and lost.
func (s *memorySoak) judge(st reader.Stats) {
	t := s.t
	for _, name := range slices.Sorted(maps.Keys(s.faults)) {
		say(t, "%s: %d", name, s.faults[name])
	}
	stalled := time.Duration(s.stalled.Load())
	say(t, "%d processes, %d programs compared; the reader was without a processor for at most %v", s.children, s.exact, stalled)
	say(t, "begun %d, written %d = read %d + lost %d, and %d of calls that were cut off; %d late",
		s.begun, s.returned, st.Total.Read, st.Total.Lost, int64(st.Total.Read+st.Total.Lost-s.returned), st.Late)
	assert.LessOrEqual(t, st.Total.Matched, s.begun)
	if !st.Total.AtLeast { // else it was without a processor for so long that programs took it for stopped
		assert.GreaterOrEqual(t, st.Total.Matched, s.returned)
	}
	assert.Equal(t, st.Total.Matched, st.Total.Read+st.Total.Lost)
	assert.Equal(t, st.Total.Read, st.Selected)
	assert.Equal(t, st.Selected, s.received.Load())
	assert.Equal(t, st.Late, s.late.Load())
	assert.Zero(t, st.Undecodable+st.Malformed)
	assert.Positive(t, st.Total.Read)
}

// read reads what programs write until the reader is stopped.
func (s *memorySoak) read(check func(*reader.Event)) {
	looked := time.Now()
	for ev := new(reader.Event); ; {
		s.r.SetDeadline(looked.Add(100 * time.Millisecond)) // if there are no records
		err := s.r.Next(ev)
		now := time.Now()
		s.stalled.Store(max(s.stalled.Load(), int64(now.Sub(looked))))
		looked = now
		switch {
		case errors.Is(err, io.EOF):
			return
		case err == nil:
			s.received.Add(1)
			check(ev)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			s.t.Error(err)
			return
		}
	}
}

// checker checks that records are such as programs write, each once.
type checker struct {
	t      testing.TB
	newest uint64
	last   map[[2]uint64]uint64 // by program and writer
}

// check reports whether the record is not older than the one before.
func (c *checker) check(ev *reader.Event) (inOrder bool) {
	if !isMemoryRecord(ev) {
		c.t.Errorf("a record that nothing wrote: %s %v", ev.Name, ev.Fields)
		return true
	}
	if c.last == nil || len(c.last) > 1000 {
		c.last = map[[2]uint64]uint64{}
	}
	key, n := [2]uint64{ev.Fields[0].Value.Uint64(), ev.Fields[1].Value.Uint64()}, ev.Fields[2].Value.Uint64()
	inOrder = ev.Monotonic >= c.newest
	if inOrder && n <= c.last[key] {
		c.t.Errorf("%s: record %d of %v came after %d", ev.Name, n, key, c.last[key])
	}
	c.last[key] = max(c.last[key], n)
	c.newest = max(c.newest, ev.Monotonic)
	return inOrder
}

// counts returns what the reader has of the events of a program, whose counts are forgotten when it has ended.
func (s *memorySoak) counts(p *program) (of map[string]reader.EventStats) {
	st, err := s.r.Stats()
	require.NoError(s.t, err)
	of = map[string]reader.EventStats{}
	for _, e := range st.Events {
		if name, ok := strings.CutPrefix(e.Name, "user_events:"+p.name+"_"); ok {
			of[name] = e
		}
	}
	return of
}

var flood = flag.Duration("flood", 200*time.Millisecond, "how long programs of TestFlood write")

// TestFlood: one of ten programs writes as fast as it can, and the others a thousand records a second. Each record of each program is
// read or lost. What they lose, and what a record costs the reader, are figures: they depend on the machine.
func TestFlood(t *testing.T) {
	testscale.HostOnly(t)
	for _, size := range []int{0, 4 << 20, 16 << 20} {
		t.Run(strconv.Itoa(size>>10)+" KiB", func(t *testing.T) { testFlood(t, size) })
	}
}

func testFlood(t *testing.T, size int) {
	s := &memorySoak{t: t, prefix: fmt.Sprintf("soak_flood_%d", os.Getpid())}
	var err error
	s.r, err = reader.Open(&reader.Options{
		Events: []string{s.prefix}, Transport: reader.TransportMemory, BufferSize: size, Decode: reader.DecodeOptions{Reuse: true},
	})
	require.NoError(t, err)
	for range 10 {
		s.programs = append(s.programs, s.spawn())
	}
	for _, p := range s.programs {
		p.register()
	}
	began, before := time.Now(), processorTime(t)
	var reading sync.WaitGroup
	reading.Go(func() { s.read(func(*reader.Event) {}) })
	for i, p := range s.programs {
		p.asked(map[bool]string{true: "flood", false: "steady"}[i == 0])
	}
	time.Sleep(*flood) //nolint:forbidigo // load
	for _, p := range s.programs {
		p.pauseAndCompare()
	}
	took, cost := time.Since(began), processorTime(t)-before //nolint:forbidigo // a figure
	var read uint64
	for i, p := range s.programs {
		st := s.counts(p)["0"]
		say(t, "program %d: written %d, lost %d", i, st.Matched, st.Lost)
		read += st.Read
	}
	say(t, "%d KiB: in %v, read %d, %v of processor time for each", size>>10, took.Round(time.Millisecond), read, cost/time.Duration(max(read, 1)))
	for len(s.programs) > 0 {
		s.end(s.programs[0])
	}
	require.NoError(t, s.r.Stop())
	reading.Wait()
	st, err := s.r.Stats()
	require.NoError(t, err)
	assert.Equal(t, s.received.Load(), st.Total.Read)
	if !st.Total.AtLeast {
		assert.Equal(t, s.returned, st.Total.Read+st.Total.Lost)
	}
	require.NoError(t, s.r.Close())
}

// processorTime is that of this process.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
