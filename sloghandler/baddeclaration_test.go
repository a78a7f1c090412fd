package sloghandler_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
			k := ueventstest.New(t, nil)
			p := k.Provider()
			defer p.Close()
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

			tr, err := k.Attach(ueventstest.Ftrace, "app_*")
			require.NoError(t, err)
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
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{&d}})
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	defer func() { require.NoError(t, h.Close()) }()
	tr, err := k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
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
			k := ueventstest.New(t, nil)
			p := k.Provider()
			defer func() { require.NoError(t, p.Close()) }()
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
