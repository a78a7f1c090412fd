package sdk

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/uevents"
)

// record returns a random log record.
func (in inputs) record() (r log.Record) {
	if in.IntN(4) > 0 {
		r.SetTimestamp(in.time())
	}
	r.SetObservedTimestamp(in.time())
	r.SetSeverity(log.Severity(in.IntN(25)))
	r.SetSeverityText(in.one("", "WARNING", "größe"))
	r.SetEventName(in.one("", "cache.miss"))
	switch in.IntN(4) {
	case 0:
		r.SetBody(in.value(2))
	case 1:
	default:
		r.SetBody(attribute.StringValue(in.text()))
	}
	r.AddAttributes(in.attributes()...)
	if in.IntN(4) == 0 {
		r.SetErr(errors.New(in.text()))
	}
	return r
}

func logItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceLogs", "scopeLogs", "logRecords")
}

// TestLogs: log records are those that the SDK sends.
func TestLogs(t *testing.T) {
	for seed := range seeds() {
		for _, encoding := range []ueventslog.Option{nil, ueventslog.WithCommonSchema4()} {
			keys := resourceKeys
			if encoding != nil {
				keys = schemaKeys
			}
			in := newInputs(seed)
			record := in.record()
			ctx := context.Background()
			if in.IntN(2) == 0 {
				ctx = trace.ContextWithSpanContext(ctx, in.spanContext())
			}
			var sent capture
			x, err := otlploghttp.New(ctx, otlploghttp.WithHTTPClient(sent.client()))
			require.NoError(t, err)
			c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
				own, err := ueventslog.NewProcessor("myapp", ueventslog.WithProvider(p), encoding,
					ueventslog.WithResourceAttributes(keys...), ueventslog.WithMaxPayload(32<<10))
				require.NoError(t, err)
				provider := sdklog.NewLoggerProvider(sdklog.WithResource(resource), sdklog.WithProcessor(own), sdklog.WithProcessor(sdklog.NewSimpleProcessor(x)))
				t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
				logger := provider.Logger(in.one("my/package", ""), log.WithInstrumentationVersion(in.one("", "1.2")), log.WithSchemaURL(in.one("", "https://example/1")),
					log.WithInstrumentationAttributes(attribute.Bool("s", true)))
				return func() { logger.Emit(ctx, record) }
			})
			want := logItems(t, requests(t, &sent, (&plog.ProtoUnmarshaler{}).UnmarshalLogs, (&plog.JSONMarshaler{}).MarshalLogs))
			text, err := (&plog.JSONMarshaler{}).MarshalLogs(c.TakeLogs())
			require.NoError(t, err)
			ours := logItems(t, [][]byte{text})
			require.Len(t, want, 1)
			body := record.Body()
			if encoding == nil {
				asTextBody(want[0]["item"], body.String())
				asTyped(map[string]any(want[0]))
			} else {
				if !isScalar(body.Type()) {
					asTextBody(want[0]["item"], body.String())
				}
				asSchema(map[string]any(want[0]))
				resourceInRecord(want[0])
				withoutObserved(want[0]["item"], ours[0]["item"])
			}
			compare(t, want, ours)
			if t.Failed() {
				t.Fatalf("seed %d, encoding %v", seed, encoding)
			}
		}
	}
}

func isScalar(t attribute.Type) bool {
	return t == attribute.EMPTY || t == attribute.BOOL || t == attribute.INT64 || t == attribute.FLOAT64 || t == attribute.STRING
}

// withoutObserved applies that the Common Schema has one time: that of the record, or else the observed one. The observed
// time is then that of the kernel.
func withoutObserved(sdk, ours any) {
	want, got := sdk.(map[string]any), ours.(map[string]any)
	if want["timeUnixNano"] == nil {
		want["timeUnixNano"] = want["observedTimeUnixNano"]
	}
	want["observedTimeUnixNano"] = got["observedTimeUnixNano"]
}
