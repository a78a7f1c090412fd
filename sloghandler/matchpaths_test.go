package sloghandler_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/sloghandler"
)

func fromContext(attrs ...slog.Attr) []func(context.Context) []slog.Attr {
	return []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { return attrs }}
}

// TestFieldFromContext: an attribute of the context is for a field as one of the call is, and is written where nothing else is.
func TestFieldFromContext(t *testing.T) {
	type record struct {
		Tenant string `uevent:"tenant"`
	}
	declared := []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}
	for path, o := range paths {
		o.Declarations = declared
		for _, c := range []struct {
			key, tenant, json string
		}{
			{"tenant", "blue", `{}`},
			{"other", "", `{"other":"blue"}`},
		} {
			o.AttrFromContext = fromContext(slog.String(c.key, "blue"))
			h, tr := attached(t, o)
			slog.New(h).Info("m")
			r := decoded(t, tr.Records()[0])
			assert.Equal(t, c.tenant, r.fields["tenant"], path)
			assert.Equal(t, c.json, r.json, path)
		}
	}
}

// TestBoundField: the one field of a declaration has the value that a derived handler adds, in a group as well.
func TestBoundField(t *testing.T) {
	type plain struct {
		K int `uevent:"k"`
	}
	type grouped struct {
		K int `uevent:"http.k"`
	}
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{sloghandler.Declare[plain]("plain", nil), sloghandler.Declare[grouped]("grouped", nil)}
		h, tr := attached(t, o)
		slog.New(h).With("k", 7).Info("plain")
		assert.Equal(t, "7", decoded(t, tr.Records()[0]).fields["k"], path)
		slog.New(h).With(slog.Group("http", "k", 7)).Info("grouped")
		assert.Equal(t, "7", decoded(t, tr.Records()[0]).fields["http_k"], path)
		slog.New(h).With(slog.Group("", slog.Group("http", "k", 7))).Info("grouped")
		assert.Equal(t, "7", decoded(t, tr.Records()[0]).fields["http_k"], path)
	}
	// A handler that knows no other field.
	for path, o := range paths {
		for _, c := range []struct {
			declared sloghandler.AnyDeclaration
			field    string
			attr     slog.Attr
		}{
			{sloghandler.Declare[plain]("m", nil), "k", slog.Int("k", 7)},
			{sloghandler.Declare[grouped]("m", nil), "http_k", slog.Group("http", "k", 7)},
		} {
			o.Declarations = []sloghandler.AnyDeclaration{c.declared}
			h, tr := attached(t, o)
			slog.New(h).With(c.attr).Info("m")
			assert.Equal(t, "7", decoded(t, tr.Records()[0]).fields[c.field], path)
		}
	}
}

// TestReplacedField: ReplaceAttr sees the fields of a struct as it sees attributes.
func TestReplacedField(t *testing.T) {
	type record struct {
		Secret string `uevent:"secret"`
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, sloghandler.Options{
		Declarations: []sloghandler.AnyDeclaration{d},
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "secret" {
				return slog.String("secret", "***")
			}
			return a
		},
	})
	d.Logger(h).Log(t.Context(), slog.LevelInfo, &record{"password"})
	records := tr.Records()
	assert.NotEmpty(t, records)
	for _, r := range records {
		assert.NotContains(t, string(r.Payload), "password")
		assert.Contains(t, string(r.Payload), "***")
	}
}

// TestDuplicatesByPlace: a nil is a value, a group without a name is none, and a group that the handler has opened is not
// where the attributes of the context are.
func TestDuplicatesByPlace(t *testing.T) {
	for _, c := range []struct {
		want    string
		context []slog.Attr
		with    func(*slog.Logger) *slog.Logger
		args    []any
	}{
		{want: `{"k":null}`, args: []any{"k", 1, "k", nil}},
		{want: `{"b":0,"k":2}`, args: []any{slog.Group("", "k", 1, "b", 0), "k", 2}},
		{want: `{"g":{"x":2}}`, args: []any{"g", 1, slog.Group("g", slog.Group("", "x", 2), slog.Group(""))}},
		{want: `{"g":{"x":2,"y":1}}`, args: []any{"g", 1, slog.Group("g", slog.Group("", "x", 2), "y", 1)}},
		{want: `{"k":2}`, context: []slog.Attr{slog.Int("k", 1)}, args: []any{"k", 2}},
		{
			want:    `{"k":1,"open":{"k":3,"h":{"k":4}}}`,
			context: []slog.Attr{slog.Int("k", 1)},
			with:    func(l *slog.Logger) *slog.Logger { return l.WithGroup("open") },
			args:    []any{"k", 2, "k", 3, slog.Group("h", "k", 4)},
		},
		{
			want: `{"open":{"h":{"k":4},"k":3}}`,
			with: func(l *slog.Logger) *slog.Logger { return l.WithGroup("open") },
			args: []any{slog.Group("h", "k", 4), "k", 3},
		},
	} {
		h, tr := attached(t, sloghandler.Options{UniqueKeys: true, AttrFromContext: fromContext(c.context...)})
		log := slog.New(h)
		if c.with != nil {
			log = c.with(log)
		}
		log.Info("m", c.args...)
		assert.Equal(t, c.want, only(t, tr).json, "%v", c.args)
	}
}

// TestTextsInOrder: texts are in the order of the fields, in whichever order a record has them.
func TestTextsInOrder(t *testing.T) {
	type record struct {
		A string `uevent:"a"`
		B string `uevent:"b"`
	}
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}
		h, tr := attached(t, o)
		slog.New(h).Info("m", "a", "first", "b", "second")
		want := tr.Records()[0].Payload[8:]
		slog.New(h).Info("m", "b", "second", "a", "first")
		assert.Equal(t, want, tr.Records()[0].Payload[8:], "%s: all but the time", path)
	}
}
