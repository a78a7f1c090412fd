package soak

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
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
	require.NoError(s.t, i.SetBufferSize(64))
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
