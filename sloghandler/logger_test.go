package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestLoggerOfNothing: a TypedLogger that cannot log is never enabled, and its methods do nothing.
func TestLoggerOfNothing(t *testing.T) {
	h, tr := attached(t, declaring(httpRequest))
	closed, _ := attached(t, declaring(httpRequest))
	require.NoError(t, closed.Close())
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	never, err := sloghandler.New("app", &sloghandler.Options{Provider: unsupported, Declarations: []sloghandler.AnyDeclaration{httpRequest}})
	require.ErrorIs(t, err, unsupported.Err())
	for name, l := range map[string]*sloghandler.TypedLogger[HTTPRequest]{
		"nil":            nil,
		"zero":           {},
		"no handler":     httpRequest.Logger(nil),
		"a zero handler": httpRequest.Logger(new(sloghandler.Handler)),
		"no declaration": (*sloghandler.Declaration[HTTPRequest])(nil).Logger(h),
		"closed":         httpRequest.Logger(closed),
		"not supported":  httpRequest.Logger(never),
	} {
		for _, level := range []slog.Level{math.MinInt, slog.LevelInfo, math.MaxInt} {
			assert.False(t, l.Enabled(t.Context(), level), name)
			l.Log(t.Context(), level, &sampleRequest)
			l.Log(t.Context(), level, nil)
			l.LogAttrs(t.Context(), level, requestAttrs(sampleRequest)...)
		}
	}
	assert.Empty(t, tr.Records())
}

// TestLoggerOfNilRecord: there is nothing to log, whichever event is enabled.
func TestLoggerOfNilRecord(t *testing.T) {
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		l := httpRequest.Logger(h)
		require.True(t, l.Enabled(t.Context(), slog.LevelInfo))
		l.Log(t.Context(), slog.LevelInfo, nil)
		assert.Empty(t, tr.Records(), path)
	}
}

// TestLoggerWithoutDeclaration: a handler that was made without the declaration has the records in the levels' events.
func TestLoggerWithoutDeclaration(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	l := httpRequest.Logger(h)
	require.True(t, l.Enabled(t.Context(), slog.LevelWarn))
	l.Log(t.Context(), slog.LevelWarn, &sampleRequest)
	l.LogAttrs(t.Context(), slog.LevelWarn, requestAttrs(sampleRequest)...)
	records := tr.Records()
	require.Len(t, records, 2)
	for _, raw := range records {
		r := decoded(t, raw)
		assert.Equal(t, "app_warn 0 http request", r.event+" "+r.fields["duplicate"]+" "+r.fields["message"])
		assert.Equal(t, `{"method":"GET","route":"/users/{id}","status":404,"latency_ns":1500}`, r.json)
	}
}

// TestLoggerOfOtherDeclaration: the handler has another declaration of the same message. The records are those of the same call of
// a slog.Logger.
func TestLoggerOfOtherDeclaration(t *testing.T) {
	type status struct {
		Status uint16 `uevent:"status"`
	}
	for _, d := range []sloghandler.AnyDeclaration{sloghandler.Declare[status]("http request", nil), sloghandler.Declare[HTTPRequest]("http request", nil)} {
		h, k := newHandler(t, declaring(d))
		for _, events := range [][]string{{"app_http_request"}, {"app_http_request", "app_info"}} {
			tr := attach(t, k, events...)
			var want, got []decodedRecord
			forms["slog"](h, slog.LevelInfo, sampleRequest)
			for _, raw := range tr.Records() {
				want = append(want, decoded(t, raw))
			}
			require.Len(t, want, len(events))
			for _, form := range []string{"Log", "LogAttrs"} {
				forms[form](h, slog.LevelInfo, sampleRequest)
				got = nil
				for _, raw := range tr.Records() {
					got = append(got, decoded(t, raw))
				}
				require.Len(t, got, len(want), form)
				for i := range want {
					got[i].fields["time_unix_nano"] = want[i].fields["time_unix_nano"]
				}
				assert.Equal(t, want, got, form)
			}
			tr.Detach()
		}
	}
}

// TestLoggerLevels: the minimum of the options is that of all records.
func TestLoggerLevels(t *testing.T) {
	variable := new(slog.LevelVar)
	variable.Set(slog.LevelWarn)
	warn := slog.LevelWarn
	for name, level := range map[string]slog.Leveler{"constant": slog.LevelWarn, "variable": variable, "of the program": leveler{&warn}} {
		h, tr := attached(t, sloghandler.Options{Level: level, Declarations: []sloghandler.AnyDeclaration{httpRequest}})
		l := httpRequest.Logger(h)
		assert.False(t, l.Enabled(t.Context(), slog.LevelInfo), name)
		assert.True(t, l.Enabled(t.Context(), slog.LevelWarn), name)
		l.Log(t.Context(), slog.LevelInfo, &sampleRequest)
		l.LogAttrs(t.Context(), slog.LevelInfo, requestAttrs(sampleRequest)...)
		assert.Empty(t, tr.Records(), name)
		l.Log(t.Context(), slog.LevelWarn, &sampleRequest)
		l.LogAttrs(t.Context(), slog.LevelWarn, requestAttrs(sampleRequest)...)
		assert.Len(t, originals(t, tr), 2, name)
	}
}

// TestLoggerLevelPanics: a Leveler that panics has no minimum.
func TestLoggerLevelPanics(t *testing.T) {
	for name, log := range forms {
		h, tr := attached(t, sloghandler.Options{Level: levelerPanics{}, Declarations: []sloghandler.AnyDeclaration{httpRequest}})
		log(h, slog.LevelDebug, sampleRequest)
		assert.Equal(t, "-4", only(t, tr).fields["level"], name)
	}
}

// lineBefore returns the place of the line before the call, as the field source ends.
func lineBefore() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line-1)
}

// short is small enough for the compiler to put its body into the caller.
func short(l *sloghandler.TypedLogger[HTTPRequest], v *HTTPRequest) string {
	l.Log(context.Background(), slog.LevelInfo, v)
	return lineBefore()
}

// TestLoggerSource: the field source is where Log or LogAttrs was called.
func TestLoggerSource(t *testing.T) {
	for path, o := range paths {
		o.AddSource, o.Declarations = true, []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		l := httpRequest.Logger(h)
		check := func(place string) {
			t.Helper()
			records := tr.Records()
			require.Len(t, records, 2, path)
			for _, raw := range records {
				source := decoded(t, raw).fields["source"]
				assert.True(t, strings.HasSuffix(source, " "+place), "%s: %s is not at %s", path, source, place)
				assert.Contains(t, source, "sloghandler_test.", path)
			}
		}
		l.Log(t.Context(), slog.LevelInfo, &sampleRequest)
		check(lineBefore())
		l.LogAttrs(t.Context(), slog.LevelInfo, requestAttrs(sampleRequest)...)
		check(lineBefore())
		check(short(l, &sampleRequest))
	}
}

// TestLoggerTraceContext: the ids are those of the context that Log and LogAttrs are given.
func TestLoggerTraceContext(t *testing.T) {
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		o.TraceContext = func(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
			n, _ := ctx.Value(key{}).(byte)
			return [16]byte{0: n}, [8]byte{7: n}
		}
		h, tr := attached(t, o)
		ctx := context.WithValue(t.Context(), key{}, byte(0xab))
		httpRequest.Logger(h).Log(ctx, slog.LevelInfo, &sampleRequest)
		httpRequest.Logger(h).LogAttrs(ctx, slog.LevelInfo, requestAttrs(sampleRequest)...)
		records := tr.Records()
		require.Len(t, records, 4, path)
		for _, raw := range records {
			r := decoded(t, raw)
			assert.Equal(t, "ab000000000000000000000000000000 00000000000000ab", r.fields["trace_id"]+" "+r.fields["span_id"], path)
		}
	}
}

// TestLoggerTruncates: the texts of a record that does not fit get equal shares, and everything short is whole.
func TestLoggerTruncates(t *testing.T) {
	for path, o := range paths {
		o.MaxPayload, o.Declarations = 600, []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		v := HTTPRequest{Method: strings.Repeat("é", 2000), Route: strings.Repeat("/users", 500), Status: 404, Latency: 1500}
		h = h.WithAttrs([]slog.Attr{slog.String("id", "6b0c"), slog.String("bound", strings.Repeat("x", 2000))}).(*sloghandler.Handler)
		httpRequest.Logger(h).Log(t.Context(), slog.LevelInfo, &v)
		records := tr.Records()
		require.Len(t, records, 2, path)
		for _, raw := range records {
			assert.LessOrEqual(t, len(raw.Payload), 600)
			assert.Greater(t, len(raw.Payload), 580, "the room is used")
		}
		r := decoded(t, records[0])
		assert.Equal(t, "404 1500 3", r.fields["status"]+" "+r.fields["latency_ns"]+" "+r.fields["truncated"], path)
		assert.Equal(t, "6b0c", r.attributes["id"], path)
		texts := []string{r.fields["method"], r.fields["route"], r.attributes["bound"].(string)}
		for _, text := range texts {
			assert.True(t, strings.HasSuffix(text, "..."), text)
			assert.InDelta(t, len(texts[0]), len(text), 3, path)
		}
		r = decoded(t, records[1])
		assert.Equal(t, "http request", r.fields["message"], path)
		assert.EqualValues(t, 404, r.attributes["status"], path)
		assert.Equal(t, "6b0c", r.attributes["id"], path)
		assert.EqualValues(t, 1, h.Stats()["app_http_request"].Truncated, path)
		assert.EqualValues(t, 1, h.Stats()["app_info"].Truncated, path)
	}
}

// TestLoggerDerived: a Logger has what its handler adds to records, as a slog.Logger has.
func TestLoggerDerived(t *testing.T) {
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		derived := slog.New(h).With("service", "shop").WithGroup("http").With("n", 1).Handler().(*sloghandler.Handler)
		forms["slog"](derived, slog.LevelInfo, sampleRequest)
		want := tr.Records()
		require.Len(t, want, 2, path)
		assert.Equal(t, `{"service":"shop","http":{"n":1}}`, decoded(t, want[0]).json, path)
		assert.Equal(t, `{"service":"shop","http":{"n":1,"method":"GET","route":"/users/{id}","status":404,"latency_ns":1500}}`, decoded(t, want[1]).json, path)
		for _, form := range []string{"Log", "LogAttrs"} {
			forms[form](derived, slog.LevelInfo, sampleRequest)
			got := tr.Records()
			require.Len(t, got, 2, path)
			for i := range got {
				assert.Equal(t, want[i].Declaration.Name, got[i].Declaration.Name, path)
				assert.Equal(t, want[i].Payload[8:], got[i].Payload[8:], "%s %s: all but the time", path, form)
			}
		}
	}
}

// TestLoggerAllocations: with the declaration's event enabled, Log and LogAttrs do not allocate, nor do they when disabled.
func TestLoggerAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	ctx := t.Context()
	for name, o := range map[string]sloghandler.Options{
		"plain":         {},
		"source":        {AddSource: true},
		"trace context": {TraceContext: func(context.Context) (traceID [16]byte, spanID [8]byte) { return [16]byte{1}, [8]byte{2} }},
		"minimum":       {Level: slog.LevelInfo},
		"replace":       {ReplaceAttr: unchanged},
	} {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, k := newHandler(t, o)
		l := httpRequest.Logger(h.WithAttrs([]slog.Attr{slog.String("service", "shop")}).(*sloghandler.Handler))
		route := strings.Repeat("/users", 3)
		direct := func() {
			l.Log(ctx, slog.LevelInfo, &HTTPRequest{Method: "GET", Route: route, Status: 200, Latency: 1500})
		}
		attrs := func() {
			l.LogAttrs(ctx, slog.LevelInfo, slog.String("method", "GET"), slog.String("route", route), slog.Int("status", 200), slog.Duration("latency", 1500))
		}
		check := func(when string, wantDirect float64) {
			assert.InDelta(t, wantDirect, testing.AllocsPerRun(100, direct), 0, "%s, %s: Log", name, when)
			assert.Zero(t, testing.AllocsPerRun(100, attrs), "%s, %s: LogAttrs", name, when)
		}
		check("disabled", 0)
		tr := attach(t, k, "app_http_request")
		check("the declaration's event", 0)
		tr.Detach()
		attach(t, k, "app_info")
		check("the level's event", 0)
		attach(t, k, "app_http_request")
		check("both events", 0)
	}
}

// TestMatched: whether a message has been logged, while any event of the handler was enabled. One that is misspelt never matches.
func TestMatched(t *testing.T) {
	for name, log := range forms {
		misspelt := sloghandler.Declare[HTTPRequest]("HTTP request", &sloghandler.DeclarationOptions{Name: "misspelt"})
		h, k := newHandler(t, declaring(httpRequest, misspelt))
		log(h, slog.LevelInfo, sampleRequest)
		assert.False(t, h.Stats()["app_http_request"].Matched, "%s: disabled", name)
		attach(t, k, "app_info")
		slog.New(h).Info("another message")
		assert.False(t, h.Stats()["app_http_request"].Matched, name)
		log(h, slog.LevelInfo, sampleRequest)
		assert.Equal(t, uevents.EventStats{Matched: true}, h.Stats()["app_http_request"], name)
		assert.Equal(t, uevents.EventStats{}, h.Stats()["app_misspelt"], name)
	}
}

// TestUnconverted: the attribute stays in the field attributes, and is counted once, whichever path the record takes.
func TestUnconverted(t *testing.T) {
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		slog.New(h).Info("http request", "latency", 15, "status", "many")
		assert.Equal(t, `{"latency":15,"status":"many"}`, only(t, tr).json, path)
		assert.EqualValues(t, 2, h.Stats()["app_http_request"].Unconverted, path)
		slog.New(h).Info("http request", "latency", valuer{slog.IntValue(15)})
		assert.Equal(t, `{"latency":15}`, only(t, tr).json, path)
		assert.EqualValues(t, 3, h.Stats()["app_http_request"].Unconverted, path)
		assert.Zero(t, h.Stats()["app_info"].Unconverted, path)
	}
}

// TestLoggerLogsItsFields: attributes of the handler with the key of a field do not take the place of the struct's fields.
func TestLoggerLogsItsFields(t *testing.T) {
	for path, o := range map[string]sloghandler.Options{
		"direct": {}, "replaced": paths["replaced"], "the last is kept": paths["the last is kept"],
	} {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, tr := attached(t, o)
		h = h.WithAttrs([]slog.Attr{slog.Int("status", 1)}).WithGroup("g").(*sloghandler.Handler)
		httpRequest.Logger(h).Log(t.Context(), slog.LevelInfo, &HTTPRequest{Status: 200})
		r := decoded(t, tr.Records()[0])
		assert.Equal(t, "200", r.fields["status"], path)
		assert.Equal(t, `{"status":1}`, r.json, path)
	}
}

// TestLevelerOfDisabled: the program's code is not asked about records that no tool wants.
func TestLevelerOfDisabled(t *testing.T) {
	asked := 0
	declared := sloghandler.Declare[HTTPRequest]("http request", &sloghandler.DeclarationOptions{Levels: []slog.Level{slog.LevelDebug}})
	h, k := newHandler(t, sloghandler.Options{Level: actingLevel{func() { asked++ }}, Declarations: []sloghandler.AnyDeclaration{declared}})
	attach(t, k, "app_error")
	declared.Logger(h).Log(t.Context(), slog.LevelDebug, &HTTPRequest{})
	assert.Zero(t, asked)
	declared.Logger(h).Log(t.Context(), slog.LevelError, &HTTPRequest{})
	assert.Positive(t, asked)
}
