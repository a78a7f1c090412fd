package attach

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"

	"github.com/userevents/userevents-go/internal/live"
)

// window keeps the latest records of programs, which write to rings that overwrite nothing: so those of a program that was killed are
// there, too. It has two halves; when the newer one is full, the older one is dropped.
type window struct {
	size     int // bytes of both halves
	old, new half
	ended    []*Source // of programs that have ended
	reading  bool      // Snapshot runs, and has records that are in no half
}

type half struct {
	records []windowRecord
	bytes   []byte
	callers []uint64
}

// windowRecord is a record whose slices are parts of a half.
type windowRecord struct {
	live.Record

	src                 *Source
	raw, callers        int // where they begin
	rawSize, callerSize int
}

// add adds the record that a Reader has read last.
func (w *window) add(r *Reader) {
	var rec live.Record
	r.take(&rec)
	size := len(rec.Raw) + 8*len(rec.Callchain)
	if h := &w.new; len(h.bytes)+8*len(h.callers)+size > w.size/2 {
		w.old, w.new = w.new, w.old
		h = &w.new
		for i := range h.records {
			h.records[i].src.overwritten++
			h.records[i].src.kept--
		}
		h.records, h.bytes, h.callers = h.records[:0], h.bytes[:0], h.callers[:0]
	}
	h := &w.new
	r.record.Source.kept++
	h.records = append(h.records, windowRecord{rec, r.record.Source, len(h.bytes), len(h.callers), len(rec.Raw), len(rec.Callchain)})
	h.bytes = append(h.bytes, rec.Raw...)
	h.callers = append(h.callers, rec.Callchain...)
}

func (w *window) take() (list []live.Record) {
	for _, h := range []*half{&w.old, &w.new} {
		for _, rec := range h.records {
			rec.Raw = bytes.Clone(h.bytes[rec.raw:][:rec.rawSize])
			rec.Callchain = slices.Clone(h.callers[rec.callers:][:rec.callerSize])
			rec.src.kept--
			list = append(list, rec.Record)
		}
		*h = half{}
	}
	return list
}

// keep fills the window until the Reader is closed.
func (r *Reader) keep() {
	wait := shortest
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return
		}
		if r.fill() {
			wait = shortest
		}
		r.mu.Unlock()
		r.sleep(wait)
		wait = min(2*wait, r.o.Latency)
	}
}

// fill moves to the window what programs have written, and reports whether they have.
func (r *Reader) fill() (some bool) {
	r.find()
	r.poll()
	for r.nextCounted() {
		r.window.add(r)
		some = true
	}
	if w := r.window; len(w.ended) > 0 && !w.reading {
		w.ended = slices.DeleteFunc(w.ended, func(src *Source) bool {
			if src.kept == 0 {
				r.forget(src)
			}
			return src.kept == 0
		})
	}
	return some
}

// Snapshot calls f with the latest records that no earlier Snapshot has read, in order of time. It needs ReaderOptions.Snapshot. If f
// returns an error, Snapshot returns it, and drops the remaining records.
func (r *Reader) Snapshot(f func(*live.Record) error) error {
	if r.window == nil {
		return fmt.Errorf("shared memory: Snapshot needs the option: %w", fs.ErrInvalid)
	}
	r.mu.Lock()
	if !r.closed {
		r.fill()
	}
	list := r.window.take()
	r.window.reading = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.window.reading = false
		r.mu.Unlock()
	}()
	for i := range list {
		if err := f(&list[i]); err != nil {
			return err
		}
	}
	return nil
}
