package sloghandler_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestDeclared: a declared attribute is found wherever it comes from.
func TestDeclared(t *testing.T) {
	for _, c := range []struct {
		name                           string
		log                            func(*slog.Logger)
		method, route, status, latency string
		attributes                     string
	}{
		{
			"in the call", func(l *slog.Logger) {
				l.Info("http request", "method", "GET", "route", "/", "status", 200, "latency", time.Millisecond, "more", true)
			}, "GET", "/", "200", "1000000", `{"more":true}`,
		},
		{
			"in With", func(l *slog.Logger) {
				l.With("method", "GET", "x", 1).With("status", 404).Info("http request", "route", "/", "latency", 5)
			}, "GET", "/", "404", "5", `{"x":1}`,
		},
		{
			"in groups", func(l *slog.Logger) {
				l.WithGroup("http").With("method", "PUT", "y", 2).Info("http request", slog.Group("deep", "route", "/a", slog.Group("er", "status", 500)), "z", 3)
			}, "PUT", "/a", "500", "0", `{"http":{"y":2,"z":3}}`,
		},
		{
			"the outermost wins", func(l *slog.Logger) {
				l.Info("http request", slog.Group("inner", "status", 1), "status", 2, slog.Group("inner", "status", 3))
			}, "", "", "2", "0", `{"inner":{"status":1},"inner":{"status":3}}`,
		},
		{
			"the last wins", func(l *slog.Logger) {
				l.With("status", 1).Info("http request", "status", 2, "status", 3)
			}, "", "", "3", "0", `{"status":1,"status":2}`,
		},
		{"none", func(l *slog.Logger) { l.Info("http request") }, "", "", "0", "0", `{}`},
		{
			"of another type", func(l *slog.Logger) {
				l.Info("http request", "method", 1, "status", "404", "latency", "1.5s", "route", 2.5)
			}, "1", "2.5", "404", "1500000000", `{}`,
		},
		{
			"not convertible", func(l *slog.Logger) {
				l.Info("http request", "method", []int{1}, "status", 70000, "latency", "soon", "route", nil)
			}, "", "", "0", "0", `{"method":[1],"status":70000,"latency":"soon","route":null}`,
		},
		{
			"values that resolve", func(l *slog.Logger) {
				l.Info("http request", "status", valuer{slog.IntValue(201)}, "method", panics{})
			}, "!", "", "201", "0", `{}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachEncoding(t, func(t *testing.T, e sloghandler.Encoding) {
				h, tr := traced(t, sloghandler.Options{Encoding: e, Records: []sloghandler.Record{httpRequest}})
				c.log(slog.New(h))
				r := only(t, tr)
				if e == sloghandler.Typed {
					assert.Equal(t, "app_http_request", r.event)
					assert.Equal(t, c.attributes, r.json)
				} else {
					assert.Equal(t, "app_L4K1:http_request", r.event)
				}
				if c.method == "!" {
					assert.Contains(t, r.fields["method"], "panic")
				} else {
					assert.Equal(t, c.method, r.fields["method"])
				}
				assert.Equal(t, c.route, r.fields["route"])
				assert.Equal(t, c.status, orZero(r.fields["status"]))
				assert.Equal(t, c.latency, orZero(r.fields["latency_ns"]))
				assert.NotContains(t, r.fields, "message")
			})
		})
	}
}

// orZero is for EventHeader, which leaves fields without a value out.
func orZero(text string) string {
	if text == "" {
		return "0"
	}
	return text
}

func TestDeclaredDuplicates(t *testing.T) {
	h, tr := traced(t, sloghandler.Options{Records: []sloghandler.Record{httpRequest}, Duplicates: attrjson.KeepLast})
	slog.New(h).With("status", 1).Info("http request", "status", 2, slog.Group("g", "status", 3))
	r := only(t, tr)
	assert.Equal(t, "2", r.fields["status"])
	assert.Equal(t, `{"g":{"status":3}}`, r.json)
}

// TestDeclaredLevels: the record has its event at the declared levels only, and makes only
// these enabled.
func TestDeclaredLevels(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer p.Close()
	declared := httpRequest
	declared.Levels = []slog.Level{slog.LevelInfo, slog.LevelError}
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Records: []sloghandler.Record{declared}})
	require.NoError(t, err)
	enabled := func() (levels []slog.Level) {
		for _, level := range []slog.Level{-4, 0, 4, 8} {
			if h.Enabled(t.Context(), level) {
				levels = append(levels, level)
			}
			assert.Equal(t, h.Enabled(t.Context(), level), h.Traced(level))
		}
		return levels
	}
	guard, ok := h.Guard("http request")
	require.True(t, ok)
	assert.False(t, guard.Traced())
	_, ok = h.Guard("another message")
	assert.False(t, ok)
	assert.Empty(t, enabled())

	tr, err := k.Attach(ueventstest.Ftrace, "app_http_request")
	require.NoError(t, err)
	assert.Equal(t, []slog.Level{0, 8}, enabled())
	assert.True(t, guard.Traced())
	log := slog.New(h)
	for level := slog.Level(-4); level <= 8; level += 4 {
		log.Log(t.Context(), level, "http request", "status", 100+int(level))
		log.Log(t.Context(), level, "another message")
	}
	var got []string
	for _, raw := range tr.Records() {
		r := decoded(t, raw)
		got = append(got, r.fields["level"]+" "+r.fields["status"])
	}
	assert.Equal(t, []string{"0 100", "8 108"}, got)
	tr.Detach()
	assert.Empty(t, enabled())

	tr, err = k.Attach(ueventstest.Ftrace, "app_warn", "app_info")
	require.NoError(t, err)
	assert.False(t, guard.Traced())
	log.Warn("http request", "status", 1)
	log.Info("http request", "status", 2)
	assert.Equal(t, "http request", only(t, tr).fields["message"], "at the other levels it is a record like any other")
	assert.EqualValues(t, 2, h.Stats()["app_http_request"].Written, "both ranges")
}

// TestConversions is the table of what becomes of which value in which field.
func TestConversions(t *testing.T) {
	type named int8
	at := time.Unix(1_000_000_000, 123456789).UTC()
	for _, c := range []struct {
		typ  sloghandler.Type
		in   any
		want string // "-": it stays an attribute
	}{
		{sloghandler.String, "text", "text"},
		{sloghandler.String, 12, "12"},
		{sloghandler.String, uint64(math.MaxUint64), "18446744073709551615"},
		{sloghandler.String, true, "true"},
		{sloghandler.String, 0.1, "0.1"},
		{sloghandler.String, time.Second, "1s"},
		{sloghandler.String, at, "2001-09-09T01:46:40.123456789Z"},
		{sloghandler.String, fmt.Errorf("an error"), "an error"},
		{sloghandler.String, time.March, "March"},
		{sloghandler.String, []byte("raw"), "-"},
		{sloghandler.String, struct{}{}, "-"},
		{sloghandler.Bool, true, "1"},
		{sloghandler.Bool, "false", "0"},
		{sloghandler.Bool, 1, "1"},
		{sloghandler.Bool, 2, "-"},
		{sloghandler.Bool, "yes", "-"},
		{sloghandler.Int32, math.MinInt32, "-2147483648"},
		{sloghandler.Int32, int64(math.MaxInt32) + 1, "-"},
		{sloghandler.Int32, named(-7), "-7"},
		{sloghandler.Int64, int64(math.MinInt64), "-9223372036854775808"},
		{sloghandler.Int64, uint64(math.MaxUint64), "-"},
		{sloghandler.Int64, 3.0, "3"},
		{sloghandler.Int64, 3.5, "-"},
		{sloghandler.Int64, math.NaN(), "-"},
		{sloghandler.Int64, 1e300, "-"},
		{sloghandler.Int64, "-12", "-12"},
		{sloghandler.Int64, "+12", "-"},
		{sloghandler.Int64, "012", "-"},
		{sloghandler.Int64, time.Millisecond, "1000000"},
		{sloghandler.Int64, time.March, "3"},
		{sloghandler.Uint8, 255, "255"},
		{sloghandler.Uint8, 256, "-"},
		{sloghandler.Uint8, -1, "-"},
		{sloghandler.Uint16, "65535", "65535"},
		{sloghandler.Uint16, "65536", "-"},
		{sloghandler.Uint32, uint64(math.MaxUint32), "4294967295"},
		{sloghandler.Uint32, false, "0"},
		{sloghandler.Uint64, uint64(math.MaxUint64), "18446744073709551615"},
		{sloghandler.Uint64, "18446744073709551615", "18446744073709551615"},
		{sloghandler.Uint64, float64(1 << 63), "9223372036854775808"},
		{sloghandler.Uint64, -0.5, "-"},
		{sloghandler.Float64, 0.25, "0.25"},
		{sloghandler.Float64, 3, "3"},
		{sloghandler.Float64, int64(math.MaxInt64), "-"}, // not exactly
		{sloghandler.Float64, uint64(1 << 63), "9223372036854776000"},
		{sloghandler.Float64, "0.5", "0.5"},
		{sloghandler.Float64, "0.50", "-"},
		{sloghandler.Float64, math.Inf(1), "Infinity"},
		{sloghandler.Duration, time.Hour, "3600000000000"},
		{sloghandler.Duration, 5, "5"},
		{sloghandler.Duration, "1h0m0s", "3600000000000"},
		{sloghandler.Duration, "1h", "-"},
		{sloghandler.Time, at, "1000000000123456789"},
		{sloghandler.Time, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), "-"}, // above 64 bits of nanoseconds
		{sloghandler.Time, time.Unix(-1, 0), "-"},
		{sloghandler.Time, 5, "5"},
		{sloghandler.Time, -5, "-"},
		{sloghandler.Time, "2001-09-09T01:46:40Z", "-"},
	} {
		t.Run(fmt.Sprintf("%d %T %v", c.typ, c.in, c.in), func(t *testing.T) {
			h, tr := traced(t, sloghandler.Options{Records: []sloghandler.Record{
				{Message: "m", Fields: []sloghandler.Field{{Key: "k", Type: c.typ, Name: "k"}}},
			}})
			slog.New(h).Info("m", "k", c.in)
			r := only(t, tr)
			stays := c.want == "-"
			assert.Equal(t, stays, r.json != `{}`, r.json)
			assert.Equal(t, stays, h.Stats()["app_m"].Unconverted == 1)
			if !stays {
				assert.Equal(t, c.want, r.fields["k"])
			}
		})
	}
}

// TestDeclarations is how records become tracepoints.
func TestDeclarations(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer p.Close()
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Records: []sloghandler.Record{
		httpRequest,
		{Message: "user signed in", Name: "login", Fields: []sloghandler.Field{
			{Key: "user.id", Type: sloghandler.Int64},
			{Key: "at", Type: sloghandler.Time},
			{Key: "ratio", Type: sloghandler.Float64},
			{Key: "took_ns", Type: sloghandler.Duration},
			{Key: "ok", Type: sloghandler.Bool, Name: "success"},
		}},
		{Message: "nothing"},
	}})
	require.NoError(t, err)
	defer h.Close()
	events := map[string]string{}
	for _, e := range k.Events() {
		events[e.Declaration.Name] = e.Declaration.String()
	}
	const head = " u64 time_unix_nano; s32 level; __data_loc char[] trace_id; __data_loc char[] span_id; u32 truncated; "
	const tail = "__data_loc char[] source; __data_loc char[] attributes"
	assert.Equal(t, "app_http_request"+head+"__data_loc char[] method; __data_loc char[] route; u16 status; s64 latency_ns; "+tail, events["app_http_request"])
	assert.Equal(t, "app_login"+head+"s64 user_id; u64 at_unix_nano; __data_loc char[] ratio; s64 took_ns; u8 success; "+tail, events["app_login"])
	assert.Equal(t, "app_nothing"+head+tail, events["app_nothing"])
	assert.Equal(t, "app_info"+head+"__data_loc char[] message; "+tail, events["app_info"])
}

// TestBadDeclarations: a record that cannot be registered is logged like any other.
func TestBadDeclarations(t *testing.T) {
	many := make([]sloghandler.Field, 60)
	for i := range many {
		many[i] = sloghandler.Field{Key: fmt.Sprintf("a_rather_long_attribute_%d", i)}
	}
	for name, record := range map[string]sloghandler.Record{
		"a field twice":          {Message: "m", Fields: []sloghandler.Field{{Key: "k"}, {Key: "k"}}},
		"a name that is ours":    {Message: "m", Fields: []sloghandler.Field{{Key: "level"}}},
		"a name with spaces":     {Message: "m", Fields: []sloghandler.Field{{Key: "k", Name: "a b"}}},
		"above 512 bytes":        {Message: "m", Fields: many},
		"an unknown type":        {Message: "m", Fields: []sloghandler.Field{{Key: "k", Type: 200}}},
		"the name of a level":    {Message: "m", Name: "info"},
		"a name that is no name": {Message: "m", Name: "x y"},
	} {
		t.Run(name, func(t *testing.T) {
			k := ueventstest.New(t, nil)
			p := k.Provider()
			defer p.Close()
			h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Records: []sloghandler.Record{record, {Message: "good"}, {Message: "good", Name: "again"}}})
			t.Cleanup(func() { assert.NoError(t, h.Close()) })
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			assert.ErrorContains(t, err, `record "m"`)
			assert.ErrorContains(t, err, `record "good": `)
			assert.ErrorContains(t, err, "declared twice")
			tr, err := k.Attach(ueventstest.Ftrace, "app_*")
			require.NoError(t, err)
			slog.New(h).Info("m", "k", 1)
			r := only(t, tr)
			assert.Equal(t, "m", r.fields["message"])
			assert.Equal(t, `{"k":1}`, r.json)
			slog.New(h).Info("good")
			assert.Equal(t, "app_good", only(t, tr).event)
		})
	}
}

// TestRollingUpgrade: another program has registered the record's event with other fields.
func TestRollingUpgrade(t *testing.T) {
	for naming, want := range map[uevents.Naming]string{
		uevents.NameExact:            "",
		uevents.NameHashed:           "app_http_request_",
		uevents.NameHashedOnConflict: "app_http_request_",
		uevents.NameDefault:          "app_http_request_",
	} {
		k := ueventstest.New(t, nil)
		old := k.Provider()
		defer old.Close()
		_, err := old.Register(tracepoint.Declaration{Name: "app_http_request", Fields: []tracepoint.Field{{Name: "a", Type: tracepoint.Scalar(tracepoint.U8)}}}, nil)
		require.NoError(t, err)
		p := k.Provider()
		defer p.Close()
		h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Naming: naming, Records: []sloghandler.Record{httpRequest}})
		t.Cleanup(func() { assert.NoError(t, h.Close()) })
		tr, attachErr := k.Attach(ueventstest.Ftrace, "app_*")
		require.NoError(t, attachErr)
		slog.New(h).Info("http request", "status", 200)
		if want == "" {
			require.ErrorIs(t, err, uevents.ErrConflict)
			assert.Equal(t, "app_info", only(t, tr).event, "it goes to its level's event")
			continue
		}
		require.NoError(t, err)
		r := only(t, tr)
		assert.True(t, strings.HasPrefix(r.event, want), r.event)
		assert.Equal(t, "200", r.fields["status"])
	}
}
