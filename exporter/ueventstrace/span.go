package ueventstrace

import (
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/typed"
)

// writeStart writes that a span has started.
func (s *sink) writeStart(o *outlet, sp sdktrace.ReadOnlySpan) error {
	return o.write(func(buf []byte) ([]byte, int, error) {
		e := s.begin(buf, o)
		e.u64(startTime, typed.UnixNano(sp.StartTime()))
		s.identity(&e, sp, "")
		return e.finish()
	})
}

// writeEnd writes a span that has ended.
func (s *sink) writeEnd(o *outlet, sp sdktrace.ReadOnlySpan) error {
	if s.encoding == CommonSchema4 {
		return o.write(func(buf []byte) ([]byte, int, error) { return s.appendCommonSchema(buf, sp) })
	}
	return o.write(func(buf []byte) ([]byte, int, error) {
		e := s.begin(buf, o)
		e.u64(startTime, typed.UnixNano(sp.StartTime()))
		e.u64(duration, uint64(sp.EndTime().Sub(sp.StartTime())))
		status := sp.Status()
		e.u8(statusCode, statusNumber(status.Code))
		e.u32(droppedAttributes, sp.DroppedAttributes())
		s.identity(&e, sp, status.Description)
		return e.finish()
	})
}

// identity writes what the events of a span's start and end have in common, and a status if the event has one. The
// ids come first, so that no other text takes their room.
func (s *sink) identity(e *typedEncoder, sp sdktrace.ReadOnlySpan, status string) {
	// Each method of a context copies it.
	sc, parent := sp.SpanContext(), sp.Parent()
	traceid, spanid, parentid := sc.TraceID(), sc.SpanID(), parent.SpanID()
	e.hex(traceID, traceid[:], traceid.IsValid())
	e.hex(spanID, spanid[:], spanid.IsValid())
	e.hex(parentSpanID, parentid[:], parentid.IsValid())
	e.u8(parentRemote, typed.Bool(parent.IsRemote()))
	e.u8(traceFlags, uint8(sc.TraceFlags()))
	e.u8(kind, uint8(max(sp.SpanKind(), 0)))
	scope := sp.InstrumentationScope()
	e.short(statusMessage, status)
	e.short(name, sp.Name())
	e.where(s.describer.Describe(sp.Resource()), &scope)
	e.attributes(sp.Attributes(), sc.TraceState().String(), &scope, sp.DroppedEvents(), sp.DroppedLinks())
}

// statusNumber returns the number that the protocol gives to a status, which is not that of
// the Go package.
func statusNumber(c codes.Code) uint8 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	default:
		return 0
	}
}

// writeEvents writes the events of a span.
func (s *sink) writeEvents(o *outlet, sp sdktrace.ReadOnlySpan) (first error) {
	sc := sp.SpanContext()
	traceid, spanid := sc.TraceID(), sc.SpanID()
	scope := sp.InstrumentationScope()
	for _, ev := range sp.Events() {
		err := o.write(func(buf []byte) ([]byte, int, error) {
			e := s.begin(buf, o)
			e.u64(recordTime, typed.UnixNano(ev.Time))
			e.hex(traceID, traceid[:], true)
			e.hex(spanID, spanid[:], true)
			e.u32(droppedAttributes, ev.DroppedAttributeCount)
			e.short(name, ev.Name)
			e.where(s.describer.Describe(sp.Resource()), &scope)
			e.attributes(ev.Attributes, "", &scope, 0, 0)
			return e.finish()
		})
		if first == nil {
			first = err
		}
	}
	return first
}

// writeLinks writes the links of a span.
func (s *sink) writeLinks(o *outlet, sp sdktrace.ReadOnlySpan) (first error) {
	sc := sp.SpanContext()
	traceid, spanid := sc.TraceID(), sc.SpanID()
	scope := sp.InstrumentationScope()
	for _, link := range sp.Links() {
		err := o.write(func(buf []byte) ([]byte, int, error) {
			to := link.SpanContext
			totrace, tospan := to.TraceID(), to.SpanID()
			e := s.begin(buf, o)
			e.hex(traceID, traceid[:], true)
			e.hex(spanID, spanid[:], true)
			e.hex(linkedTraceID, totrace[:], totrace.IsValid())
			e.hex(linkedSpanID, tospan[:], tospan.IsValid())
			e.u8(traceFlags, uint8(to.TraceFlags()))
			e.u32(droppedAttributes, link.DroppedAttributeCount)
			e.where(s.describer.Describe(sp.Resource()), &scope)
			e.attributes(link.Attributes, to.TraceState().String(), &scope, 0, 0)
			return e.finish()
		})
		if first == nil {
			first = err
		}
	}
	return first
}

// writeEnded writes whatever is traced of a span that has ended. The span itself comes last:
// who sees it has seen its parts.
func (s *sink) writeEnded(sp sdktrace.ReadOnlySpan) (first error) {
	for _, part := range [...]struct {
		kind  event
		write func(*outlet, sdktrace.ReadOnlySpan) error
	}{
		{spanLink, s.writeLinks}, {spanEvent, s.writeEvents}, {spanEnd, s.writeEnd},
	} {
		if o := s.enabled(part.kind); o != nil {
			if err := part.write(o, sp); first == nil {
				first = err
			}
		}
	}
	return first
}
