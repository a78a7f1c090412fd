package benchmarks

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	tool "github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// opaque is the size of a payload that is made already, in a record and in one of other libraries.
const opaque = 300

// BenchmarkMemory is the call while tools read the event from shared memory.
func BenchmarkMemory(b *testing.B) {
	useMemory(b)
	for _, o := range owns {
		log, event := o.open(b, uniqueName(), five)
		readers(b, 1, event).run(b, o.name, log)
	}
	for _, o := range ownSpanList {
		log, events := o.openTwo(b)
		readers(b, 1, events...).run(b, o.name, log)
	}
	for n := 1; n <= 3; n++ {
		ev, event := openOpaque(b)
		readers(b, n, event).run(b, fmt.Sprintf("opaque/tools=%d", n), writeOpaque(ev))
	}
	ev, event := openOpaque(b)
	log := writeOpaque(ev)
	r := readers(b, 1, event)
	run(b, "opaque/full", call{log: log, prepare: func() { r.fill(b, log) }})
	r.detach(b)
}

// useMemory lets events be in shared memory, with rings for two processors at most, whatever the machine has.
func useMemory(b *testing.B) {
	b.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	before := runtime.GOMAXPROCS(min(runtime.NumCPU(), 2))
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// openOpaque registers an event without fields.
func openOpaque(tb testing.TB) (ev *uevents.Event, name string) {
	p, err := uevents.Open(nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	name = uniqueName()
	ev, err = p.Register(tracepoint.Declaration{Name: name}, nil)
	require.NoError(tb, err)
	return ev, name
}

// writeOpaque returns the write of a payload that is made already.
func writeOpaque(ev *uevents.Event) (log func()) {
	buf := make([]byte, uevents.IndexSize+opaque)
	return func() { _, _ = ev.WriteRecord(buf) }
}

// openTwo returns a span with two attributes, and its events.
func (o ownSpans) openTwo(tb testing.TB) (log func(), events []string) {
	name := uniqueName()
	log = spanCall(o.open(tb, name), spanScenarios[1])
	for _, suffix := range o.events {
		events = append(events, name+suffix)
	}
	return log, events
}

// tools read events from the memory of this process.
type tools struct {
	p        *tool.Program
	sessions []*tool.Session
	ids      []uint32
}

// readers attaches tools, whose rings hold more than a batch.
func readers(tb testing.TB, n int, events ...string) *tools {
	p, err := tool.Open(os.Getpid())
	require.NoError(tb, err)
	t := &tools{p: p}
	for range n {
		s, err := p.Attach(tool.Options{RingSize: 1 << 20, Patterns: events})
		require.NoError(tb, err)
		t.sessions = append(t.sessions, s)
	}
	all, _ := p.Events(0)
	for _, e := range all {
		t.ids = append(t.ids, e.ID)
	}
	return t
}

// read empties the rings, and returns how many records were in them.
func (t *tools) read() (n int) {
	for _, s := range t.sessions {
		n += len(s.Read())
	}
	return n
}

// lost returns how many records found no room.
func (t *tools) lost() (n uint64) {
	for _, s := range t.sessions {
		for _, id := range t.ids {
			n += s.Lost(id)
		}
	}
	return n
}

// fill calls until the ring of this processor is full. Then the process has touched all of its pages.
func (t *tools) fill(tb testing.TB, log func()) {
	lost := t.lost()
	for range 1 << 15 {
		if log(); t.lost() > lost {
			return
		}
	}
	tb.Fatal("the ring is not full")
}

// run measures a call whose records the tools read between batches, so that none is lost.
func (t *tools) run(b *testing.B, name string, log func()) {
	t.fill(b, log)
	lost, read := t.lost(), t.read()
	run(b, name, call{log: log, prepare: func() { read += t.read() }})
	require.Equal(b, lost, t.lost(), "lost records")
	require.Greater(b, read, batch)
	t.detach(b)
}

func (t *tools) detach(tb testing.TB) {
	for _, s := range t.sessions {
		require.NoError(tb, s.Detach())
	}
	require.NoError(tb, t.p.Close())
}

// lttngEnv is the path of the program of lttng/program.c. lttng/session runs it where LTTng records its events.
const lttngEnv = "USEREVENTS_LTTNG"

// turn is a call that is measured in turns with others.
type turn struct {
	name  string
	of    string                // the name of the one with which it is compared
	take  func(calls int) int64 // returns the nanoseconds of so many calls, after a few that bring them into the caches
	times []float64             // of a call, by round
}

// BenchmarkMemoryTime measures calls that write to shared memory and those of LTTng-UST in turns of some tens of microseconds, so that
// whatever else the machine does falls on all of them. An iteration is a round of turns.
func BenchmarkMemoryTime(b *testing.B) {
	const calls = batch * 3 / 4
	useMemory(b)
	turns, check := memoryTurns(b)
	var instructions map[string]float64
	if path := os.Getenv(lttngEnv); path != "" {
		var theirs []turn
		theirs, instructions = lttngTurns(b, path)
		turns = append(turns, theirs...)
	}
	defer stopGC()()
	b.ResetTimer()
	for range b.N {
		for i := range turns {
			turns[i].times = append(turns[i].times, float64(turns[i].take(calls))/calls)
		}
	}
	b.StopTimer()
	check()
	for unit, n := range instructions {
		b.ReportMetric(n, unit)
	}
	for _, t := range turns {
		i := slices.IndexFunc(turns, func(other turn) bool { return other.name == t.of })
		if i < 0 {
			continue
		}
		ratios := make([]float64, b.N)
		for round := range ratios {
			ratios[round] = t.times[round] / turns[i].times[round]
		}
		reportParts(b, t.name+"-%s-ratio", ratios, map[string]int{"low": 1, "median": 5, "high": 9})
	}
	for _, t := range turns {
		reportParts(b, t.name+"-%s-ns", t.times, map[string]int{"least": 0, "median": 5})
	}
}

// reportParts reports those values that so many tenths of all are below.
func reportParts(b *testing.B, unit string, values []float64, tenths map[string]int) {
	slices.Sort(values)
	for name, part := range tenths {
		b.ReportMetric(values[part*(len(values)-1)/10], fmt.Sprintf(unit, name))
	}
}

// memoryLoggers are the ways to write five attributes that take turns.
var memoryLoggers = []string{"sloghandler", "sloghandler-direct", "structevent"}

// memoryTurns are those of shared memory. check fails the benchmark unless the tools have read all records but those of the full ring.
func memoryTurns(b *testing.B) (turns []turn, check func()) {
	var keeping []*tools
	add := func(name, of string, prepare, log func()) {
		turns = append(turns, turn{name: name, of: of, take: func(calls int) int64 {
			prepare()
			begin, end := repeat(calls, log)
			return end - begin
		}})
	}
	attach := func(n int, events ...string) (read func()) {
		r := readers(b, n, events...)
		keeping = append(keeping, r)
		return func() { r.read() }
	}
	var word atomic.Uint64
	add("atomic", "", func() {}, func() { word.Add(1) })
	add("clock", "", func() {}, func() { sys.Nanotime() })
	ev, event := openOpaque(b)
	events := []string{event}
	logs := map[string]func(){}
	for _, o := range owns {
		if slices.Contains(memoryLoggers, o.name) {
			logs[o.name], event = o.open(b, uniqueName(), five)
			events = append(events, event)
		}
	}
	span, spans := ownSpanList[0].openTwo(b)
	read := attach(1, append(events, spans...)...)
	add("opaque", "lttng-opaque", read, writeOpaque(ev))
	if runtime.GOMAXPROCS(0) > 1 {
		logs := [2]func(){writeOpaque(ev), writeOpaque(ev)}
		turns = append(turns, turn{name: "writers", of: "opaque", take: func(calls int) int64 {
			for again := 0; ; again++ {
				read()
				if ns, parallel := together(b, calls, logs); parallel || again == 100 {
					return ns
				}
			}
		}})
	}
	for _, name := range memoryLoggers {
		add(name, "lttng-five", read, logs[name])
	}
	add(ownSpanList[0].name, "", read, span)
	ev, event = openOpaque(b)
	add("two", "lttng-two", attach(2, event), writeOpaque(ev))

	ev, event = openOpaque(b)
	log, stopped := writeOpaque(ev), readers(b, 1, event)
	add("full", "lttng-full", func() { stopped.fill(b, log) }, log)
	return turns, func() {
		for _, r := range keeping {
			require.Zero(b, r.lost())
			require.Positive(b, r.read())
			r.detach(b)
		}
		stopped.detach(b)
	}
}

// repeat calls a few times, and then so often, and returns when that began and ended.
func repeat(calls int, log func()) (begin, end int64) {
	for range calls / 8 {
		log()
	}
	begin = sys.Nanotime()
	for range calls {
		log()
	}
	return begin, sys.Nanotime()
}

// together returns the nanoseconds from the first call of two goroutines to the last one, and whether they ran at the same time for
// nine tenths of it, which they do unless other programs have the processor of one.
func together(b *testing.B, calls int, logs [2]func()) (ns int64, parallel bool) {
	var begins, ends [2]int64
	var ready atomic.Int32
	var wg sync.WaitGroup
	for i, log := range logs {
		wg.Go(func() {
			// Else the kernel runs both on one processor if there is work for another. The thread ends with the goroutine.
			runtime.LockOSThread()
			assert.NoError(b, bind(i))
			for ready.Add(1); int(ready.Load()) < len(logs); { // spins, so that both begin together
			}
			begins[i], ends[i] = repeat(calls, log)
		})
	}
	wg.Wait()
	ns = slices.Max(ends[:]) - slices.Min(begins[:])
	return ns, slices.Min(ends[:])-slices.Max(begins[:]) > ns*9/10
}

// bind binds the thread to one of its processors.
func bind(i int) error {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu := 0; ; cpu++ {
		if all.IsSet(cpu) {
			if i--; i < 0 {
				one.Set(cpu)
				return unix.SchedSetaffinity(0, &one)
			}
		}
	}
}

// lttngTurns are those of LTTng-UST, in its program, and the instructions of each call.
func lttngTurns(b *testing.B, path string) (turns []turn, instructions map[string]float64) {
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	})
	instructions = map[string]float64{}
	answers := bufio.NewScanner(out)
	ask := func(what, event string, calls int) int64 {
		_, err := fmt.Fprintln(in, what, event, calls)
		require.NoError(b, err)
		require.True(b, answers.Scan(), "the program of LTTng ended: %v", answers.Err())
		n, err := strconv.ParseInt(answers.Text(), 10, 64)
		require.NoError(b, err)
		return n
	}
	for _, event := range []string{"opaque", "two", "full", "five"} {
		name := "lttng-" + event
		turns = append(turns, turn{name: name, take: func(calls int) int64 { return ask("time", event, calls) }})
		least := ask("count", event, 1) // some read the clock again, or begin a new buffer
		for range 31 {
			least = min(least, ask("count", event, 1))
		}
		instructions[name+"-instructions"] = float64(least)
	}
	return turns, instructions
}
