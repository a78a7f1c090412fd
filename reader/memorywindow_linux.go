//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
)

// window keeps the latest records of programs, which write to rings that overwrite nothing: so those of a program that was killed are
// there, too. It has two halves; when the newer one is full, the older one is dropped.
type window struct {
	size     int // bytes of both halves
	old, new half
	ended    []*memoryEvent // of programs that have ended
	reading  bool           // Snapshot runs, and has records that are in no half
}

type half struct {
	records []windowRecord
	bytes   []byte
	callers []uint64
}

// windowRecord is a record whose slices are parts of a half.
type windowRecord struct {
	perf.Record

	event               *memoryEvent
	raw, callers        int // where they begin
	rawSize, callerSize int
}

// add adds the record that a session has read last.
func (w *window) add(m *memorySession) {
	var r perf.Record
	m.take(&r)
	size := len(r.Raw) + 8*len(r.Callchain)
	if h := &w.new; len(h.bytes)+8*len(h.callers)+size > w.size/2 {
		w.old, w.new = w.new, w.old
		h = &w.new
		for i := range h.records {
			h.records[i].event.overwritten++
			h.records[i].event.kept--
		}
		h.records, h.bytes, h.callers = h.records[:0], h.bytes[:0], h.callers[:0]
	}
	h := &w.new
	m.event().kept++
	h.records = append(h.records, windowRecord{r, m.event(), len(h.bytes), len(h.callers), len(r.Raw), len(r.Callchain)})
	h.bytes = append(h.bytes, r.Raw...)
	h.callers = append(h.callers, r.Callchain...)
}

// take returns the records, and forgets them.
func (w *window) take() (list []perf.Record) {
	for _, h := range []*half{&w.old, &w.new} {
		for _, r := range h.records {
			r.Raw = bytes.Clone(h.bytes[r.raw:][:r.rawSize])
			r.Callchain = slices.Clone(h.callers[r.callers:][:r.callerSize])
			r.event.kept--
			list = append(list, r.Record)
		}
		*h = half{}
	}
	return list
}

// keep fills the window until the session is closed.
func (m *memorySession) keep() {
	defer m.r.background.Done()
	wait := shortest
	for {
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return
		}
		if m.fill() {
			wait = shortest
		}
		m.mu.Unlock()
		m.sleep(wait)
		wait = min(2*wait, m.latency)
	}
}

// fill moves to the window what programs have written, and reports whether they have.
func (m *memorySession) fill() (some bool) {
	m.find()
	m.programs.Poll()
	for m.match() {
		m.window.add(m)
		some = true
	}
	if w := m.window; len(w.ended) > 0 && !w.reading {
		m.r.mu.Lock()
		defer m.r.mu.Unlock()
		w.ended = slices.DeleteFunc(w.ended, func(e *memoryEvent) bool {
			if e.kept == 0 {
				m.forget(e)
			}
			return e.kept == 0
		})
	}
	return some
}

// Snapshot calls f with the records of the window, and with those of the kernel's rings.
func (m *memorySession) Snapshot(f func(*perf.Record) error) error {
	if m.window == nil {
		return fmt.Errorf("reader: Snapshot needs ReadSnapshot: %w", errno.EINVAL)
	}
	m.mu.Lock()
	if !m.closed {
		m.fill()
	}
	list := m.window.take()
	m.window.reading = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.window.reading = false
		m.mu.Unlock()
	}()
	until := func(monotonic uint64) error {
		for len(list) > 0 && list[0].Monotonic <= monotonic {
			r := list[0]
			list = list[1:]
			if err := f(&r); err != nil {
				return err
			}
		}
		return nil
	}
	if m.kernel != nil {
		err := m.kernel.Snapshot(func(r *perf.Record) error {
			if err := until(r.Monotonic); err != nil {
				return err
			}
			return f(r)
		})
		if err != nil {
			return err
		}
	}
	return until(math.MaxUint64)
}
