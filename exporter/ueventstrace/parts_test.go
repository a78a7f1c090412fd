package ueventstrace_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestPartsAtOnce: events and links are written when they are added, and the record of the span counts them.
func TestPartsAtOnce(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_*")
	ctx, s := p.Tracer("x").Start(t.Context(), "s", trace.WithLinks(trace.Link{SpanContext: remote}))
	assert.Equal(t, []string{"app_span_start", "app_span_link"}, names(records(t, tool)))
	steps := []struct {
		event string
		add   func()
	}{
		{"app_span_event", func() { trace.SpanFromContext(ctx).AddEvent("e", trace.WithAttributes(attribute.Int("n", 1))) }},
		{"app_span_event", func() { s.RecordError(assert.AnError) }},
		{"app_span_link", func() { s.AddLink(trace.Link{SpanContext: remote}) }},
	}
	for _, step := range steps {
		step.add()
		list := records(t, tool)
		require.Equal(t, []string{step.event}, names(list))
		assert.Equal(t, eventspan.FromContext(ctx).SpanID().String(), list[0]["span_id"])
	}
	s.AddLink(trace.Link{}) // says nothing
	for i := range 1000 {
		s.AddEvent(strconv.Itoa(i))
	}
	assert.Len(t, records(t, tool), 1000, "above the SDK's limit, which is one of memory")
	s.End()
	s.AddEvent("after the end")
	s.AddLink(trace.Link{SpanContext: remote})
	list := records(t, tool)
	require.Equal(t, []string{"app_span"}, names(list))
	assert.Equal(t, "1002", list[0]["events"])
	assert.Equal(t, "2", list[0]["links"])
	assert.NotContains(t, list[0]["attributes"], "dropped")
}

// TestPartsWhileDisabled: a span counts the events and links that were added while their events were disabled, too.
func TestPartsWhileDisabled(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span")
	_, s := p.Tracer("x").Start(t.Context(), "s", trace.WithLinks(trace.Link{SpanContext: remote}))
	s.AddEvent("e")
	second := p.attach(t, "app_span_event")
	s.AddEvent("e")
	second.Detach()
	s.AddEvent("e")
	s.End()
	list := records(t, tool)
	require.Equal(t, []string{"app_span"}, names(list))
	assert.Equal(t, "3", list[0]["events"])
	assert.Equal(t, "1", list[0]["links"])
}

// TestBegunBefore: of a span that started before a tool attached, the tool gets the events from then on, which belong to no span.
// All that happens in the request is in one trace.
func TestBegunBefore(t *testing.T) {
	for name, c := range map[string]struct {
		in     context.Context
		trace  string // empty: a new one
		parent string // of spans inside
	}{
		"a root":               {in: t.Context()},
		"with a remote parent": {fromRemote(t.Context(), "vendor=1"), remote.TraceID().String(), remote.SpanID().String()},
	} {
		t.Run(name, func(t *testing.T) {
			p := newOwn(t)
			ctx, s := p.Tracer("x").Start(c.in, "request")
			inner, child := p.Tracer("y").Start(ctx, "query")
			for _, s := range []trace.Span{s, child} {
				s.AddEvent("before")
				s.AddLink(trace.Link{SpanContext: remote})
				s.RecordError(assert.AnError)
				assert.False(t, s.IsRecording())
			}
			tool := p.attach(t, "app_*")
			assert.True(t, s.IsRecording(), "instrumentation that asks adds events, too")
			s.AddEvent("e", trace.WithAttributes(attribute.Int("n", 1)))
			trace.SpanFromContext(inner).RecordError(assert.AnError)
			child.AddLink(trace.Link{SpanContext: remote})
			logged := eventspan.FromContext(inner).TraceID().String()
			_, later := trace.SpanFromContext(inner).TracerProvider().Tracer("library").Start(inner, "later")
			later.End()
			child.End()
			s.SetName("renamed")
			s.End()
			list := records(t, tool)
			require.Equal(t, []string{"app_span_event", "app_span_event", "app_span_start", "app_span"}, names(list))
			assert.Equal(t, `{"n":1}`, list[0]["attributes"])
			assert.Equal(t, "x", list[0]["scope_name"])
			assert.Equal(t, "exception", list[1]["name"])
			for _, f := range list {
				assert.Equal(t, logged, f["trace_id"], f[""])
				if c.trace != "" {
					assert.Equal(t, c.trace, f["trace_id"])
				}
			}
			for _, f := range list[:2] {
				assert.Empty(t, f["span_id"], "no record of a span comes for it")
			}
			assert.Equal(t, c.parent, list[3]["parent_span_id"])
			assert.Equal(t, trace.SpanContextFromContext(c.in).WithRemote(false), s.SpanContext(), "what is propagated does not change")
		})
	}
}

// TestTraceOfRoot: goroutines that write the first records of a request agree on its trace.
func TestTraceOfRoot(t *testing.T) {
	p := newOwn(t)
	for range 100 {
		ctx, s := p.Tracer("x").Start(t.Context(), "request")
		tool := p.attach(t, "app_span_event")
		start, done := make(chan struct{}), make(chan struct{})
		for range 2 {
			go func() {
				<-start
				trace.SpanFromContext(ctx).AddEvent("e")
				done <- struct{}{}
			}()
		}
		close(start)
		<-done
		<-done
		list := records(t, tool)
		require.Len(t, list, 2)
		assert.Equal(t, list[0]["trace_id"], list[1]["trace_id"])
		assert.NotEmpty(t, list[0]["trace_id"])
		s.End()
		tool.Detach()
	}
}

// TestIdleInsideOfRecorded: an event of a span that is not recorded belongs to no span, as the recorded one around it does not count it. It
// is in the same trace.
func TestIdleInsideOfRecorded(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_*")
	ctx, outer := p.Tracer("x").Start(t.Context(), "outer")
	records(t, tool)
	tool.Detach()
	_, idle := p.Tracer("x").Start(ctx, "inner")
	tool = p.attach(t, "app_*")
	idle.AddEvent("e")
	outer.End()
	list := records(t, tool)
	require.Equal(t, []string{"app_span_event", "app_span"}, names(list))
	assert.Empty(t, list[0]["span_id"])
	assert.Equal(t, list[1]["trace_id"], list[0]["trace_id"])
	assert.Equal(t, "0", list[1]["events"])
}

// TestSampledInsideOfIdle: with WithPropagation, a recorded span inside of a root that is not begins what is propagated.
func TestSampledInsideOfIdle(t *testing.T) {
	p := newOwn(t, ueventstrace.WithPropagation())
	ctx, _ := p.Tracer("x").Start(t.Context(), "idle")
	p.attach(t, "app_span")
	_, s := p.Tracer("x").Start(ctx, "s")
	assert.True(t, s.SpanContext().IsSampled())
	assert.Equal(t, eventspan.FromContext(ctx).TraceID(), s.SpanContext().TraceID())
}

// TestEventBeforeEnd: a span's end is behind all of the events that it counts, whichever goroutines add them and end it.
func TestEventBeforeEnd(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span", "app_span_event")
	for range testscale.Count(20_000, 200) {
		_, s := p.Tracer("x").Start(t.Context(), "s")
		var wg sync.WaitGroup
		wg.Go(func() { s.AddEvent("e") })
		s.End()
		wg.Wait()
		list := records(t, tool)
		last := list[len(list)-1]
		require.Equal(t, "app_span", last[""])
		require.Equal(t, strconv.Itoa(len(list)-1), last["events"])
	}
}

// unasked is an error whose text must not be asked for.
type unasked struct{ t *testing.T }

func (e unasked) Error() string {
	assert.Fail(e.t, "the text is asked for")
	return ""
}

// TestIdleAsksFirst: a span that is not recorded does nothing while events of spans are disabled, whatever else is enabled.
func TestIdleAsksFirst(t *testing.T) {
	for event, option := range map[string]ueventstrace.Option{"app_span": nil, "app_L4K4": ueventstrace.WithCommonSchema4()} {
		p := newOwn(t, option)
		_, s := p.Tracer("x").Start(t.Context(), "s")
		p.attach(t, event)
		s.RecordError(unasked{t})
		assert.False(t, s.IsRecording())
	}
}

// TestErrorHandlerUsesSpan: a handler of errors that uses the span does not block, whichever call of the span has failed.
func TestErrorHandlerUsesSpan(t *testing.T) {
	calls := map[string]func(trace.Span){
		"AddEvent": func(s trace.Span) { s.AddEvent("e") },
		"AddLink":  func(s trace.Span) { s.AddLink(trace.Link{SpanContext: remote}) },
		"End":      func(s trace.Span) { s.End() },
	}
	before := otel.GetErrorHandler()
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	for name, call := range calls {
		for _, attached := range []bool{true, false} { // before the span starts
			if name != "AddEvent" && !attached {
				continue // writes nothing
			}
			k := ueventstest.New(t, nil)
			borrowed := backend.NewProvider(refusing{backend.OpenSimulated(k)}).(*uevents.Provider)
			p, err := ueventstrace.NewTracerProvider("app", ueventstrace.WithProvider(borrowed))
			require.NoError(t, err)
			attach := func() {
				recordtest.Attach(t, k, ueventstest.Perf, "app_span", "app_span_event", "app_span_link")
			}
			if attached {
				attach()
			}
			_, s := p.Tracer("x").Start(t.Context(), "s")
			if !attached {
				attach()
			}
			handled := 0
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
				handled++
				s.SetName("renamed")
				s.AddEvent("in the handler")
			}))
			call(s)
			assert.Equal(t, 1, handled, name)
			require.NoError(t, borrowed.Close())
		}
	}
}
