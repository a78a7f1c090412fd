package sloghandler_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
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
			h, tr := attached(t, declaring(httpRequest))
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
	declared := sloghandler.Declare[HTTPRequest]("http request", &sloghandler.DeclarationOptions{Levels: []slog.Level{slog.LevelInfo, slog.LevelError}})
	h, k := newHandler(t, declaring(declared))
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

	tr := attach(t, k, "app_http_request")
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

	tr = attach(t, k, "app_warn", "app_info")
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
	_, k := newHandler(t, declaring(httpRequest, sloghandler.Declare[login]("user signed in", &sloghandler.DeclarationOptions{Name: "login"})))
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
		k, old := recordtest.Kernel(t)
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

type (
	twoForLatency struct {
		Latency time.Duration `uevent:"latency_ns"`
		Text    string        `uevent:"latency"`
	}
	twoOfOneName struct {
		A string `uevent:"k"`
		B int    `uevent:"k"`
	}
	// tooLarge has more than the 512 bytes that the kernel takes.
	tooLarge struct {
		A, B, C, D, E, F struct {
			RatherLongName1, RatherLongName2, RatherLongName3, RatherLongName4, RatherLongName5 string
		}
	}
)

// badDeclarations are wrong, with what the error says.
var badDeclarations = map[string]struct {
	d    sloghandler.AnyDeclaration
	want string
}{
	"two fields for one attribute": {sloghandler.Declare[twoForLatency]("m", nil), `declaration of "m": invalid tracepoint declaration: the attribute "latency" is for two fields, latency_ns and latency: rename one of them`},
	"two fields of one name":       {sloghandler.Declare[twoOfOneName]("m", nil), `declaration of "m": `},
	"a name that all events have": {sloghandler.Declare[struct {
		Level int `uevent:"level"`
	}]("m", nil), `declaration of "m": `},
	"the kernel's limit": {sloghandler.Declare[tooLarge]("m", nil), "the kernel takes 511"},
	"a map":              {sloghandler.Declare[struct{ M map[string]int }]("m", nil), `declaration of "m": `},
	"no fields":          {sloghandler.Declare[struct{}]("m", nil), "has no exported fields"},
	"no struct":          {sloghandler.Declare[int]("m", nil), `declaration of "m": `},
	"a count":            {sloghandler.Declare[struct{ N typed.Truncated }]("m", nil), "leave the field out"},
	"an unknown option": {sloghandler.Declare[struct {
		A int `uevent:"a,omitempty"`
	}]("m", nil), `unknown option "omitempty"`},
	"a level's name":      {sloghandler.Declare[struct{ A int }]("m", &sloghandler.DeclarationOptions{Name: "info"}), "there are two events called app_info: give one of them another name"},
	"a span's name":       {sloghandler.Declare[struct{ A int }]("span start", nil), "package ueventstrace has events whose names end in _span_start: give the declaration another name"},
	"a log record's name": {sloghandler.Declare[struct{ A int }]("m", &sloghandler.DeclarationOptions{Name: "log_info"}), "package ueventslog has events whose names end in _log_info: give"},
	"nil":                 {nil, "a declaration is nil"},
	"a nil pointer":       {(*sloghandler.Declaration[HTTPRequest])(nil), "declaration is nil"},
	"a zero value":        {new(sloghandler.Declaration[HTTPRequest]), "the declaration is empty: make it with Declare"},
}

// TestBadDeclarations: the error is the same on every machine, and records without an event of their own are in their level's.
func TestBadDeclarations(t *testing.T) {
	type good struct{ N int }
	for name, bad := range badDeclarations {
		t.Run(name, func(t *testing.T) {
			k, p := recordtest.Kernel(t)
			unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
			require.Error(t, err)
			declared := []sloghandler.AnyDeclaration{bad.d, sloghandler.Declare[good]("good", nil), sloghandler.Declare[good]("good", &sloghandler.DeclarationOptions{Name: "again"})}
			h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Declarations: declared})
			t.Cleanup(func() { assert.NoError(t, h.Close()) })
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			assert.ErrorContains(t, err, bad.want)
			assert.ErrorContains(t, err, `declaration of "good": `)
			assert.ErrorContains(t, err, "declared twice")
			assert.Equal(t, 1, strings.Count(err.Error(), bad.want), err)
			quiet, quietErr := sloghandler.New("app", &sloghandler.Options{Provider: unsupported, Declarations: declared})
			require.ErrorIs(t, quietErr, tracepoint.ErrInvalid)
			assert.Equal(t, err.Error(), quietErr.Error())
			slog.New(quiet).Info("m")
			require.NoError(t, quiet.Close())

			tr := attach(t, k, "app_*")
			slog.New(h).Info("m", "k", 1)
			r := only(t, tr)
			assert.Equal(t, "m", r.fields["message"])
			assert.Equal(t, `{"k":1}`, r.json)
			assert.EqualValues(t, 1, h.Stats()["app_info"].Written)
			slog.New(h).Info("good")
			assert.Equal(t, "app_good", only(t, tr).event)
		})
	}
}

// TestLoggerOfZeroDeclaration: its records have no fields, and it does not panic.
func TestLoggerOfZeroDeclaration(t *testing.T) {
	var d sloghandler.Declaration[HTTPRequest]
	k, p := recordtest.Kernel(t)
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{&d}})
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	defer func() { require.NoError(t, h.Close()) }()
	tr := attach(t, k, "app_*")
	d.Logger(h).Log(t.Context(), slog.LevelInfo, &HTTPRequest{})
	assert.Equal(t, "app_info", only(t, tr).event)
}

// TestBadArguments: each is one error, on every machine, and the handler works like one without it as far as it can.
func TestBadArguments(t *testing.T) {
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	type arguments struct {
		name  string
		o     sloghandler.Options
		works bool // with the default in place of the argument
	}
	for want, a := range map[string]arguments{
		"the name is empty: give the program's name":                            {name: ""},
		`the name may have ASCII letters, digits and underscores: use "my_app"`: {name: "my-app"},
		"the name has 300 bytes: at most 64 are possible":                       {name: strings.Repeat("a", 300)},
		"unknown Naming 200":                 {name: "app", o: sloghandler.Options{Naming: 200}, works: true},
		"Level is a nil *slog.LevelVar":      {name: "app", o: sloghandler.Options{Level: (*slog.LevelVar)(nil)}, works: true},
		"MaxPayload of -1 bytes is negative": {name: "app", o: sloghandler.Options{MaxPayload: -1}, works: true},
		"a limit of 20 bytes is too small":   {name: "app", o: sloghandler.Options{MaxPayload: 20}},
	} {
		t.Run(want, func(t *testing.T) {
			k, p := recordtest.Kernel(t)
			var texts []string
			for _, provider := range []*uevents.Provider{p, unsupported} {
				a.o.Provider = provider
				if a.name != "app" { // a bad name is one error, however many events it is for
					a.o.Declarations = []sloghandler.AnyDeclaration{sloghandler.Declare[struct{ A int }]("declared", nil)}
				}
				h, err := sloghandler.New(a.name, &a.o)
				require.NotNil(t, h)
				require.ErrorIs(t, err, fs.ErrInvalid)
				assert.ErrorContains(t, err, want)
				assert.ErrorContains(t, err, fmt.Sprintf("sloghandler %q: ", a.name))
				assert.Equal(t, 1, strings.Count(err.Error(), want), err)
				assert.NotContains(t, err.Error(), "\n")
				tr, attachErr := k.Attach(ueventstest.Ftrace, "app_*")
				if a.works && provider == p {
					require.NoError(t, attachErr)
					slog.New(h).With("a", 1).Error("m", "a", 2)
					r := only(t, tr)
					assert.Equal(t, "app_error", r.event)
					assert.Equal(t, `{"a":1,"a":2}`, r.json)
					tr.Detach()
				}
				slog.New(h).With("a", 1).Error("disabled")
				assert.False(t, h.Enabled(t.Context(), slog.LevelError))
				texts = append(texts, err.Error())
				require.NoError(t, h.Close())
			}
			assert.Equal(t, texts[0], texts[1])
		})
	}
}
