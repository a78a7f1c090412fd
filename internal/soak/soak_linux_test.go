package soak

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var (
	duration = flag.Duration("soak", 0, "how long TestSoak runs; 0: until each fault has happened once")
	seed     = flag.Uint64("seed", 0, "of the order of faults; 0: a random one")
)

const (
	writers  = 8
	rawName  = "soak_raw"
	slogName = "soak_slog"
)

// generation is a provider with its events, which the next one replaces.
type generation struct {
	p     *uevents.Provider
	raw   *uevents.Event
	h     *sloghandler.Handler
	users atomic.Int32 // writers that hold it
}

// soak is a run.
type soak struct {
	t       *testing.T
	fs      *tracefs.Dir
	random  *rand.Rand
	current atomic.Pointer[generation]
	stop    atomic.Bool

	written map[string]uint64 // by event, of the generations that are closed
	opened  int
	faults  map[string]int
	order   []int // of the next faults
}

func (s *soak) open() *generation {
	p, err := uevents.Open(nil)
	require.NoError(s.t, err)
	g := &generation{p: p}
	g.raw, err = p.Register(rawEvent, &uevents.EventOptions{Naming: uevents.NameExact})
	require.NoError(s.t, err)
	g.h, err = sloghandler.New(slogName, &sloghandler.Options{Provider: p})
	require.NoError(s.t, err)
	s.opened++
	return g
}

var rawEvent = tracepoint.MustParse(rawName + " u64 writer; u64 n; u64 check")

// replace opens a generation, and closes the one before under its writers.
func (s *soak) replace(next *generation) {
	g := s.current.Swap(next)
	require.NoError(s.t, errors.Join(g.h.Close(), g.p.Close()))
	testscale.Eventually(s.t, func() bool { return g.users.Load() == 0 }, "a writer does not return")
	st := g.raw.Stats()
	require.Zero(s.t, st.Refused)
	s.written[rawName] += st.Written
	for name, st := range g.h.Stats() {
		require.Zero(s.t, st.Refused+st.Disabled, name)
		s.written[name] += st.Written
	}
}

// write writes records of one writer until the run ends.
func (s *soak) write(writer uint64) {
	for n := uint64(0); !s.stop.Load(); {
		g := s.current.Load()
		if g == nil {
			return
		}
		g.users.Add(1)
		for range 20 {
			n++
			if writer%2 == 0 {
				_, err := g.raw.WriteRecord(rawRecord(writer, n))
				if err != nil && !errors.Is(err, uevents.ErrClosed) {
					s.t.Error(err)
				}
			} else {
				slog.New(g.h).Info("soak", "writer", writer, "n", n, "text", strings.Repeat("x", int(n%100)))
			}
		}
		g.users.Add(-1)
		// Bursts: the reader keeps up with some, and rings overrun at others.
		if n%100 == 0 || writer > 1 {
			time.Sleep(time.Duration(1+n%7) * time.Millisecond) //nolint:forbidigo // load
		}
	}
}

// read reads what is written, and checks it, until the reader is stopped.
func (s *soak) read(r *reader.Reader) {
	for ev := new(record.Record); ; {
		err := r.Next(ev)
		if errors.Is(err, io.EOF) {
			return
		}
		switch {
		case err != nil:
			s.t.Error(err)
			return
		case ev.Undecodable:
			s.t.Errorf("undecodable: %x", ev.Raw)
		case ev.Name == rawName && !isRaw(ev):
			s.t.Errorf("a record that nothing wrote: %v", ev.Fields())
		case ev.Name != rawName && (ev.Message != "soak" || ev.Truncated > 0):
			s.t.Errorf("a record that nothing wrote: %q %v", ev.Message, ev.Fields())
		}
	}
}

// TestSoak runs writers, a reader and faults. Memory, descriptors, threads, mappings and enable words stay flat, and what was
// written is what was read and what was reported as lost. make soak runs it for long.
func TestSoak(t *testing.T) {
	fs := kerneltest.Require(t)
	rounds := len(faults)
	length := fmt.Sprint(rounds, " rounds")
	if *duration > 0 {
		length = duration.String()
	}
	order := cmp.Or(*seed, rand.Uint64())
	s := &soak{t: t, fs: fs, random: rand.New(rand.NewPCG(order, 0)), written: map[string]uint64{}, faults: map[string]int{}}
	say(t, "%s, 8 writers, seed %d", length, order)
	s.current.Store(s.open())
	r, err := reader.Open(&reader.Options{
		Tracefs:   fs.Path(),
		Selection: reader.Selection{Events: []string{rawName, slogName}, Excludes: []string{rawName + "_*"}}, BufferSize: 256 << 10, // that of the fault with other fields, which the reader would keep
	})
	require.NoError(t, err)
	var reading, writing sync.WaitGroup
	reading.Go(func() { s.read(r) })
	for i := range uint64(writers) {
		writing.Go(func() { s.write(i) })
	}

	started := time.Now()
	sampleEach := 1.0 / 6
	if *duration > 0 {
		sampleEach = min(sampleEach, time.Minute.Seconds()/duration.Seconds())
	}
	var first, last holdings
	for round, done, sample := 0, 0.0, 0.0; done < 1 && !t.Failed(); round++ {
		s.fault()
		s.replace(s.open())
		now := time.Since(started) //nolint:forbidigo // the length of make soak
		done = float64(round+1) / float64(rounds)
		if *duration > 0 {
			done = now.Seconds() / duration.Seconds()
		}
		if done < sample {
			continue
		}
		sample, last = done+sampleEach, s.hold()
		say(t, "after %v: %v", now.Round(time.Second), last)
		if done < 1.0/4 || first == (holdings{}) {
			first = last // it warms up until then
		}
	}
	// What is closed in the background takes its time.
	last = s.hold()
	for end := testscale.Deadline(); len(last.grown(first)) > 0 && time.Now().Before(end); {
		last = s.hold()
	}
	s.stop.Store(true)
	writing.Wait()
	s.replace(nil)
	require.NoError(t, r.Stop())
	reading.Wait()
	st, err := r.Stats()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	s.judge(st, first, last)
}

// judge compares what was written with what was read, and the end with the beginning.
func (s *soak) judge(st reader.Stats, first, last holdings) {
	t := s.t
	var written, recorded, lost uint64
	for _, src := range st.Events {
		_, name, _ := strings.Cut(src.Name, ":")
		assert.Equal(t, s.written[name], src.Matched, "%s: written and matched", name)
		assert.Equal(t, src.Matched, src.Read+src.Lost, "%s: matched, and read or lost", name)
		written, recorded, lost = written+s.written[name], recorded+src.Read, lost+src.Lost
	}
	assert.Equal(t, written, sum(maps.Values(s.written)), "of all events")
	assert.Zero(t, st.Undecodable+st.Malformed)
	assert.Positive(t, recorded)
	for _, name := range slices.Sorted(maps.Keys(s.faults)) {
		say(t, "fault %s: %d", name, s.faults[name])
	}
	say(t, "providers opened and closed: %d", s.opened)
	say(t, "written %d = recorded %d + lost %d", written, recorded, lost)
	say(t, "begin: %v", first)
	say(t, "end: %v", last)
	assert.Empty(t, last.grown(first))
}

func sum(numbers func(func(uint64) bool)) (n uint64) {
	for v := range numbers {
		n += v
	}
	return n
}

// say prints a line of the results.
func say(t *testing.T, format string, args ...any) {
	t.Helper()
	fmt.Printf("\nsoak: "+format+"\n", args...)
}

// check is a number that only a record of this writer with this number has.
func check(writer, n uint64) uint64 { return (writer<<56 ^ n) * 0x9e3779b97f4a7c15 }

func rawRecord(writer, n uint64) []byte {
	rec := make([]byte, uevents.IndexSize, uevents.IndexSize+24)
	for _, v := range []uint64{writer, n, check(writer, n)} {
		rec = binary.NativeEndian.AppendUint64(rec, v)
	}
	return rec
}

// isRaw reports whether the event is a record of rawRecord.
func isRaw(ev *record.Record) bool {
	if len(ev.Fields()) != 3 {
		return false
	}
	writer, n := ev.Fields()[0].Value.Uint64(), ev.Fields()[1].Value.Uint64()
	return writer < writers && ev.Fields()[2].Value.Uint64() == check(writer, n)
}

// childTask has what TestChild does in a process of its own.
const childTask = "SOAK_TEST_TASK"

// TestChild is not a test: it is another program, or a tool, of a run.
func TestChild(t *testing.T) {
	if task := os.Getenv(childTask); task != "" {
		childTasks[task](t)
	}
}

// child is a process that does a task.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts a child and waits until it is ready.
func startChild(t *testing.T, task string, files []*os.File, env ...string) *child {
	c := spawn(t, task, files, env...)
	require.Equal(t, "ready", c.says())
	return c
}

// spawn starts a child.
func spawn(t *testing.T, task string, files []*os.File, env ...string) *child {
	c := &child{t: t, cmd: exec.Command("/proc/self/exe", "-test.run=^TestChild$")}
	c.cmd.Env = append(append(os.Environ(), childTask+"="+task), env...)
	c.cmd.ExtraFiles = files
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	return c
}

// says returns what the child says next.
func (c *child) says() string {
	var others []string
	for c.out.Scan() {
		if said, ok := strings.CutPrefix(c.out.Text(), "child: "); ok {
			return said
		}
		others = append(others, c.out.Text())
	}
	require.Fail(c.t, "the child ended", strings.Join(others, "\n"))
	return ""
}

func (c *child) tell(order string) {
	_, err := fmt.Fprintln(c.in, order)
	require.NoError(c.t, err)
}

// asked returns the answer to an order.
func (c *child) asked(order string) string {
	c.tell(order)
	return c.says()
}

// end ends the child by an order.
func (c *child) end(order string) {
	c.tell(order)
	var said []string
	for c.out.Scan() {
		said = append(said, c.out.Text())
	}
	require.NoError(c.t, c.cmd.Wait(), strings.Join(said, "\n"))
}

func (c *child) kill() {
	require.NoError(c.t, c.cmd.Process.Kill())
	assert.Error(c.t, c.cmd.Wait())
}

// childTasks are the tasks, by name. Those of shared memory are added where there is any.
var childTasks = map[string]func(*testing.T){"attach": attachChild, "register": registerChild}
