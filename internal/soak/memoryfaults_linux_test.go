//go:build !386 && !arm && !mips && !mipsle

package soak

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

func init() { childTasks["program"], childTasks["tool"] = obeyMemory, obeyTool }

// memoryFaults are what befalls programs and tools, one at a time. A random order of all of them follows another.
var memoryFaults = []struct {
	name string
	run  func(*memorySoak)
}{
	{"a program ends", func(s *memorySoak) { s.end(s.any()) }},
	{"a program ends without Close", (*memorySoak).exit},
	{"a program is killed", func(s *memorySoak) { s.kill(s.any()) }},
	{"a program is stopped, and killed", (*memorySoak).stopAndKill},
	{"a program is stopped, and goes on", func(s *memorySoak) { s.stop(s.any().child) }},
	{"a program executes itself", (*memorySoak).exec},
	{"an event is registered late", func(s *memorySoak) { s.any().asked("late") }},
	{"an event is closed, and registered again", func(s *memorySoak) { s.any().asked("again") }},
	{"all events are closed, and registered again", (*memorySoak).reopen},
	{"two tools with filters", (*memorySoak).twoTools},
	{"a tool is killed", func(s *memorySoak) { s.tool(0).kill() }},
	{"a tool is killed while it attaches", (*memorySoak).killAttaching},
	{"a tool is killed while it detaches", (*memorySoak).killDetaching},
	{"a tool is stopped, and goes on", (*memorySoak).stopTool},
	{"a tool in the reader's process", (*memorySoak).ownTool},
}

func (s *memorySoak) fault() {
	if len(s.order) == 0 {
		s.order = s.random.Perm(len(memoryFaults))
	}
	f := memoryFaults[s.order[0]]
	s.order = s.order[1:]
	s.faults[f.name]++
	f.run(s)
	if *duration < time.Minute {
		s.pause()
	} else {
		s.sleep(500) // starting processes is most of the work
	}
}

func (s *memorySoak) pause() { s.sleep(50) }

func (s *memorySoak) sleep(most int) {
	time.Sleep(time.Duration(s.random.IntN(most)) * time.Millisecond) //nolint:forbidigo // load
}

// program is a program of its own process.
type program struct {
	*child

	s    *memorySoak
	name string // of its events, without their numbers: one of its own for each memory
	w    witness
	base [2][programEvents]uint64 // calls that were begun and that returned before it registered the events
}

// hold returns what the program holds.
func (p *program) hold() holdings {
	h := holdingsOf(p.s.t, p.cmd.Process.Pid)
	_, err := fmt.Sscan(p.asked("hold"), &h.goroutines, &h.heap, &h.words)
	require.NoError(p.s.t, err)
	return h
}

// any returns one of at least three programs.
func (s *memorySoak) any() *program {
	for len(s.programs) < 3 {
		s.programs = append(s.programs, s.begin())
	}
	return s.programs[s.random.IntN(len(s.programs))]
}

// begin starts a program that writes.
func (s *memorySoak) begin() *program {
	p := s.spawn()
	s.open(p)
	return p
}

// spawn starts a program without events.
func (s *memorySoak) spawn() *program {
	fd, err := sys.CreateMemory("witness", witnessSize, 0)
	require.NoError(s.t, err)
	page, err := sys.MapWritable(fd, witnessSize)
	require.NoError(s.t, err)
	file := os.NewFile(uintptr(fd), "witness")
	defer file.Close()
	p := &program{s: s, w: page}
	s.children++
	p.child = startChild(s.t, "program", []*os.File{file}, envImage+"="+strconv.Itoa(s.children<<32))
	return p
}

// open makes a program register its events, and write as soon as they are attached.
func (s *memorySoak) open(p *program) {
	p.register()
	p.asked("write")
}

// register makes a program register its events. It returns when they are attached.
func (p *program) register() {
	p.base = [2][programEvents]uint64{p.calls(witness.begun), p.calls(witness.returned)}
	p.s.memories++
	p.name = p.s.prefix + "_" + strconv.Itoa(p.s.memories)
	p.asked("open " + p.name)
	p.s.r.AttachProcess(p.cmd.Process.Pid)
	require.Len(p.s.t, p.s.counts(p), programEvents-1, "events that are attached")
}

// pauseAndCompare stops the writers of a program. What they have written was read or is lost.
func (p *program) pauseAndCompare() {
	p.asked("pause")
	s := p.s
	var read, returned [programEvents]uint64
	atLeast := false // see judge
	testscale.Eventually(s.t, func() bool {
		read, returned = [programEvents]uint64{}, p.since(witness.returned, 1)
		for name, e := range s.counts(p) {
			i, err := strconv.Atoi(name)
			require.NoError(s.t, err)
			read[i], atLeast = e.Matched, atLeast || e.AtLeast
		}
		return read == returned || atLeast || s.t.Failed()
	}, "%s: read and lost are not what was written", p.name)
	if read != returned {
		assert.True(s.t, atLeast)
		say(s.t, "%s: read and lost %v, written %v", p.name, read, returned)
	}
	s.exact++
}

// calls returns the numbers of the program's calls.
func (p *program) calls(of func(witness, int) *atomic.Uintptr) (list [programEvents]uint64) {
	for i := range list {
		list[i] = uint64(of(p.w, i).Load())
	}
	return list
}

// since returns those since the events were registered.
func (p *program) since(of func(witness, int) *atomic.Uintptr, which int) (list [programEvents]uint64) {
	list = p.calls(of)
	for i := range list {
		list[i] -= p.base[which][i]
	}
	return list
}

// account adds what was written to a program's memory that is no more.
func (s *memorySoak) account(p *program) {
	for _, n := range p.since(witness.begun, 0) {
		s.begun += n
	}
	for _, n := range p.since(witness.returned, 1) {
		s.returned += n
	}
}

func (s *memorySoak) remove(p *program) {
	s.programs = slices.DeleteFunc(s.programs, func(q *program) bool { return p == q })
	require.NoError(s.t, sys.UnmapBytes(p.w))
}

func (s *memorySoak) end(p *program) {
	p.pauseAndCompare()
	p.asked("close")
	s.account(p)
	p.end("exit")
	s.remove(p)
}

// endAll ends all programs but the long one, and waits until the reader has forgotten them.
func (s *memorySoak) endAll() {
	for _, p := range slices.Clone(s.programs) {
		s.end(p)
	}
	testscale.Eventually(s.t, func() bool {
		s.r.AttachProcess(s.long.cmd.Process.Pid)
		st, err := s.r.Stats()
		require.NoError(s.t, err)
		return len(st.Events) == len(s.counts(s.long))
	}, "events of programs that have ended are still attached")
}

func (s *memorySoak) exit() {
	p := s.any()
	p.pauseAndCompare()
	p.end("exit")
	s.account(p)
	s.remove(p)
}

func (s *memorySoak) kill(p *program) {
	p.kill()
	s.account(p)
	s.remove(p)
}

func (s *memorySoak) stopAndKill() {
	p := s.any()
	require.NoError(s.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	s.pause()
	s.kill(p)
}

// stop stops a process for a while: in a long run also for longer than the reader waits for a record that is not complete.
func (s *memorySoak) stop(c *child) {
	require.NoError(s.t, c.cmd.Process.Signal(syscall.SIGSTOP))
	s.pause()
	if *duration > time.Minute && s.random.IntN(4) == 0 {
		time.Sleep(2 * time.Second) //nolint:forbidigo // load
	}
	require.NoError(s.t, c.cmd.Process.Signal(syscall.SIGCONT))
}

func (s *memorySoak) exec() {
	p := s.any()
	p.tell("exec")
	require.Equal(s.t, "ready", p.says())
	s.account(p)
	s.open(p)
}

func (s *memorySoak) reopen() {
	p := s.any()
	p.pauseAndCompare()
	p.asked("close")
	s.account(p)
	s.open(p)
}

// tool starts a tool that reads the records of one writer.
func (s *memorySoak) tool(writer int) *child {
	c := s.attaching(writer)
	require.Equal(s.t, "ready", c.says())
	return c
}

// attaching is a tool that is not ready.
func (s *memorySoak) attaching(writer int) *child {
	s.any()
	s.children++
	return spawn(s.t, "tool", nil, envName+"="+s.prefix, envImage+"="+strconv.Itoa(writer))
}

func (s *memorySoak) killAttaching() {
	c := s.attaching(0)
	s.pause() // about as long as it takes
	c.kill()
}

func (s *memorySoak) killDetaching() {
	c := s.tool(1)
	c.tell("end")
	time.Sleep(time.Duration(s.random.IntN(10_000)) * time.Microsecond) //nolint:forbidigo // load
	require.NoError(s.t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // it may have ended
}

func (s *memorySoak) twoTools() {
	a, b := s.tool(0), s.tool(1)
	s.pause()
	a.end("end")
	b.end("end")
}

func (s *memorySoak) stopTool() {
	c := s.tool(1)
	s.stop(c)
	c.end("end")
}

func (s *memorySoak) ownTool() {
	s.any()
	newTool(s.t, s.prefix, 1).close()
}

// filtered is a tool that reads the records of one writer.
type filtered struct {
	t      *testing.T
	r      *reader.Reader
	c      checker
	writer uint64
	n      uint64
}

// newTool returns a tool that has read a record.
func newTool(t *testing.T, prefix string, writer uint64) *filtered {
	where, err := where.Parse(fmt.Sprintf("writer == %d", writer))
	require.NoError(t, err)
	r, err := reader.Open(&reader.Options{Selection: reader.Selection{Events: []string{prefix}, Where: where}, Transport: reader.TransportMemory, BufferSize: 64 << 10})
	require.NoError(t, err)
	f := &filtered{t: t, r: r, c: checker{t: t}, writer: writer}
	r.SetDeadline(testscale.Deadline())
	require.NoError(t, f.next())
	return f
}

func (f *filtered) next() error {
	var ev record.Record
	err := f.r.Next(&ev)
	if err == nil {
		f.n++
		f.c.check(&ev)
		assert.Equal(f.t, f.writer, ev.Fields()[1].Value.Uint64(), "the filter")
	}
	return err
}

// close reads what is left.
func (f *filtered) close() {
	require.NoError(f.t, f.r.Stop())
	for {
		err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(f.t, err)
	}
	st, err := f.r.Stats()
	require.NoError(f.t, err)
	assert.Equal(f.t, []uint64{f.n + st.Unselected, st.Total.Matched}, []uint64{st.Total.Read, st.Total.Read + st.Total.Lost})
	require.NoError(f.t, f.r.Close())
}

// obeyTool is the life of a tool in a process of its own.
func obeyTool(t *testing.T) {
	writer, err := strconv.ParseUint(os.Getenv(envImage), 10, 64)
	require.NoError(t, err)
	f := newTool(t, os.Getenv(envName), writer)
	fmt.Println("\nchild: ready")
	ended := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(io.LimitReader(os.Stdin, 1)) // the order to end, or the end of the test
		close(ended)
	}()
	for {
		select {
		case <-ended:
			f.close()
			if t.Failed() {
				os.Exit(1)
			}
			os.Exit(0)
		default:
		}
		f.r.SetDeadline(time.Now().Add(10 * time.Millisecond))
		if err := f.next(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			require.NoError(t, err)
		}
	}
}
