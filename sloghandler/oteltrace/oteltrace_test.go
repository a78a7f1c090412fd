package oteltrace_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var span = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 15: 0x36}, SpanID: trace.SpanID{0xf0, 7: 0xb7}, TraceFlags: trace.FlagsSampled,
})

type key struct{}

func TestContext(t *testing.T) {
	traceID, spanID := oteltrace.Context(t.Context())
	assert.Zero(t, traceID)
	assert.Zero(t, spanID)
	for name, ctx := range map[string]context.Context{
		"a span":           trace.ContextWithSpanContext(t.Context(), span),
		"a remote parent":  trace.ContextWithRemoteSpanContext(t.Context(), span),
		"one not sampled":  trace.ContextWithSpanContext(t.Context(), span.WithTraceFlags(0)),
		"an inner context": context.WithValue(trace.ContextWithSpanContext(t.Context(), span), key{}, 1),
	} {
		traceID, spanID = oteltrace.Context(ctx)
		assert.Equal(t, span.TraceID(), trace.TraceID(traceID), name)
		assert.Equal(t, span.SpanID(), trace.SpanID(spanID), name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { oteltrace.Context(ctx) }), name)
	}
}

func ExampleContext() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, TraceContext: oteltrace.Context})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tracer, err := kernel.Attach(ueventstest.Ftrace, "myapp_info")
	if err != nil {
		log.Fatal(err)
	}

	ctx := trace.ContextWithSpanContext(context.Background(), span) // as otel.Tracer(...).Start returns it
	slog.New(events).InfoContext(ctx, "request served")

	for _, r := range tracer.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range []string{"message", "trace_id", "span_id"} {
			v, _ := record.Lookup(name)
			fmt.Println(name, v)
		}
	}
	// Output:
	// message request served
	// trace_id 4bf92f35000000000000000000000036
	// span_id f0000000000000b7
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
