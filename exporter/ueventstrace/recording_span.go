package ueventstrace

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/internal/adapter/spankey"
	"github.com/userevents/userevents-go/internal/attrjson"
)

// spanContext is the context of a span that is recorded. The span does not refer to it: a span that a program keeps does not
// keep the values of its context.
type spanContext struct {
	context.Context // the caller's
	span            eventspan.Span
}

// spanKey is the key of the span in a context, which package trace does not export.
var spanKey = func() any {
	var asked askedKey
	trace.SpanFromContext(&asked)
	return asked.key
}()

// askedKey is a context that keeps the key that it is asked for.
type askedKey struct {
	context.Context
	key any
}

func (c *askedKey) Value(key any) any {
	c.key = key
	return nil
}

// isSpanKey reports whether a context is asked for its span, by package trace or by [spankey].
func isSpanKey(key any) bool { return key == spanKey || key == any(spankey.Key{}) }

// Value returns the span for the keys of package trace and [spankey], and the caller's values for all others.
func (c *spanContext) Value(key any) any {
	if isSpanKey(key) {
		return c.span
	}
	return c.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the span, which changes.
func (c *spanContext) String() string { return contextText(c.Context) }

// contextText does not ask the span for its text: that of an idleSpan is that of its context.
func contextText(ctx context.Context) string {
	return fmt.Sprint(trace.ContextWithSpan(ctx, span{}))
}

// span stands for a span of this package, recorded or not, in the text of a context.
type span struct{ trace.Span }

// identity is a [trace.SpanContext] without its state that is small: each method of that copies all of it.
type identity struct {
	traceID trace.TraceID
	spanID  trace.SpanID
	flags   trace.TraceFlags
	remote  bool
}

func identityOf(c trace.SpanContext) identity {
	return identity{c.TraceID(), c.SpanID(), c.TraceFlags(), c.IsRemote()}
}

// withState returns the identity in the form of package trace.
func (i *identity) withState(state trace.TraceState) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: i.traceID, SpanID: i.spanID, TraceFlags: i.flags, TraceState: state, Remote: i.remote,
	})
}

// setNewIDs sets the ids that are not set to random ones.
func (i *identity) setNewIDs() {
	if !i.traceID.IsValid() {
		i.traceID = newTraceID()
	}
	if !i.spanID.IsValid() {
		binary.NativeEndian.PutUint64(i.spanID[:], newID())
	}
}

func newTraceID() (id trace.TraceID) {
	binary.NativeEndian.PutUint64(id[:8], newID())
	binary.NativeEndian.PutUint64(id[8:], newID())
	return id
}

// newID returns a random number other than 0.
func newID() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}

// idleSpan is a span that started while the events were disabled, and its context: one object, as that is all that such a span
// allocates. Spans inside of it that start while the events are disabled are the same one.
//
// It propagates what its caller propagates. Once a tool attaches, it writes the events that are added to it:
// the tool sees what a request does that began before.
type idleSpan struct {
	context.Context // the caller's
	trace.Span      // the same, nil for a root; never called but for SpanContext

	tracer *tracer
	ids    atomic.Pointer[identity] // nil until they are needed
}

var _ eventspan.Span = (*idleSpan)(nil)

// Value returns the span for the keys of package trace and [spankey], and the caller's values for all others.
func (s *idleSpan) Value(key any) any {
	if isSpanKey(key) {
		return s
	}
	return s.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the fields, which change.
func (s *idleSpan) String() string { return contextText(s.Context) }

func (s *idleSpan) SpanContext() trace.SpanContext { return local(s.Span) }

func (s *idleSpan) EventSpanContext() trace.SpanContext {
	ids := s.identity()
	return ids.withState(s.SpanContext().TraceState())
}

func (*idleSpan) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

// identity returns the ids of the span that spans inside are children of: the recorded one around it, or its caller.
// A root gets a trace id when the first record needs it, so that all records of a request have the same.
func (s *idleSpan) identity() identity {
	if ids := s.ids.Load(); ids != nil {
		return *ids
	}
	var ids identity
	if s.Span != nil {
		ids = identityAround(s.Context, s.Span)
	}
	if !ids.traceID.IsValid() {
		ids.traceID = newTraceID()
	}
	s.ids.CompareAndSwap(nil, &ids)
	return *s.ids.Load()
}

// IsRecording reports whether the span takes events: the event for these is enabled.
func (s *idleSpan) IsRecording() bool { return s.tracer.sink.enabled(spanEvent) != nil }

func (s *idleSpan) AddEvent(name string, options ...trace.EventOption) {
	if s.IsRecording() {
		s.add(name, eventConfig(options))
	}
}

func (s *idleSpan) RecordError(err error, options ...trace.EventOption) {
	if err != nil && s.IsRecording() {
		s.add(errorEvent(err, options))
	}
}

// add writes an event. It belongs to no span: no record of one will come that counts it.
func (s *idleSpan) add(name string, c trace.EventConfig) {
	ids := s.identity()
	ids.spanID = trace.SpanID{}
	s.tracer.sink.Handle(s.tracer.writeEvent(&ids, name, &c))
}

func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }
func (*idleSpan) End(...trace.SpanEndOption)             {}
func (*idleSpan) SetName(string)                         {}
func (*idleSpan) SetStatus(codes.Code, string)           {}
func (*idleSpan) SetAttributes(...attribute.KeyValue)    {}
func (*idleSpan) AddLink(trace.Link)                     {}

// recordingSpan is a span that is written as events. Its methods do what those of the SDK's spans do, except for what
// the package comment lists.
type recordingSpan struct {
	trace.Span // the nearest one around it that is not of this type, or nil; never called but for SpanContext

	tracer *tracer

	mu    sync.Mutex // of the rest, until the span has ended; context and parent never change
	data  spanData
	ended bool
}

var (
	_ trace.Span     = (*recordingSpan)(nil)
	_ eventspan.Span = (*recordingSpan)(nil)
)

func (s *recordingSpan) SpanContext() trace.SpanContext {
	if s.tracer.provider.propagates {
		return s.EventSpanContext()
	}
	return local(s.Span)
}

func (s *recordingSpan) EventSpanContext() trace.SpanContext {
	return s.data.context.withState(s.data.state)
}

func (*recordingSpan) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

func (s *recordingSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

func (s *recordingSpan) IsRecording() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended
}

// End ends the span and writes it. Of the options, only WithTimestamp has an effect.
func (s *recordingSpan) End(options ...trace.SpanEndOption) {
	duration := time.Since(s.data.start) // a difference of the monotonic clock
	var end time.Time
	if len(options) > 0 {
		c := trace.NewSpanEndConfig(component.WithoutNil(options)...)
		if end = c.Timestamp(); !end.IsZero() {
			duration = end.Sub(s.data.start)
		}
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true // from here on, no method changes the data
	s.data.end, s.data.duration = end, duration
	s.mu.Unlock()
	s.tracer.sink.end(&s.data)
}

func (s *recordingSpan) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.data.name = name
	}
}

// SetStatus sets the status, unless the present one is final: Ok is above Error, which is above Unset.
func (s *recordingSpan) SetStatus(code codes.Code, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.data.status.Code > code {
		return
	}
	if code != codes.Error {
		description = ""
	}
	s.data.status = sdktrace.Status{Code: code, Description: description}
}

// SetAttributes adds attributes. The last value of a key wins.
func (s *recordingSpan) SetAttributes(list ...attribute.KeyValue) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.data.attributes.AddAll(list, &s.tracer.provider.attributes)
	}
}

func (s *recordingSpan) AddEvent(name string, options ...trace.EventOption) {
	s.addEvent(name, eventConfig(options))
}

// RecordError adds an event that describes an error. It does not change the status.
func (s *recordingSpan) RecordError(err error, options ...trace.EventOption) {
	if err != nil && s.IsRecording() {
		s.addEvent(errorEvent(err, options))
	}
}

// Events and links of a span are written when they are added, by the goroutine that adds them: a tool sees what a request
// does that hangs, and a program that is killed loses none. In the Common Schema they are in the record of the span, which
// holds them until it ends.

// addEvent adds an event to a span, and writes it.
func (s *recordingSpan) addEvent(name string, c trace.EventConfig) {
	t, d := s.tracer, &s.data
	s.mu.Lock()
	var err error
	switch {
	case s.ended:
	case t.sink.CommonSchema4:
		d.events = queue(d.events, t.newEvent(name, &c), t.provider.limits.EventCountLimit, &d.droppedEvents)
	default: // before End, which has the lock, so that a tool that sees the span has seen its events
		d.eventCount++
		err = t.writeEvent(&d.context, name, &c)
	}
	s.mu.Unlock()
	t.sink.Handle(err)
}

// AddLink adds a link, unless it says nothing, and writes it.
func (s *recordingSpan) AddLink(link trace.Link) {
	if saysNothing(&link) {
		return
	}
	t, d := s.tracer, &s.data
	s.mu.Lock()
	var err error
	switch {
	case s.ended:
	case t.sink.CommonSchema4:
		d.links = queue(d.links, t.newLink(&link), t.provider.limits.LinkCountLimit, &d.droppedLinks)
	default:
		d.linkCount++
		err = t.writeLink(&d.context, &link)
	}
	s.mu.Unlock()
	t.sink.Handle(err)
}

func saysNothing(link *trace.Link) bool {
	return !link.SpanContext.IsValid() && len(link.Attributes) == 0 && link.SpanContext.TraceState().Len() == 0
}

// writeEvent writes an event of the span that has these ids, if the event for these is enabled.
func (t *tracer) writeEvent(span *identity, name string, c *trace.EventConfig) error {
	on := t.sink.enabled(spanEvent)
	if on == nil {
		return nil
	}
	event := t.newEvent(name, c)
	return t.sink.writeEvent(on, span, t.origin, &event)
}

// writeLink writes a link of the span that has these ids, if the event for these is enabled.
func (t *tracer) writeLink(span *identity, link *trace.Link) error {
	on := t.sink.enabled(spanLink)
	if on == nil {
		return nil
	}
	l := t.newLink(link)
	return t.sink.writeLink(on, span, t.origin, &l)
}

// newEvent returns an event within the limits.
func (t *tracer) newEvent(name string, c *trace.EventConfig) sdktrace.Event {
	p := t.provider
	list, dropped := limited(c.Attributes(), p.limits.AttributePerEventCountLimit, p.attributes.Depth)
	return sdktrace.Event{Name: name, Attributes: list, DroppedAttributeCount: dropped, Time: c.Timestamp()}
}

func (t *tracer) newLink(link *trace.Link) sdktrace.Link {
	p := t.provider
	list, dropped := limited(link.Attributes, p.limits.AttributePerLinkCountLimit, p.attributes.Depth)
	if t.sink.CommonSchema4 {
		list = slices.Clone(list) // the caller's
	}
	return sdktrace.Link{SpanContext: link.SpanContext, Attributes: list, DroppedAttributeCount: dropped}
}

// limited returns the first limit attributes of an event or a link, with values of a limited depth, and how many others there
// are. As in the SDK, a key may be there twice and values are of any length, other than in spans.
func limited(list []attribute.KeyValue, limit, depth int) (kept []attribute.KeyValue, dropped int) {
	if limit >= 0 && len(list) > limit {
		list, dropped = list[:limit], len(list)-limit
	}
	return attrs.LimitedDepth(list, depth), dropped
}

// queue appends to a list of at most limit elements, or of any number if limit is negative. The oldest makes room; dropped counts.
func queue[E any](list []E, e E, limit int, dropped *int) []E {
	if limit == 0 {
		*dropped++
		return list
	}
	if len(list) == limit {
		*dropped++
		copy(list, list[1:])
		list[limit-1] = e
		return list
	}
	return append(list, e)
}

func eventConfig(options []trace.EventOption) trace.EventConfig {
	return trace.NewEventConfig(component.WithoutNil(options)...)
}

// errorEvent returns the name and the configuration of the event that describes an error.
func errorEvent(err error, options []trace.EventOption) (string, trace.EventConfig) {
	options = append(slices.Clip(component.WithoutNil(options)), trace.WithAttributes(
		semconv.ExceptionType(attrs.TypeName(err)),
		semconv.ExceptionMessage(attrjson.ErrorText(err)), // a method Error that panics must not do so only while a tool is attached
	))
	c := trace.NewEventConfig(options...)
	if c.StackTrace() {
		options = append(options, trace.WithAttributes(semconv.ExceptionStacktrace(stack())))
		c = trace.NewEventConfig(options...)
	}
	return semconv.ExceptionEventName, c
}

const maxStack = 2048

// stack returns the stack of the goroutine.
func stack() string {
	buf := make([]byte, maxStack)
	return string(buf[:runtime.Stack(buf, false)])
}
