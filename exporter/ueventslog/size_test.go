package ueventslog_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestOversized: whatever is too long, the record fits, says so, and is complete but for that.
func TestOversized(t *testing.T) {
	long := strings.Repeat("äöü", 5000)
	many := make([]attribute.KeyValue, 120)
	for i := range many {
		many[i] = attribute.String(fmt.Sprintf("attribute.number.%d.%s", i, strings.Repeat("k", 40)), strings.Repeat("v", 40))
	}
	for name, fill := range map[string]func(*log.Record){
		"body":          func(r *log.Record) { r.SetBody(attribute.StringValue(long)) },
		"list":          func(r *log.Record) { r.SetBody(attribute.StringSliceValue([]string{long})) },
		"attribute":     func(r *log.Record) { r.AddAttributes(attribute.String("a", long), attribute.Int("b", 1)) },
		"attributes":    func(r *log.Record) { r.AddAttributes(many...) },
		"key":           func(r *log.Record) { r.AddAttributes(attribute.Int(long, 1), attribute.Int("b", 1)) },
		"severity text": func(r *log.Record) { r.SetSeverityText(long) },
		"event name":    func(r *log.Record) { r.SetEventName(long) },
		"declared": func(r *log.Record) {
			r.SetEventName("http.request")
			r.AddAttributes(attribute.String("http.route", long), attribute.String("http.request.method", "GET"))
		},
		"everything": func(r *log.Record) {
			r.SetEventName(long)
			r.SetSeverityText(long)
			r.SetBody(attribute.StringValue(long))
			r.AddAttributes(many...)
		},
	} {
		for _, limit := range []int{0, 400} {
			t.Run(name+"/"+strconv.Itoa(limit), func(t *testing.T) {
				rig, tr := traced(t, ueventslog.WithMaxPayload(limit), ueventslog.WithRecords(httpRequest))
				r := record(log.SeverityInfo, "a body")
				fill(&r)
				rig.logger().Emit(inSpan(t.Context()), r)
				records := tr.Records()
				require.Len(t, records, 1)
				if limit == 0 {
					limit = uevents.MaxPayload
				}
				assert.LessOrEqual(t, len(records[0].Payload), limit)
				assert.Equal(t, uint64(1), rig.Stats()[records[0].Event].Cut)

				decoder, err := typed.NewDecoder(records[0].Declaration, nil)
				require.NoError(t, err)
				got, err := decoder.Decode(records[0].Payload)
				require.NoError(t, err)
				for field, v := range got.All() {
					assert.True(t, utf8.ValidString(string(v.AppendTo(nil))), field)
				}
				assert.NotEqual(t, "0", field(t, got, "truncated"))
				object(t, field(t, got, "attributes"))
				assert.Equal(t, "00f067aa0ba902b7", field(t, got, "span_id"))
				assert.Equal(t, "my/package", field(t, got, "scope_name"))
				if name != "body" && name != "everything" && name != "list" {
					assert.Equal(t, "a body", field(t, got, "body"), "the one that is short is whole")
				} else {
					assert.True(t, strings.HasSuffix(field(t, got, "body"), text.CutMark))
				}
			})
		}
	}
}

// TestEverySize: around each limit, nothing is lost that fits.
func TestEverySize(t *testing.T) {
	rig, tr := traced(t, ueventslog.WithMaxPayload(600))
	cut := false
	for n := range 700 {
		body := strings.Repeat("b", n)
		rig.logger().Emit(t.Context(), record(log.SeverityInfo, body, attribute.Int("a", 1)))
		records := tr.Records()
		require.Len(t, records, 1)
		size := len(records[0].Payload)
		decoder, err := typed.NewDecoder(records[0].Declaration, nil)
		require.NoError(t, err)
		got, err := decoder.Decode(records[0].Payload)
		require.NoError(t, err)
		whole := field(t, got, "body") == body
		assert.Equal(t, whole, field(t, got, "truncated") == "0", n)
		if cut = cut || !whole; cut {
			require.False(t, whole, n)
			assert.Equal(t, 600, size)
		}
		assert.Equal(t, `{"a":1}`, field(t, got, "attributes"))
	}
	assert.True(t, cut)
}

// TestLargeResource: a resource is cut once, and every record says so.
func TestLargeResource(t *testing.T) {
	rig, tr := traced(t, ueventslog.WithResourceAttributes("large"))
	rig.provider = sdklog.NewLoggerProvider(sdklog.WithProcessor(rig.Processor),
		sdklog.WithResource(resource.NewSchemaless(attribute.String("large", strings.Repeat("x", 5000)))))
	for range 2 {
		rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
		got := fields(t, tr)
		assert.Equal(t, "1", got["truncated"])
		assert.True(t, strings.HasSuffix(got["resource"], `..."}`))
		assert.LessOrEqual(t, len(got["resource"]), uevents.MaxPayload/8)
	}
}

// TestLimits: the smallest limit counts, and one that is too small is refused.
func TestLimits(t *testing.T) {
	k := ueventstest.New(t, nil)
	provider := k.Provider()
	defer provider.Close()
	p, err := ueventslog.New("app", ueventslog.WithProvider(provider), ueventslog.WithMaxPayload(100))
	require.ErrorContains(t, err, "too small")
	require.NotNil(t, p)
	_, err = k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
	assert.False(t, p.Enabled(t.Context(), sdklog.EnabledParameters{}))
	assert.NoError(t, p.OnEmit(t.Context(), new(sdklog.Record)))
}

// TestSmallLimits: from the smallest limit on that is accepted, everything fits.
func TestSmallLimits(t *testing.T) {
	long := strings.Repeat("x", 5000)
	accepted := 0
	for limit := 100; limit < 320; limit++ {
		k := ueventstest.New(t, nil)
		provider := k.Provider()
		p, err := ueventslog.New("app", ueventslog.WithProvider(provider), ueventslog.WithMaxPayload(limit),
			ueventslog.WithResourceAttributes("host.name", "shard"), ueventslog.WithRecords(httpRequest))
		if err == nil {
			accepted++
			tr, err := k.Attach(ueventstest.Ftrace, "app_*")
			require.NoError(t, err)
			logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(p), sdklog.WithResource(res)).Logger(long, log.WithInstrumentationVersion(long))
			for _, name := range []string{long, "http.request"} {
				r := event(log.SeverityInfo, name, attribute.String("http.request.method", long), attribute.Int("http.route", 1), attribute.String("more", long))
				r.SetSeverityText(long)
				r.SetBody(attribute.StringValue(long))
				logger.Emit(t.Context(), r)
				records := tr.Records()
				require.Len(t, records, 1, limit)
				assert.LessOrEqual(t, len(records[0].Payload), limit)
				decoder, err := typed.NewDecoder(records[0].Declaration, nil)
				require.NoError(t, err)
				got, err := decoder.Decode(records[0].Payload)
				require.NoError(t, err, limit)
				object(t, field(t, got, "attributes"))
			}
			for name, s := range p.Stats() {
				assert.Zero(t, s.Failed, name)
			}
		}
		require.NoError(t, provider.Close())
	}
	assert.Greater(t, accepted, 100)
}
