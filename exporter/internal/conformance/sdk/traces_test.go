package sdk

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
)

// span returns a random span, and the trace states of its links.
func (in inputs) span() (s tracetest.SpanStub, states []string) {
	s = tracetest.SpanStub{
		Name: in.one("GET /", "größe 😀", "a\nb"), SpanContext: in.spanContext(), SpanKind: trace.SpanKind(1 + in.IntN(5)), StartTime: in.time(), Attributes: in.attributes(),
		DroppedAttributes: in.IntN(2), DroppedEvents: in.IntN(2), DroppedLinks: in.IntN(2), Resource: resource,
		InstrumentationScope: instrumentation.Scope{
			Name: in.one("my/package", "other"), Version: in.one("", "1.2"), SchemaURL: in.one("", "https://example/1"), Attributes: attribute.NewSet(attribute.Bool("s", in.IntN(2) == 0)),
		},
	}
	s.EndTime = s.StartTime.Add(in.time().Sub(started))
	if in.IntN(2) == 0 {
		s.Parent = in.spanContext()
	}
	switch in.IntN(3) {
	case 0:
		s.Status = sdktrace.Status{Code: codes.Error, Description: in.text()}
	case 1:
		s.Status.Code = codes.Ok
	}
	for i := range in.IntN(4) {
		s.Events = append(s.Events, sdktrace.Event{Name: "event" + strconv.Itoa(i), Time: in.time(), Attributes: in.attributes(), DroppedAttributeCount: in.IntN(2)})
	}
	for range in.IntN(3) {
		l := sdktrace.Link{SpanContext: in.spanContext(), Attributes: in.attributes(), DroppedAttributeCount: in.IntN(2)}
		s.Links = append(s.Links, l)
		states = append(states, l.SpanContext.TraceState().String())
	}
	return s, states
}

func spanItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceSpans", "scopeSpans", "spans")
}

// TestSpans: spans are those that the SDK sends.
func TestSpans(t *testing.T) {
	ctx := context.Background()
	for seed := range seeds() {
		in := newInputs(seed)
		stub, states := in.span()
		spans := tracetest.SpanStubs{stub}.Snapshots()
		var sent capture
		x, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(sent.client()))
		require.NoError(t, err)
		require.NoError(t, x.ExportSpans(ctx, spans))
		require.NoError(t, x.Shutdown(ctx))
		sdk := spanItems(t, requests(t, &sent, (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces, (&ptrace.JSONMarshaler{}).MarshalTraces))
		require.Len(t, sdk, 1)
		withLinks(sdk[0]["item"], states)

		for _, encoding := range []ueventstrace.Option{nil, ueventstrace.WithCommonSchema4()} {
			keys := resourceKeys
			if encoding != nil {
				keys = schemaKeys
			}
			c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
				x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(p), encoding,
					ueventstrace.WithResourceAttributes(keys...), ueventstrace.WithMaxPayload(32<<10))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, x.Shutdown(ctx)) })
				return func() { require.NoError(t, x.ExportSpans(ctx, spans)) }
			})
			text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(c.TakeTraces())
			require.NoError(t, err)
			ours, want := spanItems(t, [][]byte{text}), clone(sdk)
			if encoding == nil {
				asTyped(map[string]any(want[0]))
			} else {
				asSchema(map[string]any(want[0]))
				resourceInRecord(want[0])
			}
			compare(t, want, ours)
			if t.Failed() {
				t.Fatalf("seed %d, encoding %v", seed, encoding)
			}
		}
	}
}
