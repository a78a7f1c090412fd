package sloghandler_test

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
				l.With("method", "GET", "x", 1).With("status", 404).Info("http request", "route", "/", "latency", time.Duration(5))
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
			h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{httpRequest}})
			c.log(slog.New(h))
			r := only(t, tr)
			assert.Equal(t, "app_http_request", r.event)
			assert.Equal(t, c.attributes, r.json)
			if c.method == "!" {
				assert.Contains(t, r.fields["method"], "panic")
			} else {
				assert.Equal(t, c.method, r.fields["method"])
			}
			assert.Equal(t, c.route, r.fields["route"])
			assert.Equal(t, c.status, r.fields["status"])
			assert.Equal(t, c.latency, r.fields["latency_ns"])
			assert.NotContains(t, r.fields, "message")
		})
	}
}

func TestDeclaredDuplicates(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{httpRequest}, UniqueKeys: true})
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
	declared := sloghandler.Declare[HTTPRequest]("http request", &sloghandler.DeclarationOptions{Levels: []slog.Level{slog.LevelInfo, slog.LevelError}})
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{declared}})
	require.NoError(t, err)
	requests := declared.Logger(h)
	enabled := func() (levels []slog.Level) {
		for _, level := range []slog.Level{-4, 0, 4, 8} {
			if h.Enabled(t.Context(), level) {
				levels = append(levels, level)
			}
			assert.Equal(t, h.Enabled(t.Context(), level), requests.Enabled(t.Context(), level))
		}
		return levels
	}
	assert.Empty(t, enabled())

	tr, err := k.Attach(ueventstest.Ftrace, "app_http_request")
	require.NoError(t, err)
	assert.Equal(t, []slog.Level{0, 8}, enabled())
	log := slog.New(h)
	for level := slog.Level(-4); level <= 8; level += 4 {
		log.Log(t.Context(), level, "http request", "status", 100+int(level))
		log.Log(t.Context(), level, "another message")
		requests.Log(t.Context(), level, &HTTPRequest{Status: 200 + uint16(level)})
	}
	var got []string
	for _, r := range originals(t, tr) {
		got = append(got, r.fields["level"]+" "+r.fields["status"])
	}
	assert.Equal(t, []string{"0 100", "0 200", "8 108", "8 208"}, got)
	tr.Detach()
	assert.Empty(t, enabled())

	tr, err = k.Attach(ueventstest.Ftrace, "app_warn", "app_info")
	require.NoError(t, err)
	assert.Equal(t, []slog.Level{0, 4}, enabled())
	log.Warn("http request", "status", 1)
	log.Info("http request", "status", 2)
	got = nil
	for _, r := range originals(t, tr) {
		got = append(got, r.event+" "+r.fields["message"]+" "+r.json)
	}
	assert.Equal(t, []string{`app_warn http request {"status":1}`, `app_info http request {"status":2}`}, got, "the levels' events are complete")
	assert.EqualValues(t, 4, h.Stats()["app_http_request"].Written)
}

// TestDeclarations: the events that struct types declare.
func TestDeclarations(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer p.Close()
	type login struct {
		UserID  int64     `uevent:"user.id"`
		At      time.Time `uevent:"at_unix_nano"`
		Ratio   float64   `uevent:"ratio"`
		Load    float32   `uevent:"load,scale=1000"`
		Success bool      `uevent:"ok"`
		Request struct {
			ID   [4]byte    `uevent:"id"`
			Peer netip.Addr `uevent:"peer"`
		} `uevent:"request"`
	}
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{
		httpRequest,
		sloghandler.Declare[login]("user signed in", &sloghandler.DeclarationOptions{Name: "login"}),
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
	assert.Equal(t, "app_login"+head+"s64 user_id; u64 at_unix_nano; __data_loc char[] ratio; s64 load; u8 ok; __data_loc char[] request_id; __data_loc char[] request_peer; "+tail, events["app_login"])
	assert.Equal(t, "app_info"+head+"u8 duplicate; __data_loc char[] message; "+tail, events["app_info"])
}

// TestRollingUpgrade: another program has registered the record's event with other fields.
func TestRollingUpgrade(t *testing.T) {
	for naming, want := range map[uevents.Naming]string{
		uevents.NameExact:            "",
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
		h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Naming: naming, Declarations: []sloghandler.AnyDeclaration{httpRequest}})
		t.Cleanup(func() { assert.NoError(t, h.Close()) })
		tr, attachErr := k.Attach(ueventstest.Ftrace, "app_*")
		require.NoError(t, attachErr)
		slog.New(h).Info("http request", "status", 200)
		if want == "" {
			require.ErrorIs(t, err, uevents.ErrConflict)
			assert.Equal(t, "app_info", only(t, tr).event, "the level's event has it, and it is no copy")
			continue
		}
		require.NoError(t, err)
		r := only(t, tr)
		assert.True(t, strings.HasPrefix(r.event, want), r.event)
		assert.Equal(t, "200", r.fields["status"])
	}
}
