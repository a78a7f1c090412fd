//go:build !386 && !arm && !mips && !mipsle

package uevents_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// memoryFiles returns how many descriptors and mappings this process has of its own memory, and of that of others.
func memoryFiles(t *testing.T) (descriptors, mappings int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range list {
		if target, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); strings.HasPrefix(target, "/memfd:userevents-") {
			descriptors++
		}
	}
	return descriptors, strings.Count(maps(t), "/memfd:userevents-")
}

func maps(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return string(text)
}

// noMemory checks that nothing of the memory is there.
func noMemory(t *testing.T) {
	t.Helper()
	descriptors, mappings := memoryFiles(t)
	assert.Zero(t, descriptors, "descriptors")
	assert.Zero(t, mappings, "mappings")
}

// TestMemoryCloseWhileWriting: Close while goroutines write. What they wrote is read or counted as lost, to the digit, by a tool that
// looks later.
func TestMemoryCloseWhileWriting(t *testing.T) {
	testscale.HostOnly(t)
	m := sharedMemory{}
	for round := range testscale.CountConcurrent(300, 50) {
		p := m.unowned(t)
		var events []*uevents.Event
		for range 3 {
			events = append(events, mustRegister(t, p, newName()+" u64 a", nil))
		}
		a, err := attach.Open(os.Getpid())
		require.NoError(t, err)
		s, err := a.Attach(attach.Options{Patterns: []string{"ue_test_*"}, RingSize: 16 << 10})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				rec := buffer("12345678")
				for i := range 1_000_000 {
					ev := events[i%len(events)]
					if _, err := ev.WriteRecord(rec); err != nil {
						assert.ErrorIs(t, err, uevents.ErrClosed)
						return
					}
					if !events[0].Enabled() && !events[1].Enabled() && !events[2].Enabled() {
						return
					}
				}
			})
		}
		read := map[uint32]uint64{}
		take := func(list []attach.Record) {
			for _, r := range list {
				read[r.Event]++
			}
		}
		for len(read) < len(events) {
			take(s.Read())
		}
		if round%2 == 0 {
			for _, ev := range events {
				require.NoError(t, ev.Close())
			}
		}
		require.NoError(t, p.Close())
		wg.Wait()
		take(s.Read())
		take(s.Drain())
		for id, ev := range events {
			assert.Equal(t, ev.Stats().Written, read[uint32(id)]+s.Lost(uint32(id)), "round %d, event %d", round, id)
		}
		require.NoError(t, errors.Join(s.Detach(), a.Close()))
		noMemory(t)
	}
}

// TestMemoryForgotten: a provider that is dropped without Close gives everything back, also while a tool is attached.
func TestMemoryForgotten(t *testing.T) {
	testscale.HostOnly(t)
	for _, attached := range []bool{false, true} {
		use := func() (p *attach.Program, s *attach.Session) {
			ev := mustRegister(t, sharedMemory{}.unowned(t), newName(), nil)
			if !attached {
				return nil, nil
			}
			p, err := attach.Open(os.Getpid())
			require.NoError(t, err)
			s, err = p.Attach(attach.Options{Patterns: []string{ev.Name()}})
			require.NoError(t, err)
			mustWrite(t, ev, buffer("x"))
			return p, s
		}
		p, s := use()
		testscale.Eventually(t, func() bool {
			runtime.GC()
			p, err := attach.Open(os.Getpid())
			if err == nil {
				require.NoError(t, p.Close())
			}
			return errors.Is(err, attach.ErrNoMemory)
		}, "the memory is still there")
		if attached {
			assert.Len(t, s.Drain(), 1)
			require.NoError(t, errors.Join(s.Detach(), p.Close()))
		}
		noMemory(t)
	}
}

// TestMemoryShared: providers of a process share the memory. The last one releases it.
func TestMemoryShared(t *testing.T) {
	testscale.HostOnly(t)
	m := sharedMemory{}
	first, second := m.unowned(t), m.unowned(t)
	noMemory(t) // before the first event
	a, b := mustRegister(t, first, newName(), nil), mustRegister(t, second, newName(), nil)
	same := mustRegister(t, second, a.Name(), nil)
	descriptors, mappings := memoryFiles(t)
	assert.Equal(t, [2]int{2, 3}, [2]int{descriptors, mappings}, "the rings are a mapping of their own: they are in no core dump")
	tr := m.attach(t, ueventstest.Ftrace, b.Name())
	mustWrite(t, b, buffer("x"))
	require.NoError(t, first.Close())
	assert.False(t, a.Enabled())
	mustWrite(t, b, buffer("x"))
	assert.Len(t, tr.payloads(t), 2)
	shared := m.attach(t, ueventstest.Ftrace, a.Name())
	mustWrite(t, same, buffer("x"))
	assert.Len(t, shared.payloads(t), 1)
	shared.detach()
	tr.detach()
	require.NoError(t, second.Close())
	noMemory(t)
}

// TestMemoryWordStays: a goroutine checks events while their memory goes and comes again.
func TestMemoryWordStays(t *testing.T) {
	testscale.HostOnly(t)
	m := sharedMemory{}
	var current atomic.Pointer[uevents.Event]
	var stop atomic.Bool
	var wg sync.WaitGroup
	var checks, on atomic.Int64
	wg.Go(func() {
		for !stop.Load() {
			if ev := current.Load(); ev != nil {
				if ev.Enabled() {
					on.Add(1)
				}
				checks.Add(1)
			}
		}
	})
	rounds := testscale.CountConcurrent(1000, 100)
	for range rounds {
		p := m.unowned(t)
		current.Store(mustRegister(t, p, newName(), nil))
		require.NoError(t, p.Close())
	}
	testscale.Eventually(t, func() bool { return checks.Load() > 0 }, "no check")
	stop.Store(true)
	wg.Wait()
	t.Logf("%d checks", checks.Load())
	assert.Zero(t, on.Load())
	noMemory(t)
}

// TestMemoryRounds: nothing grows if a program opens and closes again and again, with a tool each time or without.
func TestMemoryRounds(t *testing.T) {
	testscale.HostOnly(t)
	m := sharedMemory{}
	round := func(attached bool) {
		p := m.unowned(t)
		ev := mustRegister(t, p, newName(), in(p.NewGroup()))
		if attached {
			tr := m.attach(t, ueventstest.Ftrace, ev.Name()).(*memoryTool)
			mustWrite(t, ev, buffer("x"))
			assert.Len(t, tr.payloads(t), 1)
			tr.detach()
		}
		require.NoError(t, p.Close())
	}
	for _, attached := range []bool{false, true} {
		t.Run(fmt.Sprint("attached ", attached), func(t *testing.T) {
			round(attached)
			descriptors, before := entries("/proc/self/fd"), size(t)
			for range testscale.Count(1000, 100) {
				round(attached)
			}
			assert.Equal(t, descriptors, entries("/proc/self/fd"))
			after := size(t)
			t.Logf("%d KiB of address space before, %d after", before>>10, after>>10)
			assert.Less(t, after, before+layout.FileSize, "Go takes some too")
			noMemory(t)
		})
	}
}

// size returns how much address space this process uses.
func size(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages int
	_, err = fmt.Sscan(string(text), &pages)
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// envRefused makes TestMemoryRefused a program that finds no transport: when its limits are lowered, "before" or "after" Open.
const envRefused = "USER_EVENTS_TEST_REFUSED"

// TestMemoryRefused: where neither the kernel nor the memory can be used, the error gives both reasons, and what to do. The program goes on.
func TestMemoryRefused(t *testing.T) {
	testscale.HostOnly(t)
	if when, ok := os.LookupEnv(envRefused); ok {
		refused(t, when)
		return
	}
	for _, c := range []struct {
		name, when, transport string
		want, not             []string
	}{
		{"automatic", "before", "", []string{"open /sys/kernel/tracing", "open shared memory: RLIMIT_FSIZE is 4096 bytes"}, nil},
		{"memory", "before", "memory", []string{"open shared memory: RLIMIT_FSIZE is 4096 bytes"}, []string{"/sys/kernel"}},
		{"too late", "after", "memory", []string{"RLIMIT_FSIZE is 4096 bytes"}, []string{"/sys/kernel", "put events into groups"}},
		{"descriptors", "descriptors", "memory", []string{"memfd_create: too many open files", "RLIMIT_NOFILE"}, []string{"user_events_max"}},
		{"address space", "space", "memory", []string{"RLIMIT_AS"}, []string{"the kernel is out of memory", "put events into groups"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.transport == "" && kernelWorks(t) {
				t.Skip("not on this kernel: it has user_events")
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryRefused$", "-test.v")
			cmd.Env = append(os.Environ(), envRefused+"="+c.when, uevents.EnvTransport+"="+c.transport)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "--- PASS: TestMemoryRefused")
			for _, text := range c.want {
				assert.Contains(t, string(out), text)
			}
			for _, text := range c.not {
				assert.NotContains(t, string(out), text)
			}
			t.Logf("%s", out)
		})
	}
}

func kernelWorks(t *testing.T) bool {
	t.Setenv(uevents.EnvDataFile, "")
	return uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err == nil
}

// refused is the program.
func refused(t *testing.T, when string) {
	lower := func(which int, n uint64) {
		var l syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(which, &l))
		before := l
		l.Cur = n
		require.NoError(t, syscall.Setrlimit(which, &l))
		t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(which, &before)) })
	}
	t.Setenv(uevents.EnvDataFile, "") // package kerneltest sets it
	if when == "before" {
		lower(syscall.RLIMIT_FSIZE, 4096)
	}
	p, err := uevents.Open(nil)
	if when == "before" {
		require.Error(t, err)
		assert.Equal(t, uevents.TransportOff, p.Transport())
		fmt.Println("open:", err)
		report := uevents.Probe(nil)
		assert.Equal(t, err.Error(), report.Err.Error())
		assert.Contains(t, report.String(), err.Error())
		for _, f := range report.Findings {
			assert.NotContains(t, f.Result, "%!", "%v", f)
		}
	} else {
		require.NoError(t, err)
		assert.NotContains(t, uevents.Probe(nil).String(), "in files of")
	}
	switch when {
	case "after":
		lower(syscall.RLIMIT_FSIZE, 4096)
	case "descriptors":
		free, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, syscall.Close(free))
		lower(syscall.RLIMIT_NOFILE, uint64(free))
	case "space":
		lower(syscall.RLIMIT_AS, uint64(size(t))+100<<20)
	}
	ev, err := p.Register(tracepoint.Declaration{Name: newName()}, nil)
	require.Error(t, err)
	fmt.Println("register:", err)
	assert.False(t, ev.Enabled())
	notWritten(t, nil, ev, buffer("x"))
	require.NoError(t, errors.Join(ev.Close(), p.Close()))
}

// TestMemoryRemedies: errors of a registration say what to do about the program's own memory, and nothing about the machine.
func TestMemoryRemedies(t *testing.T) {
	testscale.HostOnly(t)
	p := sharedMemory{}.provider(t)
	ev := mustRegister(t, p, newName()+" u8 a", nil)
	_, err := p.Register(declare(t, ev.Name()+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
	require.ErrorIs(t, err, uevents.ErrConflict)
	require.ErrorContains(t, err, "(the program has registered the name with other fields: close that event")
	for _, c := range []struct {
		options *uevents.EventOptions
		errno   error
		remedy  string
	}{
		{nil, syscall.ENOMEM, "(put events into groups, which share enable words)"},
		{in(p.NewGroup()), syscall.EMFILE, "(register the same events again rather than new ones)"},
	} {
		var events []*uevents.Event
		err = nil
		for n := 0; err == nil && n < 5000; n++ {
			ev, err = p.Register(declare(t, newName()), c.options)
			events = append(events, ev)
		}
		require.ErrorIs(t, err, c.errno)
		require.ErrorContains(t, err, c.remedy)
		t.Logf("%d events: %v", len(events)-1, err)
		for _, ev := range events {
			require.NoError(t, ev.Close())
		}
	}
}

// TestMemoryFull: the memory has room for so many events, also those that were closed. Those that are there go on, and an
// event of known fields can be registered again.
func TestMemoryFull(t *testing.T) {
	testscale.HostOnly(t)
	p := sharedMemory{}.provider(t)
	name, registered := newName(), 0
	var err error
	for err == nil {
		var ev *uevents.Event
		ev, err = p.Register(tracepoint.Declaration{Name: fmt.Sprint(name, "_", registered)}, nil)
		require.NoError(t, ev.Close())
		registered++
		require.Less(t, registered, 10_000)
	}
	require.ErrorIs(t, err, errno.EMFILE)
	assert.ErrorContains(t, err, "room for 4096 events")
	assert.ErrorContains(t, err, "register the same events again")
	ev := mustRegister(t, p, name+"_7", nil)
	tr := sharedMemory{}.attach(t, 0, ev.Name())
	mustWrite(t, ev, buffer("x"))
	assert.Len(t, tr.payloads(t), 1)
}

func TestMemoryConflict(t *testing.T) {
	testscale.HostOnly(t)
	p := sharedMemory{}.provider(t)
	name := newName()
	mustRegister(t, p, name+" u8 a", nil)
	_, err := p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
	require.ErrorIs(t, err, uevents.ErrConflict)
	assert.ErrorContains(t, err, `it has "u8 a", not "u16 a"`)
	assert.ErrorContains(t, err, "the program has registered the name with other fields")
}

// openIn opens a provider with an environment, in which no test of this package names the kernel's file.
func openIn(t *testing.T, env, data string, o *uevents.Options) (*uevents.Provider, error) {
	t.Setenv(uevents.EnvTransport, env)
	t.Setenv(uevents.EnvDataFile, data)
	p, err := uevents.Open(o)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, err
}

func TestTransportNames(t *testing.T) {
	for name, transport := range map[string]uevents.Transport{
		"auto": uevents.TransportAuto, "kernel": uevents.TransportKernel, "memory": uevents.TransportMemory, "off": uevents.TransportOff,
		"Transport(4)": 4,
	} {
		assert.Equal(t, name, transport.String())
	}
}

// TestTransport: the environment wins over the options; what it asks for is what the provider and Probe say.
func TestTransport(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "ordinary"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	for _, c := range []struct {
		name, env, data string
		options         *uevents.Options
		want            uevents.Transport
		err             error
		text            string
	}{
		{"memory by option", "", "", &uevents.Options{Transport: uevents.TransportMemory}, uevents.TransportMemory, nil, ""},
		{"memory by variable", "memory", "", nil, uevents.TransportMemory, nil, ""},
		{"memory by variable, kernel by option", "memory", "", &uevents.Options{Transport: uevents.TransportKernel}, uevents.TransportMemory, nil, ""},
		{"memory where a file is named", "memory", "/nonexistent", nil, uevents.TransportMemory, nil, ""},
		{"off by variable", "off", "", &uevents.Options{Transport: uevents.TransportMemory}, uevents.TransportOff, uevents.ErrNotSupported, "turned off"},
		{"off by option", "", "", &uevents.Options{Transport: uevents.TransportOff}, uevents.TransportOff, uevents.ErrNotSupported, "turned off"},
		{"unknown", "kernal", "", nil, uevents.TransportOff, nil, `transport "kernal" (USER_EVENTS_TRANSPORT or Options.Transport): it must be one of ["auto" "kernel" "memory" "off"]`},
		{"unknown option", "", "", &uevents.Options{Transport: 9}, uevents.TransportOff, nil, `transport "Transport(9)"`},
		{"a file that is not there", "auto", "/nonexistent", nil, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"a path that is not there", "", "", &uevents.Options{Path: "/nonexistent"}, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"the kernel alone", "kernel", "/nonexistent", nil, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"a file that is none of the kernel's", "", "", &uevents.Options{File: file}, uevents.TransportOff, nil, file.Name()},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := openIn(t, c.env, c.data, c.options)
			report := uevents.Probe(c.options)
			assert.Equal(t, c.want, p.Transport())
			assert.Equal(t, c.want, report.Transport)
			if c.want != uevents.TransportOff {
				require.NoError(t, err)
				require.NoError(t, report.Err)
				assert.Contains(t, report.String(), "events: memory\n")
				assert.Empty(t, report.DataFile)
				assert.Equal(t, uevents.ABIUnknown, report.ABI)
				return
			}
			require.ErrorContains(t, err, c.text)
			assert.Equal(t, err.Error(), report.Err.Error())
			assert.Equal(t, err, p.Err())
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
		})
	}
	assert.Equal(t, uevents.TransportOff, (*uevents.Provider)(nil).Transport())
	assert.Equal(t, uevents.TransportOff, new(uevents.Provider).Transport())
}

// TestTransportAuto: where the kernel refuses, events take the memory, and are written.
func TestTransportAuto(t *testing.T) {
	p, err := openIn(t, "", "", nil)
	require.NoError(t, err)
	if uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err == nil {
		assert.Equal(t, uevents.TransportKernel, p.Transport())
		return
	}
	assert.Equal(t, uevents.TransportMemory, p.Transport())
	ev := mustRegister(t, p, newName()+" u32 a", nil)
	tr := sharedMemory{}.attach(t, 0, ev.Name())
	mustWrite(t, ev, buffer("1234"))
	assert.Len(t, tr.payloads(t), 1)
	assert.Equal(t, uevents.EventStats{Written: 1}, ev.Stats())
}
