package soak

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// faults are what goes wrong around the writers and the reader, one at a time. A random order of all of them follows another.
var faults = []struct {
	name string
	run  func(*soak)
}{
	{"ftrace attaches and detaches", (*soak).attachFtrace},
	{"a session with rings of 4 KiB that reads nothing", (*soak).attachPerf},
	{"a tool is killed", func(s *soak) { s.kill("attach") }},
	{"a program of the same event is killed", func(s *soak) { s.kill("register") }},
	{"a program of the same event is stopped while a tool attaches", (*soak).stopChild},
	{"memory is given back", func(*soak) { debug.FreeOSMemory() }},
	{"signals", (*soak).signal},
	{"no more events are allowed", (*soak).limitEvents},
	{"no descriptor is left", (*soak).limitDescriptors},
	{"the name is taken by other fields", (*soak).conflict},
	{"the clock is set back and forth", (*soak).stepClock},
	{"100 events come and go", (*soak).manyEvents},
}

// fault makes the next of them happen.
func (s *soak) fault() {
	if len(s.order) == 0 {
		s.order = s.random.Perm(len(faults))
	}
	f := faults[s.order[0]]
	s.order = s.order[1:]
	s.faults[f.name]++
	f.run(s)
}

func (s *soak) attachFtrace() {
	i, err := s.fs.NewInstance(fmt.Sprintf("soak-%d", os.Getpid()))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(i.Path("buffer_size_kb"), []byte("64"), 0))
	for _, name := range []string{rawName, slogName + "_info"} {
		require.NoError(s.t, i.Event(name).Enable())
	}
	s.pause()
	for _, name := range []string{rawName, slogName + "_info"} {
		require.NoError(s.t, i.Event(name).Disable())
	}
	require.NoError(s.t, i.Remove())
}

func (s *soak) attachPerf() {
	session, err := perf.Open(s.fs, &perf.Options{BufferSize: 4096})
	require.NoError(s.t, err)
	_, err = session.Attach(rawName, nil)
	require.NoError(s.t, err)
	s.pause()
	require.NoError(s.t, session.Close())
	stats, err := session.Stats()
	require.NoError(s.t, err)
	st := stats.Total()
	assert.Equal(s.t, st.Matched, st.Read+st.Lost, "a session that reads nothing")
}

// pause lets the writers go on for a random time.
func (s *soak) pause() { time.Sleep(time.Duration(s.random.IntN(50)) * time.Millisecond) } //nolint:forbidigo // load

// attachChild is a tool that attaches to the event, and waits until it is killed.
func attachChild(t *testing.T) {
	fs, err := tracefs.Find()
	require.NoError(t, err)
	session, err := perf.Open(fs, nil)
	require.NoError(t, err)
	_, err = session.Attach(rawName, nil)
	require.NoError(t, err)
	waitChild()
}

// registerChild is a program that registers the event, and waits until it is killed.
func registerChild(t *testing.T) {
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	_, err = p.Register(rawEvent, &uevents.EventOptions{Naming: uevents.NameExact})
	require.NoError(t, err)
	waitChild()
}

func waitChild() {
	fmt.Println("\nchild: ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func (s *soak) kill(task string) {
	c := startChild(s.t, task, nil)
	s.pause()
	c.kill()
}

func (s *soak) stopChild() {
	c := startChild(s.t, "register", nil)
	require.NoError(s.t, c.cmd.Process.Signal(syscall.SIGSTOP))
	s.attachFtrace()
	require.NoError(s.t, c.cmd.Process.Signal(syscall.SIGCONT))
	c.kill()
}

func (s *soak) signal() {
	for range 200 {
		require.NoError(s.t, syscall.Kill(os.Getpid(), syscall.SIGURG))
	}
}

func (s *soak) limitEvents() {
	const limit = "/proc/sys/kernel/user_events_max"
	before, err := os.ReadFile(limit)
	if os.IsNotExist(err) {
		return // before Linux 6.4
	}
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(limit, []byte("1"), 0))
	ev, err := s.current.Load().p.Register(tracepoint.Declaration{Name: "soak_refused"}, nil)
	require.ErrorIs(s.t, err, syscall.EMFILE)
	require.NoError(s.t, ev.Close())
	require.NoError(s.t, os.WriteFile(limit, before, 0))
}

func (s *soak) limitDescriptors() {
	var limit syscall.Rlimit
	require.NoError(s.t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = 3
	require.NoError(s.t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
	p, err := uevents.Open(nil)
	require.NoError(s.t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.ErrorIs(s.t, err, syscall.EMFILE)
	require.NoError(s.t, p.Close())
}

func (s *soak) conflict() {
	p, err := uevents.Open(nil)
	require.NoError(s.t, err)
	_, err = p.Register(tracepoint.MustParse(rawName+" u8 other"), &uevents.EventOptions{Naming: uevents.NameExact})
	require.ErrorIs(s.t, err, uevents.ErrConflict)
	ev, err := p.Register(tracepoint.MustParse(rawName+" u8 other"), &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
	require.NoError(s.t, err)
	require.ErrorIs(s.t, ev.Conflict(), uevents.ErrConflict)
	require.NoError(s.t, p.Close())
}

func (s *soak) stepClock() {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		to := syscall.NsecToTimeval(time.Now().Add(by).UnixNano())
		require.NoError(s.t, syscall.Settimeofday(&to))
		s.pause()
	}
}

func (s *soak) manyEvents() {
	p, err := uevents.Open(nil)
	require.NoError(s.t, err)
	g := p.NewGroup()
	for n := range 100 {
		_, err := p.Register(tracepoint.Declaration{Name: fmt.Sprintf("soak_many_%d", n)}, &uevents.EventOptions{Groups: []*uevents.Group{g}})
		require.NoError(s.t, err)
	}
	require.NoError(s.t, p.Close())
}

// holdings is what the process has of the machine while writers and reader run.
type holdings struct {
	words, descriptors, threads, mappings int
	goroutines                            int
	heap, resident                        int // KiB
	events                                int // of the kernel, where it removes those that are not used
}

func (h holdings) String() string {
	return fmt.Sprintf("%d words, %d descriptors, %d threads, %d goroutines, %d mappings, heap %d KiB, resident %d KiB, %d events of the kernel",
		h.words, h.descriptors, h.threads, h.goroutines, h.mappings, h.heap, h.resident, h.events)
}

// hold returns the holdings between two faults.
func (s *soak) hold() holdings {
	h := hold(s.t)
	st, err := s.fs.Status()
	require.NoError(s.t, err)
	if st.Max == 0 { // kernels before 6.4 keep each event
		h.events = st.Active
	}
	return h
}

// hold returns the holdings of this process.
func hold(t *testing.T) holdings {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := holdingsOf(t, os.Getpid())
	h.heap = int(m.HeapAlloc >> 10)
	h.words, _ = words.Usage()
	h.goroutines = runtime.NumGoroutine()
	return h
}

// holdingsOf returns what the kernel knows of a process.
func holdingsOf(t *testing.T, pid int) (h holdings) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	list, err := os.ReadDir(dir + "fd")
	require.NoError(t, err)
	h.descriptors = len(list)
	maps, err := os.ReadFile(dir + "maps")
	require.NoError(t, err)
	h.mappings = strings.Count(string(maps), "\n")
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, _ := strconv.Atoi(words[1]) // other lines have no numbers
		switch words[0] {
		case "Threads:":
			h.threads = n
		case "VmRSS:":
			h.resident = n
		}
	}
	return h
}

// grown returns what is held more of than at the beginning. Words and descriptors are exact but for what a descriptor of the
// runtime takes; Go starts threads as it needs them and gives memory back late, and the kernel removes events in the background.
func (h holdings) grown(first holdings) (list []string) {
	for _, c := range []struct {
		what      string
		now, most int
	}{
		{"words", h.words, first.words},
		{"descriptors", h.descriptors, first.descriptors + 1},
		{"threads", h.threads, first.threads + 8},
		{"goroutines", h.goroutines, first.goroutines + 2},
		{"mappings", h.mappings, first.mappings + 16},
		{"heap", h.heap, first.heap + first.heap/4 + 2<<10},
		{"resident memory", h.resident, first.resident + first.resident/4 + 16<<10},
		{"events", h.events, first.events + 4},
	} {
		if c.now > c.most {
			list = append(list, fmt.Sprintf("%s: %d, at most %d", c.what, c.now, c.most))
		}
	}
	return list
}
