package ueventstrace

import (
	"container/list"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// perfetto writes spans as slices on Perfetto's tracks. There the end of a slice has no name: it ends
// what began last on its track. Spans of one goroutine nest like that, but goroutines are on no
// thread for long, and spans of several of them overlap. So a span is on its parent's track if the
// parent is the innermost one there, and else begins a track of its own. One that is still
// open when its parent ends goes on there too, see maxMoved.
//
// The lock is held while events are written: where a slice is depends on what was written before.
type perfetto struct {
	sink  *sink
	count atomic.Int64 // how many are open: at 0, a span that ends takes no lock

	mu      sync.Mutex
	open    map[oteltrace.SpanID]*opened
	byAge   list.List     // of the same, the oldest first
	dropped atomic.Uint64 // records that were not written, since a span has no slice, or none any more
}

// opened is a span whose slice has begun. It does not refer to the span.
type opened struct {
	trace   oteltrace.TraceID
	span    oteltrace.SpanID
	name    string
	service string // what the track is called
	track   *track
	outer   *opened // nil for the outermost one of a track, which is its oldest one
	inner   *opened // nil for the innermost one
	age     *list.Element
}

// track lasts as long as the span that it began with, whose ID is its own.
type track struct {
	id        int64
	innermost *opened
}

// maxOpen bounds what spans that never end can take. Above it the oldest one is forgotten: it is the most likely one not
// to end.
const maxOpen = 1 << 16

// maxMoved bounds how many slices a span that ends moves to a track of their own, each with two records. Of more of them,
// the innermost ones go on. Without that bound, spans of a chain that end from the outermost one on would take a number
// of records that grows with the square of theirs, all under the lock.
const maxMoved = 64

func newPerfetto(s *sink) *perfetto { return &perfetto{sink: s, open: map[oteltrace.SpanID]*opened{}} }

// stats adds what perfetto has dropped to the counts of all events.
func (f *perfetto) stats(all map[string]uevents.EventStats) {
	name := f.sink.events[slice].Name()
	n := all[name]
	n.Refused += f.dropped.Load()
	all[name] = n
}

// begin begins the slice of a span, if the event is enabled.
func (f *perfetto) begin(context, parent *identity, name string, resource *attrs.Described) {
	if f.sink.enabled(slice) == nil {
		return
	}
	o := &opened{trace: context.traceID, span: context.spanID, name: name, service: trackOf(resource)}
	f.sink.Handle(f.place(o, parent.spanID))
}

// place finds a track for a slice and begins it there.
func (f *perfetto) place(o *opened, parent oteltrace.SpanID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[o.span] != nil { // a generator of ids that repeats them, or a processor that a provider has twice
		f.dropped.Add(1)
		return nil
	}
	if len(f.open) == maxOpen {
		f.forget()
	}
	f.open[o.span] = o
	o.age = f.byAge.PushBack(o)
	f.count.Add(1)
	t := &track{}
	if p := f.open[parent]; p != nil && p.track.innermost == p {
		t = p.track
	}
	return f.push(o, t)
}

// forget forgets the slice that began first, which is the outermost one of its track. Its end is never written.
func (f *perfetto) forget() {
	o := f.byAge.Front().Value.(*opened)
	f.delete(o)
	f.dropped.Add(1)
	if o.inner == nil {
		o.track.innermost = nil
	} else {
		o.inner.outer = nil
	}
}

func (f *perfetto) delete(o *opened) {
	delete(f.open, o.span)
	f.byAge.Remove(o.age)
	f.count.Add(-1)
}

// end ends the slice of a span, if it has one.
func (f *perfetto) end(span oteltrace.SpanID) {
	if f.count.Load() > 0 {
		f.sink.Handle(f.remove(span))
	}
}

func (f *perfetto) remove(span oteltrace.SpanID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.open[span]
	if o == nil {
		return nil
	}
	f.delete(o)
	var err error
	var inner []*opened
	for t := o.track; t.innermost != o; {
		inner = append(inner, t.innermost)
		err = errors.Join(err, f.pop(t))
	}
	err = errors.Join(err, f.pop(o.track))
	if len(inner) > maxMoved {
		for _, in := range inner[maxMoved:] {
			f.delete(in)
		}
		f.dropped.Add(uint64(len(inner) - maxMoved))
		inner = inner[:maxMoved]
	}
	t := &track{}
	for _, in := range slices.Backward(inner) {
		err = errors.Join(err, f.push(in, t))
	}
	return err
}

// push begins a slice inside of all others of a track.
func (f *perfetto) push(o *opened, t *track) error {
	if t.innermost == nil {
		t.id = int64(binary.BigEndian.Uint64(o.span[:]))
	}
	o.track, o.outer, o.inner = t, t.innermost, nil
	if o.outer != nil {
		o.outer.inner = o
	}
	t.innermost = o
	return f.write('B', o)
}

func (f *perfetto) pop(t *track) error {
	o := t.innermost
	t.innermost = o.outer
	if o.outer != nil {
		o.outer.inner = nil
	}
	return f.write('E', o)
}

// write writes the beginning or the end of a slice, if the event is enabled.
func (f *perfetto) write(what uint8, o *opened) error {
	event := f.sink.enabled(slice)
	if event == nil {
		return nil
	}
	var r component.Record
	event.Begin(&r)
	r.U8(trackEventType, what)
	r.U64(scopeTrack, uint64(o.track.id))
	r.ID(traceID, o.trace[:], true)
	r.ID(spanID, o.span[:], true)
	r.Text(sliceName, o.name)
	r.Text(trackName, o.service)
	_, err := r.Write()
	return err
}

// trackOf returns the name of the tracks of a span's service, by which Perfetto groups them.
func trackOf(d *attrs.Described) string {
	if d.Service != "" {
		return d.Service
	}
	return "spans"
}
