package ueventslog_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime/debug"
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

	"github.com/userevents/userevents-go/exporter/internal/truncationotel"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// longText is longer than any record.
var longText = strings.Repeat("äöü", 2400)

// survivors are attributes that survive whatever else is too long.
var survivors = []attribute.KeyValue{
	attribute.Int("http.response.status_code", 503),
	attribute.String("exception.message", "connection refused"),
	attribute.String("request.id", "5f2a9c4e-77d1-4b06-9a3f-0d8c1e6b2a45"),
}

// oversized are log records that do not fit, each with the survivors, beside the cases of [TestTruncation].
var oversized = map[string]func(*log.Record){
	"body that is a list": func(r *log.Record) {
		r.SetBody(attribute.StringSliceValue([]string{longText}))
		r.AddAttributes(survivors...)
	},
	"declared": func(r *log.Record) {
		r.AddAttributes(survivors...)
		r.AddAttributes(attribute.String("http.request.method", "GET"), attribute.String("http.route", longText))
	},
	"severity text": func(r *log.Record) {
		r.SetSeverityText(longText)
		r.AddAttributes(survivors...)
	},
	"key": func(r *log.Record) {
		r.AddAttributes(attribute.Int(longText, 1))
		r.AddAttributes(survivors...)
	},
	"everything": func(r *log.Record) {
		r.SetSeverityText(longText)
		r.SetBody(attribute.StringValue(longText))
		r.AddAttributes(attribute.String("http.route", longText), attribute.String("http.request.method", longText))
		r.AddAttributes(survivors...)
		r.AddAttributes(attribute.String("db.query.text", longText), attribute.StringSlice("list", []string{longText, longText}))
	},
}

// TestOversized: whatever is too long, the record fits, says so, and keeps what is short, in both of its events.
func TestOversized(t *testing.T) {
	for name, fill := range oversized {
		for _, limit := range []int{0, 1000} {
			t.Run(name+"/"+strconv.Itoa(limit), func(t *testing.T) {
				rig, tr := traced(t, ueventslog.WithMaxPayload(limit), ueventslog.WithDeclarations(httpRequest), ueventslog.WithResourceAttributes("host.name"))
				if limit == 0 {
					limit = tracepoint.MaxPayload
				}
				r := event(log.SeverityInfo, "http.request")
				r.SetBody(attribute.StringValue("a body"))
				fill(&r)
				rig.logger().Emit(inSpan(t.Context()), r)
				events := decodeAll(t, tr, limit)
				require.Len(t, events, 2)
				for i, got := range events {
					assert.Equal(t, []string{"app_log_http_request", "app_log_info"}[i], got[""])
					assert.Equal(t, uint64(1), rig.Stats()[got[""]].Truncated)
					assert.NotEqual(t, "0", got["truncated"])
					assertSurvivors(t, got)
					if body := r.Body(); body.Type() == attribute.STRING && body.AsString() == "a body" {
						assert.Equal(t, "a body", got["body"])
					} else {
						assert.True(t, strings.HasSuffix(got["body"], text.CutMark), got["body"])
					}
				}
			})
		}
	}
}

// decodeAll returns the fields of all records of a tool, which have at most limit bytes each.
func decodeAll(t *testing.T, tr *ueventstest.Tool, limit int) (all []map[string]string) {
	t.Helper()
	for _, r := range tr.Records() {
		assert.LessOrEqual(t, len(r.Payload), limit)
		decoded := recordtest.Decode(t, r.Declaration, r.Payload)
		m := map[string]string{"": r.Event}
		for name, v := range decoded.All() {
			m[name] = string(v.AppendTo(nil))
			assert.True(t, utf8.ValidString(m[name]), name)
		}
		object(t, m["attributes"])
		all = append(all, m)
	}
	return all
}

// assertSurvivors compares what a record keeps when it is truncated.
func assertSurvivors(t *testing.T, got map[string]string) {
	t.Helper()
	for field, want := range map[string]string{
		"time_unix_nano":  nanoseconds(when),
		"severity_number": "9",
		"trace_id":        "4bf92f3577b34da6a3ce929d0e0e4736",
		"span_id":         "00f067aa0ba902b7",
		"trace_flags":     "1",
		"scope_name":      "my/package",
		"service_name":    "shop",
		"resource":        `{"host.name":"node1"}`,
	} {
		assert.Equal(t, want, got[field], field)
	}
	attributes := object(t, got["attributes"])
	for _, kv := range survivors {
		if want := kv.Value.String(); got["http_response_status_code"] != want {
			assert.Equal(t, want, fmt.Sprint(attributes[string(kv.Key)]), kv.Key)
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
		got := recordtest.Decode(t, records[0].Declaration, records[0].Payload)
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

// TestLargeResource: of a resource that is too large, as much is left as of other texts.
func TestLargeResource(t *testing.T) {
	rig, tr := traced(t, ueventslog.WithResourceAttributes("large"))
	rig.provider = sdklog.NewLoggerProvider(sdklog.WithProcessor(rig.Processor),
		sdklog.WithResource(resource.NewSchemaless(attribute.String("large", strings.Repeat("x", 5000)))))
	for range 2 {
		rig.logger().Emit(t.Context(), record(log.SeverityInfo, strings.Repeat("m", 5000), attribute.Int("n", 1)))
		got := fields(t, tr)
		assert.Equal(t, "2", got["truncated"])
		assert.True(t, strings.HasSuffix(got["resource"], `..."}`))
		assert.Equal(t, `{"n":1}`, got["attributes"])
		assert.InDelta(t, len(got["body"]), len(got["resource"])-len(`{"large":""}`), 10)
	}
}

// TestLimits: a limit that is too small or negative is an error, and no event is enabled or written beyond it.
func TestLimits(t *testing.T) {
	for limit, message := range map[int]string{100: "too small", -1: "negative"} {
		k := ueventstest.New(t, nil)
		provider := k.Provider()
		p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithMaxPayload(limit))
		require.ErrorIs(t, err, fs.ErrInvalid)
		require.ErrorContains(t, err, message)
		assert.False(t, p.Enabled(t.Context(), sdklog.EnabledParameters{}))
		assert.NoError(t, p.OnEmit(t.Context(), new(sdklog.Record)))
		require.NoError(t, provider.Close())
	}
}

// TestSmallLimits: from the smallest limit on that is accepted, everything fits.
func TestSmallLimits(t *testing.T) {
	accepted := 0
	step := testscale.Count(1, 7)
	for limit := 100; limit < 320; limit += step {
		k := ueventstest.New(t, nil)
		provider := k.Provider()
		p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithMaxPayload(limit),
			ueventslog.WithResourceAttributes("host.name", "shard"), ueventslog.WithDeclarations(httpRequest))
		if err == nil {
			accepted++
			tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
			logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(p), sdklog.WithResource(res)).Logger(longText, log.WithInstrumentationVersion(longText))
			for name, events := range map[string]int{longText: 1, "http.request": 2} {
				r := event(log.SeverityInfo, name, attribute.String("http.request.method", longText), attribute.Int("http.route", 1), attribute.String("more", longText))
				r.SetSeverityText(longText)
				r.SetBody(attribute.StringValue(longText))
				logger.Emit(inSpan(t.Context()), r)
				all := decodeAll(t, tr, limit)
				require.Len(t, all, events)
				for _, got := range all {
					assert.Equal(t, "00f067aa0ba902b7", got["span_id"])
				}
			}
			for name, s := range p.Stats() {
				assert.Zero(t, s.Refused, name)
			}
		}
		require.NoError(t, provider.Close())
	}
	assert.Greater(t, accepted, 90/step)
}

// TestTruncation: a record that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for name, encoding := range map[string]ueventslog.Option{"typed": nil, "common schema": ueventslog.WithCommonSchema4()} {
		for _, limit := range []int{4064, 1024} {
			rig, tr := traced(t, encoding, ueventslog.WithMaxPayload(limit))
			provider := rig.newProvider(sdklog.WithAttributeCountLimit(-1), sdklog.WithAttributeValueLengthLimit(-1))
			for _, c := range truncationtest.Cases() {
				t.Run(fmt.Sprintf("%s/%s/%d", name, c.Name, limit), func(t *testing.T) {
					logger := provider.Logger("my/package", log.WithInstrumentationAttributes(truncationotel.KeyValues(c.Bound)...))
					logger.Emit(inSpan(t.Context()), record(log.SeverityInfo, c.Message, truncationotel.KeyValues(c.Attrs)...))
					records := tr.Records()
					require.Len(t, records, 1)
					got, err := truncationotel.Decode(records[0], "body")
					require.NoError(t, err)
					assert.NoError(t, c.Check(limit, got))
				})
			}
		}
	}
}

const deepBodyEnv = "UEVENTSLOG_TEST_DEEP_BODY"

// TestDeepBody: a body of many lists inside of each other does not make the stack grow with their number while a tool is
// attached: above its limit, the runtime ends the program, which no recover stops. A record has room for a few thousand.
func TestDeepBody(t *testing.T) {
	if names := os.Getenv(deepBodyEnv); names != "" {
		emitDeepBody(t, names)
		return
	}
	path, err := os.Executable()
	require.NoError(t, err)
	for _, names := range []string{"other_*", "app_*"} {
		cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestDeepBody$")
		cmd.Env = append(os.Environ(), deepBodyEnv+"="+names)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "attached to %s: %.200s", names, out)
	}
}

func emitDeepBody(t *testing.T, names string) {
	part := testscale.Count(1, 8)
	debug.SetMaxStack(32 << 20 / part) // the default limit needs more lists than a test should make
	r := &rig{kernel: ueventstest.New(t, nil)}
	own := r.newOwn(t)
	if names == "app_*" {
		r.attach(t, names)
	}
	body := attribute.IntValue(1)
	for range 100_000 / part {
		body = attribute.SliceValue(body)
	}
	m := record(log.SeverityInfo, "")
	m.SetBody(body)
	own.Logger("x").Emit(t.Context(), m)
}
