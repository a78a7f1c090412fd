package decode

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestSource: events of all adapters differ from each other, and from those of other programs.
func TestSource(t *testing.T) {
	r := newRig(t)
	_, err := sloghandler.New("slog", &sloghandler.Options{
		Provider:     r.provider,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[struct{ Route string }]("request", nil)},
	})
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("otel", ueventslog.WithProvider(r.provider),
		ueventslog.WithDeclarations(ueventslog.Declare[struct{ Route string }]("request", nil)))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("otel", ueventstrace.WithProvider(r.provider))
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("otel", ueventsmetric.WithProvider(r.provider))
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("header", ueventslog.WithProvider(r.provider), ueventslog.WithCommonSchema4())
	require.NoError(t, err)
	_, err = r.provider.Register(tracepoint.MustParse("foreign u32 number"), nil)
	require.NoError(t, err)

	got := map[string]string{}
	for _, e := range r.kernel.Events() {
		text, err := r.kernel.Format(e.Name)
		require.NoError(t, err)
		f, err := tracepoint.ParseFormat(text)
		require.NoError(t, err)
		d, err := reader.NewDecoder(tracepoint.System, f)
		require.NoError(t, err)
		got[e.Name] = d.Source()
	}
	for name, want := range map[string]string{
		"slog_info":                        "slog",
		"slog_request":                     "slog, declared",
		"otel_log_info":                    "OpenTelemetry log",
		"otel_log_request":                 "OpenTelemetry log, declared",
		"otel_span":                        "OpenTelemetry span",
		"otel_span_start":                  "OpenTelemetry span start",
		"otel_span_event":                  "OpenTelemetry span event",
		"otel_span_link":                   "OpenTelemetry span link",
		"otel_metric_sum":                  "OpenTelemetry metric",
		"otel_metric_cumulative_histogram": "OpenTelemetry metric",
		"header_L4K1":                      "EventHeader",
		"foreign":                          "",
	} {
		assert.Equal(t, want, got[name], name)
	}
	assert.Len(t, got, 4+1+4+1+4+10+5+1, "an event that is not expected: %v", got)
}
