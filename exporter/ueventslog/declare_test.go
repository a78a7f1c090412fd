package ueventslog_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// HTTPRequest are the declared attributes of the record that tests emit.
type HTTPRequest struct {
	Method  string        `uevent:"http.request.method"`
	Route   string        `uevent:"http.route"`
	Status  uint16        `uevent:"http.response.status_code"`
	Latency time.Duration `uevent:"latency_ns"`
}

var httpRequest = ueventslog.Declare[HTTPRequest]("http.request", nil)

// number declares one attribute, which most records of tests do not have.
type number struct {
	N int64 `uevent:"number"`
}

// tracedRecord returns a rig with the declared record e, and a tool that is attached to the event of the record.
func tracedRecord(t *testing.T, d ueventslog.AnyDeclaration) (*rig, *ueventstest.Tool) {
	rig := newRig(t, ueventslog.WithDeclarations(d))
	return rig, rig.attach(t, "app_log_e")
}

// TestErrorAndFatalShareAnEvent: a record that is declared for one of them belongs to both, and to no other.
func TestErrorAndFatalShareAnEvent(t *testing.T) {
	for _, declared := range []log.Severity{log.SeverityError2, log.SeverityFatal} {
		rig, tool := tracedRecord(t, ueventslog.Declare[number]("e", &ueventslog.DeclarationOptions{Severities: []log.Severity{declared}}))
		for _, s := range []log.Severity{log.SeverityError, log.SeverityFatal4} {
			assert.True(t, rig.Enabled(t.Context(), sdklog.EnabledParameters{Severity: s}), "%s, declared for %s", s, declared)
			rig.logger().Emit(t.Context(), event(s, "e"))
			assert.Len(t, tool.Records(), 1, "%s, declared for %s", s, declared)
		}
		assert.False(t, rig.Enabled(t.Context(), sdklog.EnabledParameters{Severity: log.SeverityWarn4}))
		rig.logger().Emit(t.Context(), event(log.SeverityWarn4, "e"))
		assert.Empty(t, tool.Records())
	}
}

func TestDeclared(t *testing.T) {
	rig := newRig(t, ueventslog.WithDeclarations(httpRequest), ueventslog.WithResourceAttributes("shard"))
	tr := rig.attach(t, "app_log_http_request")
	r := event(log.SeverityInfo, "http.request",
		attribute.String("http.request.method", "GET"),
		attribute.Int("more", 1),
		attribute.String("http.route", "/users/{id}"),
		attribute.Int("http.response.status_code", 404),
		attribute.Int("latency", 1500),
		attribute.Bool("cached", false),
	)
	r.SetBody(attribute.StringValue("served"))
	r.SetObservedTimestamp(when)
	rig.logger().Emit(inSpan(t.Context()), r)
	assert.Equal(t, map[string]string{
		"":                          "app_log_http_request",
		"time_unix_nano":            "1795256430123456789",
		"observed_time_unix_nano":   "1795256430123456789",
		"severity_number":           "9",
		"trace_id":                  "4bf92f3577b34da6a3ce929d0e0e4736",
		"span_id":                   "00f067aa0ba902b7",
		"trace_flags":               "1",
		"truncated":                 "0",
		"http_request_method":       "GET",
		"http_route":                "/users/{id}",
		"http_response_status_code": "404",
		"latency_ns":                "1500",
		"scope_name":                "my/package",
		"service_name":              "shop",
		"resource":                  `{"shard":3}`,
		"attributes":                `{"more":1,"cached":false,"otel.scope.version":"v1.2.3"}`,
		"body":                      "served",
	}, fields(t, tr))

	rig.logger().Emit(t.Context(), event(log.SeverityInfo, "http.request"))
	got := fields(t, tr)
	assert.Equal(t, []string{"", "", "0", "0"}, []string{got["http_request_method"], got["http_route"], got["http_response_status_code"], got["latency_ns"]}, "nothing of the record before")

	rig.logger().Emit(t.Context(), event(log.SeverityInfo, "http.response"))
	assert.Empty(t, tr.Records(), "not declared")
	assert.Equal(t, uevents.EventStats{Written: 2, Matched: true}, rig.Stats()["app_log_http_request"])
}

// TestDeclaredLeftovers: what the event has no fields for becomes attributes, if it says something.
func TestDeclaredLeftovers(t *testing.T) {
	rig, tr := tracedRecord(t, ueventslog.Declare[number]("e", nil))
	rig.provider = rig.newProvider(sdklog.WithAttributeCountLimit(1))
	r := event(log.SeverityWarn, "e", attribute.Int("a", 1), attribute.Int("b", 1))
	r.SetSeverityText("WARN")
	logger := rig.provider.Logger("my/package")
	logger.Emit(t.Context(), r)
	assert.Equal(t, `{"a":1,"otel.dropped_attributes_count":1}`, fields(t, tr)["attributes"])
	r.SetSeverityText("Warning")
	rig.logger().Emit(t.Context(), r)
	assert.Equal(t, `{"a":1,"otel.scope.version":"v1.2.3","otel.dropped_attributes_count":1,"severity_text":"Warning"}`, fields(t, tr)["attributes"])
}

// declareOne declares the attribute k of the records e.
func declareOne[V any]() ueventslog.AnyDeclaration {
	return ueventslog.Declare[struct {
		V V `uevent:"k"`
	}]("e", nil)
}

// TestConversion: a value of another type is converted if nothing is lost, and else stays in attributes.
func TestConversion(t *testing.T) {
	for name, c := range map[string]struct {
		d     ueventslog.AnyDeclaration
		value attribute.Value
		field string
		attrs string
	}{
		"int":               {declareOne[uint16](), attribute.IntValue(65535), "65535", "{}"},
		"too large":         {declareOne[uint16](), attribute.IntValue(65536), "0", `{"k":65536}`},
		"whole float":       {declareOne[int64](), attribute.Float64Value(3), "3", "{}"},
		"text of an int":    {declareOne[int32](), attribute.StringValue("-3"), "-3", "{}"},
		"text":              {declareOne[int32](), attribute.StringValue("three"), "0", `{"k":"three"}`},
		"bool":              {declareOne[bool](), attribute.BoolValue(true), "1", "{}"},
		"int as text":       {declareOne[string](), attribute.IntValue(7), "7", "{}"},
		"float":             {declareOne[float64](), attribute.Float64Value(0.25), "0.25", "{}"},
		"list":              {declareOne[string](), attribute.StringSliceValue([]string{"a"}), "", `{"k":["a"]}`},
		"empty":             {declareOne[string](), attribute.Value{}, "", `{"k":null}`},
		"text of duration":  {declareOne[time.Duration](), attribute.StringValue("1.5s"), "1500000000", "{}"},
		"time from a count": {declareOne[time.Time](), attribute.Int64Value(when.UnixNano()), "1795256430123456789", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			rig, tr := tracedRecord(t, c.d)
			rig.provider.Logger("").Emit(t.Context(), event(log.SeverityInfo, "e", attribute.KeyValue{Key: "k", Value: c.value}))
			got := fields(t, tr)
			assert.Equal(t, c.field, got["k"])
			assert.Equal(t, c.attrs, got["attributes"])
			kept := uint64(0)
			if c.attrs != "{}" {
				kept = 1
			}
			assert.Equal(t, kept, rig.Stats()["app_log_e"].Unconverted)
		})
	}
}

// TestDeclaredTwiceInRecord: the last one of attributes with the same key is the field's.
func TestDeclaredTwiceInRecord(t *testing.T) {
	rig, tr := tracedRecord(t, declareOne[int64]())
	rig.provider = rig.newProvider(sdklog.WithAllowKeyDuplication())
	rig.provider.Logger("").Emit(t.Context(), event(log.SeverityInfo, "e", attribute.Int("k", 1), attribute.Int("k", 2), attribute.String("k", "x")))
	got := fields(t, tr)
	assert.Equal(t, "2", got["k"])
	assert.Equal(t, `{"k":1,"k":"x"}`, got["attributes"])
}

// TestUnit: a duration or a time has the attribute without the unit in the field's name, too.
func TestUnit(t *testing.T) {
	rig, tr := tracedRecord(t, ueventslog.Declare[struct {
		Latency time.Duration `uevent:"latency_ns"`
		Expires time.Time     `uevent:"expires_unix_nano"`
		Request struct{ ID int }
	}]("e", nil))
	for want, attrs := range map[string][]attribute.KeyValue{
		`1 2 3 {}`:               {attribute.Int("latency", 1), attribute.Int("expires", 2), attribute.Int("Request.ID", 3)},
		`1 2 0 {"ID":3}`:         {attribute.Int("latency_ns", 1), attribute.Int("expires_unix_nano", 2), attribute.Int("ID", 3)},
		`2 0 0 {"latency":1}`:    {attribute.Int("latency", 1), attribute.Int("latency_ns", 2)},
		`1 0 0 {"latency_ns":2}`: {attribute.Int("latency_ns", 2), attribute.Int("latency", 1)},
	} {
		rig.provider.Logger("").Emit(t.Context(), event(log.SeverityInfo, "e", attrs...))
		got := fields(t, tr)
		assert.Equal(t, want, strings.Join([]string{got["latency_ns"], got["expires_unix_nano"], got["Request_ID"], got["attributes"]}, " "))
	}
}

// TestRefusedDeclarations: what is wrong with a declaration is said, and its records go to their
// severity's event.
func TestRefusedDeclarations(t *testing.T) {
	type (
		twice struct {
			A string `uevent:"a"`
			B string `uevent:"a"`
		}
		forOneAttribute struct {
			Latency time.Duration `uevent:"latency_ns"`
			Text    string        `uevent:"latency"`
		}
		long struct {
			A, B, C, D, E, F struct{ RatherLongName1, RatherLongName2, RatherLongName3, RatherLongName4 string }
		}
	)
	declare := func(d ...ueventslog.AnyDeclaration) []ueventslog.AnyDeclaration { return d }
	for name, c := range map[string]struct {
		list    []ueventslog.AnyDeclaration
		opts    []ueventslog.Option
		message string
	}{
		"nil":                        {list: declare(nil), message: "a declaration is nil"},
		"a nil pointer":              {list: declare((*ueventslog.Declaration[number])(nil)), message: "a declaration is nil"},
		"a zero value":               {list: declare(new(ueventslog.Declaration[number])), message: "the declaration is empty: make it with Declare"},
		"without an event name":      {list: declare(ueventslog.Declare[number]("", nil)), message: "needs an event name"},
		"twice":                      {list: declare(ueventslog.Declare[number]("e", nil), ueventslog.Declare[number]("e", &ueventslog.DeclarationOptions{Name: "f"})), message: "declared twice"},
		"a name that is taken":       {list: declare(ueventslog.Declare[number]("info", nil)), message: "two events called app_log_info"},
		"a field twice":              {list: declare(ueventslog.Declare[twice]("e", nil)), message: `declaration of "e": event fields from ueventslog_test.twice`},
		"two fields of an attribute": {list: declare(ueventslog.Declare[forOneAttribute]("e", nil)), message: `the attribute "latency" is for two fields`},
		"a field that is there": {list: declare(ueventslog.Declare[struct {
			Body string `uevent:"body"`
		}]("e", nil)), message: `"body"`},
		"no fields":       {list: declare(ueventslog.Declare[struct{}]("e", nil)), message: "no exported fields"},
		"a map":           {list: declare(declareOne[map[string]int]()), message: `declaration of "e": `},
		"too many fields": {list: declare(ueventslog.Declare[long]("e", nil)), message: "the kernel takes 511"},
		"a limit too small": {
			list: declare(ueventslog.Declare[struct {
				HTTPRequest
				A, B, C string
			}]("e", nil)),
			opts: []ueventslog.Option{ueventslog.WithMaxPayload(150)}, message: "too small",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, provider := recordtest.Kernel(t)
			p, err := ueventslog.NewProcessor("app", append(c.opts, ueventslog.WithProvider(provider), ueventslog.WithDeclarations(c.list...))...)
			require.ErrorContains(t, err, c.message)
			require.ErrorIs(t, err, fs.ErrInvalid)
			tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_log_info")
			if name == "without an event name" {
				return
			}
			if name != "twice" {
				sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("").Emit(t.Context(), event(log.SeverityInfo, "e"))
				assert.Len(t, tr.Records(), 1)
			}
		})
	}
}

// TestConflict: another program has the event with other fields.
func TestConflict(t *testing.T) {
	for naming, want := range map[uevents.Naming]string{
		uevents.NameExact:            "app_log_info",
		uevents.NameHashedOnConflict: "app_log_e_",
		uevents.NameDefault:          "app_log_e_",
	} {
		k := ueventstest.New(t, nil)
		other, provider := k.Provider(), k.Provider()
		t.Cleanup(func() { assert.NoError(t, other.Close()); assert.NoError(t, provider.Close()) })
		d, err := tracepoint.Parse("app_log_e u8 x")
		require.NoError(t, err)
		_, err = other.Register(d, nil)
		require.NoError(t, err)
		p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithDeclarations(ueventslog.Declare[number]("e", nil)),
			ueventslog.WithNaming(naming))
		if naming == uevents.NameExact {
			require.ErrorIs(t, err, uevents.ErrConflict)
		} else {
			require.NoError(t, err)
		}
		tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
		sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("").Emit(t.Context(), event(log.SeverityInfo, "e"))
		records := tr.Records()
		require.NotEmpty(t, records)
		assert.True(t, strings.HasPrefix(records[0].Event, want), records[0].Event)
		assert.Equal(t, "app_log_info", records[len(records)-1].Event)
	}
}

// TestDeclaredSeverities: at other severities a declared record is one like any other.
func TestDeclaredSeverities(t *testing.T) {
	rig := newRig(t, declaredForEnabled)
	tr := rig.attach(t, "app_log_only_warn")
	for s, want := range map[log.Severity]int{0: 0, 5: 0, 13: 1, 16: 1, 24: 0} {
		rig.logger().Emit(t.Context(), event(s, "only.warn"))
		assert.Len(t, tr.Records(), want, s)
	}
	tr = rig.attach(t, "app_log_any_severity")
	for s := range log.SeverityFatal4 + 1 {
		rig.logger().Emit(t.Context(), event(s, "any.severity"))
		assert.Equal(t, "app_log_any_severity", one(t, tr).Event())
	}
	assert.Equal(t, uint64(25), rig.Stats()["app_log_any_severity"].Written, "of all ranges together")
}

// TestComplete: the event of a severity has all records of the severity, declared or not. Where the event of a
// declaration is enabled, too, it gets the record first, and the copy says so.
func TestComplete(t *testing.T) {
	for attached, want := range map[string][]string{
		"app_log_info":         {"app_log_info duplicate=0", "app_log_info duplicate=0"},
		"app_log_http_request": {"app_log_http_request"},
		"app_*":                {"app_log_http_request", "app_log_info duplicate=1", "app_log_info duplicate=0"},
	} {
		t.Run(attached, func(t *testing.T) {
			rig := newRig(t, ueventslog.WithDeclarations(httpRequest))
			tr := rig.attach(t, attached)
			rig.logger().Emit(t.Context(), event(log.SeverityInfo, "http.request", attribute.String("http.request.method", "GET"), attribute.Int("n", 1)))
			rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
			var got []string
			for _, r := range tr.Records() {
				decoded := recordtest.Decode(t, r.Declaration, r.Payload)
				text := r.Event
				if v, ok := decoded.Lookup("duplicate"); ok {
					text += " duplicate=" + string(v.AppendTo(nil))
				}
				if len(got) < 2 && r.Event == "app_log_info" && field(t, decoded, "body") == "" {
					assert.Equal(t, "http.request", field(t, decoded, "event_name"))
					assert.Equal(t, `{"http.request.method":"GET","n":1}`, field(t, decoded, "attributes"))
				}
				got = append(got, text)
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestCompleteAfterRefusal: a record that the kernel did not take for the event of its declaration is no duplicate.
func TestCompleteAfterRefusal(t *testing.T) {
	k, r, provider := newRefusing(t)
	p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithDeclarations(httpRequest))
	require.NoError(t, err)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	r.refuseNext.Store(1)
	handled(t, func(err error) { assert.ErrorIs(t, err, errno.ENOMEM) })
	sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("").Emit(t.Context(), event(log.SeverityInfo, "http.request"))
	got := fields(t, tr)
	assert.Equal(t, []string{"app_log_info", "0"}, []string{got[""], got["duplicate"]})
	assert.Equal(t, uevents.EventStats{Refused: 1, Matched: true}, p.Stats()["app_log_http_request"])
	assert.Equal(t, uevents.EventStats{Written: 1}, p.Stats()["app_log_info"])
}
