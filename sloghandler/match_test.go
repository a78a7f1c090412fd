package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestDottedKeys: the parts of a declared key before its dots are names of groups, the innermost ones around the attribute.
func TestDottedKeys(t *testing.T) {
	type record struct {
		Method string `uevent:"http.method"`
		Route  string `uevent:"http.route.name"`
	}
	declared := []sloghandler.Declared{sloghandler.Declare[record]("m", nil)}
	group := func(name string, args ...any) slog.Attr { return slog.Group(name, args...) }
	for _, c := range []struct {
		attr          slog.Attr
		method, route string
	}{
		{slog.String("http.method", "GET"), "GET", ""},
		{group("http", "method", "GET"), "GET", ""},
		{group("outer", group("http", "method", "GET")), "GET", ""},
		{group("http", "route.name", "/"), "", "/"},
		{group("http", group("route", "name", "/")), "", "/"},
		{group("http.route", "name", "/"), "", "/"},
		{group("", group("http", "method", "GET")), "GET", ""},
		{slog.String("method", "GET"), "", ""},
		{group("other", "method", "GET"), "", ""},
		{group("shttp", "method", "GET"), "", ""},
		{group("h", group("ttp", "method", "GET")), "", ""},
		{group("http", "ethod", "GET"), "", ""},
		{group("http", group("inner", "method", "GET")), "", ""},
		{group("route", group("http", "name", "/")), "", ""},
		{group("route", "name", "/"), "", ""},
	} {
		eachEncoding(t, func(t *testing.T, e sloghandler.Encoding) {
			h, tr := attached(t, sloghandler.Options{Encoding: e, Declared: declared})
			slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "m", c.attr)
			r := only(t, tr)
			assert.Equal(t, c.method, r.fields["http_method"], c.attr)
			assert.Equal(t, c.route, r.fields["http_route_name"], c.attr)
			assert.Equal(t, c.method+c.route == "", len(r.attributes) > 0, "%v is a field or an attribute", c.attr)
		})
	}
}

// TestManyDeclarations: each message has its declaration, however many there are.
func TestManyDeclarations(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	for count := 1; count < 10; count++ {
		var list []sloghandler.Declared
		for i := range count {
			list = append(list, sloghandler.Declare[record](fmt.Sprintf("message %d", i), nil))
		}
		h, tr := attached(t, sloghandler.Options{Declared: list})
		for i := range count + 1 { // the last one is not declared
			slog.New(h).Info(fmt.Sprintf("message %d", i), "n", i)
			r := only(t, tr)
			if i == count {
				assert.Equal(t, "app_info", r.event)
				continue
			}
			assert.Equal(t, fmt.Sprintf("app_message_%d", i), r.event)
			assert.Equal(t, fmt.Sprint(i), r.fields["n"])
		}
	}
}

// TestDeclaredForAllLevels: a declaration without levels is for all of them.
func TestDeclaredForAllLevels(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	eachEncoding(t, func(t *testing.T, e sloghandler.Encoding) {
		h, tr := attached(t, sloghandler.Options{Encoding: e, Declared: []sloghandler.Declared{sloghandler.Declare[record]("m", nil)}})
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			slog.New(h).Log(t.Context(), level, "m", "n", int(level))
			assert.Equal(t, fmt.Sprint(int(level)), only(t, tr).fields["n"])
		}
	})
}

// TestDisabledIsNotCounted: records that reach a handler whose events are disabled are not counted.
func TestDisabledIsNotCounted(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	eachEncoding(t, func(t *testing.T, e sloghandler.Encoding) {
		k := ueventstest.New(t, nil)
		p := k.Provider()
		h, err := sloghandler.New("app", &sloghandler.Options{Provider: p, Encoding: e, Declared: []sloghandler.Declared{sloghandler.Declare[record]("m", nil)}})
		require.NoError(t, err)
		handle := func() {
			for _, message := range []string{"m", "other"} {
				r := slog.Record{Level: slog.LevelInfo, Message: message}
				require.NoError(t, h.Handle(context.Background(), r))
			}
		}
		handle()
		tool, err := k.Attach(ueventstest.Ftrace, "app_error*")
		if e == sloghandler.EventHeader {
			tool, err = k.Attach(ueventstest.Ftrace, "app_L2K2")
		}
		require.NoError(t, err)
		handle()
		tool.Detach()
		if e == sloghandler.Typed {
			tool, err = k.Attach(ueventstest.Ftrace, "app_m")
			require.NoError(t, err)
			handle()
			tool.Detach()
		}
		for name, n := range h.Stats() {
			want := sloghandler.Stats{}
			if name == "app_m" {
				want = sloghandler.Stats{Written: 1, Matched: true}
			}
			assert.Equal(t, want, n, name)
		}
		require.NoError(t, h.Close())
		require.NoError(t, p.Close())
	})
}
