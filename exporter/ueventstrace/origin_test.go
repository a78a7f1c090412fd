package ueventstrace_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestOriginSurvives: under every limit, the short texts of a span's origin are whole while there is anything left of
// a long attribute. In a typed event, its scope and its service have fields of their own.
func TestOriginSurvives(t *testing.T) {
	list := []attribute.KeyValue{attribute.String("db.query.text", strings.Repeat("q", 7000))}
	scope := []attribute.KeyValue{attribute.Int("scope.number", 1)}
	for i := range 20 {
		list = append(list, attribute.String(fmt.Sprint("long", i), strings.Repeat("l", 100)), attribute.String(fmt.Sprint("short", i), "s"), attribute.Int(fmt.Sprint("n", i), i))
		scope = append(scope, attribute.String(fmt.Sprint("scope.text", i), "s"))
	}
	kept := 0
	for limit := 250; limit < 4000; limit += 50 {
		k := ueventstest.New(t, nil)
		borrowed := k.Provider()
		p, err := ueventstrace.NewProcessor("app", ueventstrace.WithProvider(borrowed), ueventstrace.WithCommonSchema4(), ueventstrace.WithMaxPayload(limit))
		if err != nil {
			require.ErrorIs(t, err, fs.ErrInvalid)
			require.NoError(t, borrowed.Close())
			continue
		}
		tool, err := k.Attach(ueventstest.Ftrace, "app_L4K4")
		require.NoError(t, err)
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(res))
		_, s := provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3"), trace.WithInstrumentationAttributes(scope...)).
			Start(fromRemote(t.Context(), "vendor=1"), "s", trace.WithAttributes(list...))
		for i := range 20 {
			s.AddEvent(fmt.Sprint("event", i), trace.WithAttributes(attribute.String("event.text", "s")))
		}
		s.End()
		raw := tool.Records()
		require.Len(t, raw, 1)
		require.LessOrEqual(t, len(raw[0].Payload), limit)
		ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
		require.NoError(t, err)
		b, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		text := string(b)
		for _, origin := range []string{`"otel.scope.version":"v1.2.3"`, `"user_events.trace_state":"vendor=1"`} {
			if strings.Contains(text, origin) {
				kept++
				continue
			}
			require.NotRegexp(t, `"long\d+"`, text, "limit %d", limit)
		}
		require.NoError(t, provider.Shutdown(t.Context()))
		require.NoError(t, borrowed.Close())
	}
	require.Greater(t, kept, 100)
}
