package reader

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// source is a place that records come from: the kernel, the programs that offer events in shared memory, or both.
type source interface {
	// ReadInto waits for the next record in order of time. It returns os.ErrDeadlineExceeded after the deadline, and io.EOF after Stop.
	ReadInto(rec *live.Record) error
	SetDeadline(t time.Time)
	// Delivered returns a time of CLOCK_MONOTONIC: after a ReadInto that found nothing, all records that are not younger were returned.
	Delivered() uint64
	Snapshot(f func(*live.Record) error) error
	State() live.State
	Stats() (live.Stats, error)
	Overran() bool // whether Stats has more losses than at its last call
	AskAgain()     // the selection has changed
	Stop() error
	Close() error
}

// kernelSession is the part of perf.Session that a Reader uses. Tests have their own.
type kernelSession interface {
	source

	Attach(name string, o *perf.AttachOptions) (attached, error)
	Follow(match func(*tracefs.Event) *perf.AttachOptions, report func(*tracefs.Event, attached, error)) error
}

// attached is an event that a session of the kernel is attached to.
type attached interface {
	Detach() error
	Pause() error
	Resume() error
	SetProcesses(pids map[int32]bool)
	Gap() time.Duration
	Complete() bool
}

// memorySession reads shared memory.
type memorySession interface {
	source

	Events() int // names that are attached
	AttachProcess(pid int)
}

type perfSession struct{ *perf.Session }

func (s perfSession) Attach(name string, o *perf.AttachOptions) (attached, error) {
	return s.Session.Attach(name, o)
}

func (s perfSession) Follow(match func(*tracefs.Event) *perf.AttachOptions, report func(*tracefs.Event, attached, error)) error {
	return s.Session.Follow(match, func(e *tracefs.Event, src *perf.Source, err error) { report(e, src, err) })
}

// merge reads the kernel and shared memory, in order of time. Only the kernel wakes a reader, so merge waits for its records, and looks at
// shared memory now and then.
type merge struct {
	heads    [2]head // of the kernel and of shared memory
	latency  time.Duration
	deadline atomic.Pointer[time.Time]
	wait     time.Duration // until the next look
}

// head is a source and its next record.
type head struct {
	source

	record live.Record
	have   bool
	ended  bool
}

// Limits of the wait of merge; the other one is the latency.
const shortest = time.Millisecond

// past is a deadline that makes ReadInto return at once.
var past = time.Unix(0, 0)

func newMerge(kernel, memory source, latency time.Duration) *merge {
	m := &merge{heads: [2]head{{source: kernel}, {source: memory}}, latency: latency, wait: shortest}
	kernel.SetDeadline(past)
	memory.SetDeadline(past)
	return m
}

func (m *merge) ReadInto(rec *live.Record) error {
	for {
		for i := range m.heads {
			if err := m.look(&m.heads[i]); err != nil {
				return err
			}
		}
		h, other := &m.heads[0], &m.heads[1]
		if !h.have || other.have && other.record.Monotonic <= h.record.Monotonic {
			h, other = other, h
		}
		switch {
		case h.have && (other.have || other.ended || other.Delivered() >= h.record.Monotonic):
			h.have = false
			*rec = h.record
			return nil
		case h.ended && other.ended:
			return io.EOF
		}
		if err := m.await(); err != nil {
			return err
		}
	}
}

// look looks for the next record of a source, and does not wait.
func (m *merge) look(h *head) error {
	if h.have || h.ended {
		return nil
	}
	switch err := h.ReadInto(&h.record); {
	case err == nil:
		h.have, m.wait = true, shortest
	case errors.Is(err, io.EOF):
		h.ended = true
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return nil
}

// await waits for records of the kernel, until the deadline.
func (m *merge) await() error {
	wait := m.wait
	m.wait = min(2*m.wait, m.latency)
	at := m.deadline.Load()
	if at != nil && !at.IsZero() {
		left := time.Until(*at)
		if left <= 0 {
			return fmt.Errorf("reader: %w", os.ErrDeadlineExceeded)
		}
		wait = min(wait, left)
	}
	kernel, memory := &m.heads[0], &m.heads[1]
	waits := kernel
	if kernel.have || kernel.ended { // its record waits for those of memory
		waits = memory
	}
	waits.SetDeadline(time.Now().Add(wait))
	defer waits.SetDeadline(past)
	if m.deadline.Load() != at { // it was set meanwhile
		return nil
	}
	return m.look(waits)
}

// SetDeadline sets the time until which ReadInto waits. It also applies to a call in progress.
func (m *merge) SetDeadline(t time.Time) {
	m.deadline.Store(&t)
	for i := range m.heads {
		m.heads[i].SetDeadline(past)
	}
}

// Delivered is asked by the goroutine of ReadInto.
func (m *merge) Delivered() uint64 {
	kernel := &m.heads[0]
	if kernel.have {
		return min(kernel.Delivered(), kernel.record.Monotonic-1)
	}
	return kernel.Delivered()
}

// Snapshot reads first what programs have in shared memory.
func (m *merge) Snapshot(f func(*live.Record) error) error {
	var list []live.Record
	if err := m.heads[1].Snapshot(func(rec *live.Record) error { list = append(list, *rec); return nil }); err != nil {
		return err
	}
	err := m.heads[0].Snapshot(func(rec *live.Record) error {
		for len(list) > 0 && list[0].Monotonic <= rec.Monotonic {
			first := list[0]
			list = list[1:]
			if err := f(&first); err != nil {
				return err
			}
		}
		return f(rec)
	})
	for i := 0; i < len(list) && err == nil; i++ {
		err = f(&list[i])
	}
	return err
}

// State is that of the kernel: programs have no rings of CPUs.
func (m *merge) State() live.State { return m.heads[0].State() }

func (m *merge) Stats() (live.Stats, error) {
	t, err := m.heads[0].Stats()
	if err != nil {
		return t, err
	}
	memory, err := m.heads[1].Stats()
	t.Sources = append(t.Sources, memory.Sources...)
	t.Detached.Add(memory.Detached)
	t.Late += memory.Late
	return t, err
}

func (m *merge) Overran() bool {
	kernel, memory := m.heads[0].Overran(), m.heads[1].Overran()
	return kernel || memory
}

func (m *merge) AskAgain() {
	for i := range m.heads {
		m.heads[i].AskAgain()
	}
}

func (m *merge) Stop() error  { return errors.Join(m.heads[1].Stop(), m.heads[0].Stop()) }
func (m *merge) Close() error { return errors.Join(m.heads[1].Close(), m.heads[0].Close()) }
