//go:build !386 && !arm && !mips && !mipsle

package soak

import (
	"bufio"
	"cmp"
	"encoding/binary"
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

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
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
		Selection: reader.Selection{Events: []string{s.prefix}}, Transport: reader.TransportMemory, BufferSize: 64 << 10, Reuse: true,
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
		s.read(func(ev *record.Record) {
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
func (s *memorySoak) read(check func(*record.Record)) {
	looked := time.Now()
	for ev := new(record.Record); ; {
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
func (c *checker) check(ev *record.Record) (inOrder bool) {
	if !isMemoryRecord(ev) {
		c.t.Errorf("a record that nothing wrote: %s %v", ev.Name, ev.Fields())
		return true
	}
	if c.last == nil || len(c.last) > 1000 {
		c.last = map[[2]uint64]uint64{}
	}
	key, n := [2]uint64{ev.Fields()[0].Value.Uint64(), ev.Fields()[1].Value.Uint64()}, ev.Fields()[2].Value.Uint64()
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
		Selection: reader.Selection{Events: []string{s.prefix}}, Transport: reader.TransportMemory, BufferSize: size, Reuse: true,
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
	reading.Go(func() { s.read(func(*record.Record) {}) })
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

const (
	programWriters = 2
	programEvents  = 4 // the last one is registered late

	// envName has the prefix of a tool's events, and envImage a number that no other program has: process ids come again. A tool
	// reads the writer of that number.
	envName, envImage = "SOAK_TEST_NAME", "SOAK_TEST_IMAGE"
)

// witness counts a program's calls of each event, in memory that outlives it.
type witness []byte

const witnessSize = programEvents * 16

func (w witness) begun(event int) *atomic.Uintptr    { return words.At(w, event*16) }
func (w witness) returned(event int) *atomic.Uintptr { return words.At(w, event*16+8) }

// memoryRecord is a record whose fields fit together.
func memoryRecord(buf []byte, image, writer, n uint64) []byte {
	size := n % 200
	rec := append(buf[:0], make([]byte, uevents.IndexSize)...)
	for _, v := range []uint64{image, writer, n, check(writer, n)} {
		rec = binary.NativeEndian.AppendUint64(rec, v)
	}
	rec = binary.NativeEndian.AppendUint32(rec, uint32(size+1)<<16)
	for range size {
		rec = append(rec, byte('a'+n%26))
	}
	return append(rec, 0)
}

const memoryFields = " u64 image; u64 writer; u64 n; u64 check; __rel_loc char[] text"

// isMemoryRecord reports whether the event is a record of memoryRecord.
func isMemoryRecord(ev *record.Record) bool {
	if len(ev.Fields()) != 5 {
		return false
	}
	writer, n := ev.Fields()[1].Value.Uint64(), ev.Fields()[2].Value.Uint64()
	return writer < programWriters && ev.Fields()[3].Value.Uint64() == check(writer, n) &&
		ev.Fields()[4].Value.String() == strings.Repeat(string(rune('a'+n%26)), int(n%200))
}

// own is the program itself, in its own process.
type own struct {
	t       *testing.T
	w       witness
	name    string
	image   uint64
	p       *uevents.Provider
	events  [programEvents]atomic.Pointer[uevents.Event]
	writing sync.WaitGroup
	stop    atomic.Bool
	n       [programWriters]uint64 // number of the last record
}

// obeyMemory is the life of a program in a process of its own: it does what it is told.
func obeyMemory(t *testing.T) {
	page, err := sys.MapWritable(3, witnessSize)
	require.NoError(t, err)
	o := &own{t: t, w: page}
	o.image, err = strconv.ParseUint(os.Getenv(envImage), 10, 64)
	require.NoError(t, err)
	fmt.Println("\nchild: ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("child:", o.obey(in.Text()))
	}
	os.Exit(0) // the test has ended
}

func (o *own) obey(order string) string {
	order, argument, _ := strings.Cut(order, " ")
	switch order {
	case "open":
		o.name = argument
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		require.NoError(o.t, err)
		o.p = p
		for i := range programEvents - 1 {
			o.register(i)
		}
	case "write":
		o.stop.Store(false)
		for i := range uint64(programWriters) {
			o.writing.Go(func() { o.write(i) })
		}
	case "flood":
		o.stop.Store(false)
		o.writing.Go(func() { o.flood(0) })
	case "steady":
		o.stop.Store(false)
		o.writing.Go(o.steady)
	case "pause":
		o.stop.Store(true)
		o.writing.Wait()
	case "late":
		o.register(programEvents - 1)
	case "again":
		require.NoError(o.t, o.events[0].Load().Close())
		o.register(0)
	case "close":
		for i := range o.events {
			o.events[i].Store(nil)
		}
		require.NoError(o.t, o.p.Close())
	case "exec":
		require.NoError(o.t, os.Setenv(envImage, strconv.FormatUint(o.image+1, 10)))
		require.NoError(o.t, syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	case "exit":
		os.Exit(0)
	case "hold":
		h := hold(o.t)
		return fmt.Sprint(h.goroutines, h.heap, h.words)
	}
	return order
}

func (o *own) register(i int) {
	e, err := o.p.Register(tracepoint.MustParse(fmt.Sprintf("%s_%d%s", o.name, i, memoryFields)), nil)
	require.NoError(o.t, err)
	o.events[i].Store(e)
}

// flood writes records of one event, as fast as it can or so many.
func (o *own) flood(n int) {
	e := o.events[0].Load()
	buf := memoryRecord(nil, o.image, 0, 64)
	for i := 0; !o.stop.Load() && (i < n || n == 0); i++ {
		o.w.begun(0).Add(1)
		written, err := e.WriteRecord(buf)
		if !written {
			panic(err)
		}
		o.w.returned(0).Add(1)
	}
}

// steady writes a thousand records a second.
func (o *own) steady() {
	for began, n := time.Now(), 0; !o.stop.Load(); {
		due := int(time.Since(began) / time.Millisecond) //nolint:forbidigo // load
		if due > n {                                     // else 0 is no limit
			o.flood(due - n)
		}
		n = due
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // load
	}
}

// write writes records in bursts, some of which the rings have no room for.
func (o *own) write(writer uint64) {
	var buf []byte
	for bursts := 1; !o.stop.Load(); bursts++ {
		size := 1 + rand.IntN(20)
		if bursts%100 == 5 {
			size = 1000
		}
		for range size {
			i := rand.IntN(programEvents)
			e := o.events[i].Load()
			if e == nil {
				continue
			}
			o.n[writer]++
			buf = memoryRecord(buf, o.image, writer, o.n[writer])
			o.w.begun(i).Add(1)
			switch written, err := e.WriteRecord(buf); {
			case written:
				o.w.returned(i).Add(1)
			case err == nil || errors.Is(err, uevents.ErrClosed):
				o.w.begun(i).Add(^uintptr(0))
			default:
				panic(err)
			}
		}
		time.Sleep(time.Duration(2+rand.IntN(18)) * time.Millisecond) //nolint:forbidigo // load
	}
}
