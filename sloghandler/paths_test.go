package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// randomRecords returns how many random records a test logs.
func randomRecords() int { return testscale.Count(1_000_000, 1_500) }

// randomFields are the fields of a declared record. Random attributes match them, have other types, or have no field.
type randomFields struct {
	K0 string `uevent:"k0"`
	K1 int32  `uevent:"k1"`
	G0 struct {
		K2 bool `uevent:"k2"`
	} `uevent:"g0"`
	K3   time.Duration `uevent:"k3_ns"`
	Long string        `uevent:"long"`
}

var randomDeclared = []sloghandler.AnyDeclaration{sloghandler.Declare[randomFields]("declared", nil)}

// TestPathsWriteTheSame logs random records through a handler that encodes attributes as they come where it can, one that resolves
// all of them, and one that gets those that the others bind with the call: the payloads are the same, byte for byte.
func TestPathsWriteTheSame(t *testing.T) {
	options := map[string]sloghandler.Options{
		"plain":               {},
		"source":              {AddSource: true},
		"keep last":           {UniqueKeys: true},
		"small":               {MaxPayload: 320},
		"declared":            {Declarations: randomDeclared},
		"declared, keep last": {Declarations: randomDeclared, UniqueKeys: true},
		"declared, small":     {Declarations: randomDeclared, MaxPayload: 320, AddSource: true},
		"declared, 700":       {Declarations: randomDeclared, MaxPayload: 700},
	}
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			samePayloads(t, o, randomRecords()/len(options))
		})
	}
}

// samePayloads logs n records. Those of a batch have a logger in common, as those of a request have.
func samePayloads(t *testing.T, o sloghandler.Options, n int) {
	const batch = 20
	streamed, streamedTool := attached(t, o)
	inCall, inCallTool := attached(t, o)
	o.ReplaceAttr = unchanged
	resolved, resolvedTool := attached(t, o)
	pc := here()
	for seed := range uint64(n / batch) {
		random := rand.New(rand.NewPCG(seed, 9))
		handlers := [2]slog.Handler{streamed, resolved}
		var bound []step
		for range random.IntN(4) {
			s := step{attrs: attrsOf(randomArgs(random, 1))}
			if random.IntN(3) == 0 {
				s = step{group: fmt.Sprint("g", random.IntN(2))}
			}
			bound = append(bound, s)
			for i := range handlers {
				if s.group != "" {
					handlers[i] = handlers[i].WithGroup(s.group)
				} else {
					handlers[i] = handlers[i].WithAttrs(s.attrs)
				}
			}
		}
		for range batch {
			r := randomRecord(random, pc)
			require.NoError(t, handlers[0].Handle(t.Context(), r))
			require.NoError(t, handlers[1].Handle(t.Context(), r))
			require.NoError(t, inCall.Handle(t.Context(), withBound(r, bound)))
		}
		got, want := streamedTool.Records(), resolvedTool.Records()
		require.GreaterOrEqual(t, len(got), batch)
		sameRecords(t, seed, want, got)
		sameRecords(t, seed, inCallTool.Records(), got)
	}
	assert.Equal(t, resolved.Stats(), streamed.Stats())
	var written, cut uint64
	for name, s := range streamed.Stats() {
		assert.Zero(t, s.Refused, name)
		written, cut = written+s.Written, cut+s.Truncated
	}
	assert.GreaterOrEqual(t, written, uint64(n/batch*batch))
	assert.Positive(t, cut)
	assert.Greater(t, written, cut)
}

func sameRecords(t *testing.T, seed uint64, want, got []ueventstest.Record) {
	t.Helper()
	require.Len(t, want, len(got))
	for i := range got {
		if got[i].Event != want[i].Event || string(got[i].Payload) != string(want[i].Payload) {
			require.Equal(t, decoded(t, want[i]), decoded(t, got[i]), "seed %d, record %d", seed, i)
			require.Equal(t, want[i].Payload, got[i].Payload, "seed %d, record %d", seed, i)
		}
	}
}

// step is what WithGroup or WithAttrs is given.
type step struct {
	group string
	attrs []slog.Attr
}

// withBound returns a record that has as attributes of its own what a handler would add.
func withBound(r slog.Record, bound []step) slog.Record {
	attrs := []slog.Attr{}
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, s := range slices.Backward(bound) {
		if s.group != "" {
			attrs = []slog.Attr{{Key: s.group, Value: slog.GroupValue(attrs...)}}
		} else {
			attrs = append(slices.Clone(s.attrs), attrs...)
		}
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	out.AddAttrs(attrs...)
	return out
}

var (
	longText = strings.Repeat("lörem \"ipsum\"\n\x00", 1000)
	aTime    = time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
	levels   = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
)

// randomRecord returns a record. One in ten is above the limit of what tracing tools keep.
func randomRecord(random *rand.Rand, pc uintptr) slog.Record {
	message := [...]string{"declared", "declared", "other", "", "a\x1b\"\xff"}[random.IntN(5)]
	if random.IntN(40) == 0 {
		message = longText[:random.IntN(len(longText))]
	}
	r := slog.NewRecord(aTime, levels[random.IntN(len(levels))], message, pc)
	r.Add(randomArgs(random, random.IntN(3))...)
	if random.IntN(10) == 0 {
		r.AddAttrs(slog.String("long", longText[random.IntN(100):random.IntN(len(longText)-100)+100]))
	}
	r.Add(randomArgs(random, 0)...)
	return r
}

// here returns the program counter of a log call.
func here() uintptr {
	var pc [1]uintptr
	runtime.Callers(1, pc[:])
	return pc[0]
}

func attrsOf(args []any) (attrs []slog.Attr) {
	for _, a := range args {
		attrs = append(attrs, a.(slog.Attr))
	}
	return attrs
}

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

// TestDuplicatesByPlace: a nil is a value, a group without a name or attributes is none, attributes of one name in several groups are
// no duplicates, and a group that the handler has opened is not where the attributes of the context are.
func TestDuplicatesByPlace(t *testing.T) {
	for _, c := range []struct {
		want    string
		context []slog.Attr
		with    func(*slog.Logger) *slog.Logger
		args    []any
	}{
		{want: `{"k":null}`, args: []any{"k", 1, "k", nil}},
		{want: `{"g":1,"k":2}`, args: []any{"g", 1, slog.Group("g", slog.Attr{}), "k", 2}},
		{want: `{"a":1,"g":{"x":1,"h":{"x":2}},"x":3}`, args: []any{"a", 1, slog.Group("g", "x", 1, slog.Group("h", "x", 2)), "x", 3}},
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
