package ueventstrace

import (
	"encoding/binary"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// tracks says on which of Perfetto's tracks a span is. Slices of a track have to nest: what
// begins last ends first. Spans of one goroutine do, and goroutines are on no thread for
// long. So a span is on its parent's track if the parent is the innermost one there, and else begins
// a track of its own: spans that overlap are beside each other.
type tracks struct {
	mu   sync.Mutex
	open map[oteltrace.SpanID]*opened
}

// opened is a span whose slice has begun.
type opened struct {
	track *track
	outer *opened // nil for the first one of a track
}

type track struct {
	id        int64
	innermost *opened
}

// maxOpen bounds what spans that never end can take.
const maxOpen = 1 << 16

func newTracks() *tracks { return &tracks{open: map[oteltrace.SpanID]*opened{}} }

// begin returns the track of a span that starts, or false if there are too many.
func (t *tracks) begin(span, parent oteltrace.SpanID) (id int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= maxOpen {
		return 0, false
	}
	o := &opened{}
	if p := t.open[parent]; p != nil && p.track.innermost == p {
		o.track, o.outer = p.track, p
	} else {
		o.track = &track{id: int64(binary.BigEndian.Uint64(span[:]))}
	}
	o.track.innermost = o
	t.open[span] = o
	return o.track.id, true
}

// end returns the track of a span that ends, or false if its slice has not begun.
func (t *tracks) end(span oteltrace.SpanID) (id int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.open[span]
	if o == nil {
		return 0, false
	}
	delete(t.open, span)
	// A span may end before one inside of it, which then has no place on the track any more.
	for in := o.track.innermost; in != nil; in = in.outer {
		if in == o {
			o.track.innermost = o.outer
			break
		}
	}
	return o.track.id, true
}

func (p *Processor) startSlice(sp sdktrace.ReadOnlySpan) {
	if o := p.sink.enabled(slice); o != nil {
		if id, ok := p.tracks.begin(sp.SpanContext().SpanID(), sp.Parent().SpanID()); ok {
			p.sink.handle(p.sink.writeSlice(o, sp, 'B', id))
		}
	}
}

func (p *Processor) endSlice(sp sdktrace.ReadOnlySpan) {
	if id, ok := p.tracks.end(sp.SpanContext().SpanID()); ok {
		if o := p.sink.enabled(slice); o != nil {
			p.sink.handle(p.sink.writeSlice(o, sp, 'E', id))
		}
	}
}

// writeSlice writes the beginning or the end of a slice.
func (s *sink) writeSlice(o *outlet, sp sdktrace.ReadOnlySpan, what uint8, id int64) error {
	return o.write(func(buf []byte) ([]byte, int, error) {
		e := s.begin(buf, o)
		sc := sp.SpanContext()
		traceid, spanid := sc.TraceID(), sc.SpanID()
		e.u8(trackEventType, what)
		e.hex(traceID, traceid[:], true)
		e.hex(spanID, spanid[:], true)
		e.u64(scopeTrack, uint64(id))
		e.short(sliceName, sp.Name())
		e.short(trackName, s.trackName(sp))
		return e.finish()
	})
}

// trackName is what the track is called: tracks of a service are together.
func (s *sink) trackName(sp sdktrace.ReadOnlySpan) string {
	if service := s.describer.Describe(sp.Resource()).Service; service != "" {
		return service
	}
	return "spans"
}
