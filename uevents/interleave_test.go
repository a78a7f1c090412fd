package uevents_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// stepped interrupts an operation at one of its points: before or after one of its calls of the kernel.
type stepped struct {
	*spy
	t    *testing.T
	gone atomic.Bool // the descriptor

	mu     sync.Mutex
	points int    // to pass before the one to stop at
	hook   func() // runs there; nil when it has run
}

func (s *stepped) point() {
	s.mu.Lock()
	var hook func()
	if s.points--; s.points < 0 {
		hook, s.hook = s.hook, nil
	}
	s.mu.Unlock()
	if hook != nil {
		hook()
	}
}

// interrupt makes a function run at the point that follows so many others.
func (s *stepped) interrupt(points int, hook func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points, s.hook = points, hook
}

// step surrounds a call of the kernel that uses the descriptor.
func (s *stepped) step() (end func()) {
	s.point()
	if s.gone.Load() {
		s.t.Error("a call with a closed descriptor")
	}
	return s.point
}

func (s *stepped) Write(buf []byte) error {
	defer s.step()()
	return s.spy.Write(buf)
}

func (s *stepped) Register(r backend.Request) (backend.Registration, error) {
	defer s.step()()
	return s.spy.Register(r)
}

func (s *stepped) Unregister(w word, bit uint8) error {
	defer s.step()()
	return s.spy.Unregister(w, bit)
}

// The other calls do without the descriptor.

func (s *stepped) NewWord() (word, error) {
	s.point()
	defer s.point()
	return s.spy.NewWord()
}

func (s *stepped) FreeWord(w word) {
	s.point()
	defer s.point()
	s.spy.FreeWord(w)
}

func (s *stepped) Delete(name string) error {
	s.point()
	defer s.point()
	return s.spy.Delete(name)
}

func (s *stepped) Fields(name string) (string, bool) {
	s.point()
	defer s.point()
	return s.Backend.Fields(name)
}

func (s *stepped) Close() error {
	s.point()
	defer s.point()
	s.gone.Store(true)
	return s.spy.Close()
}

// meeting is a provider with an enabled event, on which two operations meet.
type meeting struct {
	t     *testing.T
	s     *stepped
	k     *ueventstest.Kernel
	p     *uevents.Provider
	g     *uevents.Group
	ev    *uevents.Event
	other *uevents.Event // of the same group, disabled
	tool  *ueventstest.Tool

	written    atomic.Uint64
	mu         sync.Mutex
	registered []*uevents.Event
}

func meet(t *testing.T, o *ueventstest.Options) *meeting {
	m := &meeting{t: t, k: ueventstest.New(t, o)}
	m.s = &stepped{spy: &spy{Backend: backend.OpenSimulated(m.k)}, t: t}
	m.p = backend.NewProvider(m.s).(*uevents.Provider)
	m.g = m.p.NewGroup()
	m.ev = mustRegister(t, m.p, "met u32 a", in(m.g))
	m.other = mustRegister(t, m.p, "other", in(m.g))
	var err error
	m.tool, err = m.k.Attach(ueventstest.Ftrace, "met")
	require.NoError(t, err)
	return m
}

func (m *meeting) register(command string, o *uevents.EventOptions) *uevents.Event {
	ev, err := m.p.Register(declare(m.t, command), o)
	if err != nil {
		assert.ErrorIs(m.t, err, uevents.ErrClosed)
		assert.False(m.t, ev.Enabled())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, ev)
	return ev
}

func (m *meeting) write() {
	written, err := m.ev.WriteRecord(buffer("1234"))
	if written {
		m.written.Add(1)
	}
	if err != nil && !errors.Is(err, errno.EFAULT) {
		assert.ErrorIs(m.t, err, uevents.ErrClosed)
	}
}

// operations are all that a program can do with a provider and its events, and what tools do meanwhile.
var operations = map[string]func(*meeting){
	"register":                  func(m *meeting) { m.register("new u8 a", nil) },
	"register the same":         func(m *meeting) { m.register("met u32 a", in(m.g)) },
	"register in groups":        func(m *meeting) { m.register("new u8 a", in(m.p.NewGroup(), m.g)) },
	"register and close":        func(m *meeting) { assert.NoError(m.t, m.register("new u8 a", in(m.g)).Close()) },
	"write":                     (*meeting).write,
	"close the event":           func(m *meeting) { assert.NoError(m.t, m.ev.Close()) },
	"close the provider":        func(m *meeting) { assert.NoError(m.t, m.p.Close()) },
	"close all, event by event": func(m *meeting) { assert.NoError(m.t, errors.Join(m.other.Close(), m.ev.Close(), m.p.Close())) },
	"delete":                    func(m *meeting) { assert.Error(m.t, m.p.Delete("met"), "it has users") },
	"detach":                    func(m *meeting) { m.tool.Detach() },
	"attach": func(m *meeting) {
		tool, err := m.k.Attach(ueventstest.Perf, "*") // the event may be gone
		if err == nil {
			tool.Detach()
		}
	},
	"ask": func(m *meeting) {
		_, _, _ = m.ev.Enabled(), m.g.Enabled(), m.ev.Stats()
		_ = m.g.Enabled()
	},
}

// end closes everything and checks what has to be true whatever happened before. The simulated kernel checks that no
// registration and no word is left.
func (m *meeting) end() {
	require.NoError(m.t, m.p.Close())
	assert.Equal(m.t, 1, m.s.closed, "the descriptor is closed once")
	assert.Zero(m.t, m.s.inUse, "words")
	assert.False(m.t, m.g.Enabled())
	for _, ev := range append(m.registered, m.ev, m.other) {
		assert.False(m.t, ev.Enabled())
		notWritten(m.t, uevents.ErrClosed, ev, buffer("1234"))
	}
	assert.Equal(m.t, m.written.Load(), m.ev.Stats().Written)
	assert.Len(m.t, m.tool.Records(), int(m.written.Load()))
	m.tool.Detach()
}

// TestInterleavings interrupts each operation at each of its points by each other operation, Close among them, which
// then runs to its end, or until it waits for the interrupted one. Nothing deadlocks, no call reaches the kernel after
// the descriptor was closed, what the kernel has is released once, and counts are exact. A write makes none of them wait.
func TestInterleavings(t *testing.T) {
	testscale.HostOnly(t)
	// With one of them, Gosched returns when all that can run has run, however little time the machine has.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	meetings := 0
	generations := []uevents.ABI{uevents.ABIEnableAddress, uevents.ABIStatusBit}
	for _, abi := range generations[:testscale.CountConcurrent(2, 1)] {
		for first, interrupted := range operations {
			for second, other := range operations {
				for stop, reached := 0, true; reached; stop++ {
					m := meet(t, &ueventstest.Options{ABI: abi})
					reached = m.interrupt(interrupted, other, stop, first == "write")
					m.end()
					require.False(t, t.Failed(), "%v: %q at point %d of %q", abi, second, stop, first)
					meetings++
				}
			}
		}
	}
	t.Logf("%d meetings of two operations", meetings)
}

// interrupt runs an operation and at one of its points another one. It reports whether the operation has that point.
func (m *meeting) interrupt(interrupted, other func(*meeting), stop int, mustEnd bool) (reached bool) {
	done := make(chan struct{})
	m.s.interrupt(stop, func() {
		reached = true
		go func() {
			defer close(done)
			other(m)
		}()
		if mustEnd {
			<-done
			return
		}
		for range 20 { // it ends, or waits for what the interrupted operation has
			select {
			case <-done:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		interrupted(m)
	}()
	<-ended
	m.s.interrupt(0, nil)
	if reached {
		<-done
	}
	return reached
}
