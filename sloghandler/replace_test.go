package sloghandler_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

// TestReplaceHead: ReplaceAttr sees what has a field of its own.
func TestReplaceHead(t *testing.T) {
	for _, c := range []struct {
		name       string
		replace    func(slog.Attr) slog.Attr
		level      string
		message    string
		source     string // "": as it was
		zeroTime   bool
		attributes string
	}{
		{name: "nothing", replace: func(a slog.Attr) slog.Attr { return a }, level: "4", message: "text", attributes: `{"k":1}`},
		{name: "remove all", replace: func(slog.Attr) slog.Attr { return slog.Attr{} }, level: "4", zeroTime: true, source: " ", attributes: `{}`},
		{
			name: "values of the same type",
			replace: func(a slog.Attr) slog.Attr {
				switch a.Key {
				case slog.MessageKey:
					return slog.String("other key", strings.ToUpper(a.Value.String()))
				case slog.LevelKey:
					return slog.Any(a.Key, a.Value.Any().(slog.Level)+1)
				case slog.TimeKey:
					return slog.Time(a.Key, time.Unix(7, 0))
				case slog.SourceKey:
					return slog.String(a.Key, "here")
				}
				return a
			},
			level: "5", message: "TEXT", source: "here", attributes: `{"k":1}`,
		},
		{
			name: "values of other types",
			replace: func(a slog.Attr) slog.Attr {
				switch a.Key {
				case slog.MessageKey:
					return slog.Int("length", len(a.Value.String()))
				case slog.LevelKey:
					return slog.String("severity", a.Value.String())
				case slog.TimeKey:
					return slog.String("time", "noon")
				case slog.SourceKey:
					return slog.Bool("known", true)
				}
				return a
			},
			level: "4", zeroTime: true, source: " ", attributes: `{"time":"noon","severity":"WARN","length":4,"known":true,"k":1}`,
		},
		{
			name:    "it panics",
			replace: func(slog.Attr) slog.Attr { panic("broken") },
			level:   "4", zeroTime: true, message: "!PANIC: broken", source: "!PANIC: broken",
			attributes: `{"time":"!PANIC: broken","level":"!PANIC: broken","k":"!PANIC: broken"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, tr := attached(t, sloghandler.Options{AddSource: true, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
				assert.Empty(t, groups)
				return c.replace(a)
			}})
			slog.New(h).Warn("text", "k", 1)
			r := only(t, tr)
			assert.Equal(t, c.level, r.fields["level"])
			assert.Equal(t, c.message, r.fields["message"])
			assert.Equal(t, c.zeroTime, r.fields["time_unix_nano"] == "0", r.fields["time_unix_nano"])
			assert.Equal(t, c.attributes, r.json)
			switch c.source {
			case "":
				assert.Contains(t, r.fields["source"], "replace_test.go:")
			case " ":
				assert.Empty(t, r.fields["source"])
			default:
				assert.Equal(t, c.source, r.fields["source"])
			}
		})
	}
}

// TestReplaceOnce: what With was given is replaced once and not for every record.
func TestReplaceOnce(t *testing.T) {
	calls := map[string]int{}
	h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		calls[strings.Join(append(groups, a.Key), ".")]++
		return a
	}})
	log := slog.New(h).WithGroup("g").With("bound", 1)
	log.Info("m", "own", 1)
	log.Info("m", "own", 2)
	assert.Len(t, tr.Records(), 2)
	assert.Equal(t, map[string]int{"g.bound": 1, "g.own": 2, "time": 2, "level": 2, "msg": 2}, calls)
}

type key struct{}

func TestContext(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{
		TraceContext: func(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
			switch ctx.Value(key{}) {
			case "traced":
				return [16]byte{0: 0xab, 15: 1}, [8]byte{7: 0xcd}
			case "panic":
				panic("broken")
			}
			return traceID, spanID
		},
		AttrFromContext: []func(context.Context) []slog.Attr{
			func(ctx context.Context) []slog.Attr { return []slog.Attr{slog.Any("from", ctx.Value(key{}))} },
			func(ctx context.Context) []slog.Attr {
				if ctx.Value(key{}) == "panic" {
					panic("broken")
				}
				return nil
			},
		},
	})
	log := slog.New(h).With("w", 1).WithGroup("g")
	log.InfoContext(context.WithValue(t.Context(), key{}, "traced"), "m", "k", 1)
	r := only(t, tr)
	assert.Equal(t, "ab000000000000000000000000000001", r.fields["trace_id"])
	assert.Equal(t, "00000000000000cd", r.fields["span_id"])
	assert.Equal(t, `{"from":"traced","w":1,"g":{"k":1}}`, r.json, "in no group, and before all others")

	log.InfoContext(t.Context(), "m")
	r = only(t, tr)
	assert.Empty(t, r.fields["trace_id"])
	assert.Empty(t, r.fields["span_id"])

	log.InfoContext(context.WithValue(t.Context(), key{}, "panic"), "m")
	r = only(t, tr)
	assert.Empty(t, r.fields["trace_id"])
	assert.Equal(t, "!PANIC: broken", r.attributes["!PANIC"])
}

// TestLeveler: a Leveler of a type of its own is asked late, and heard.
func TestLeveler(t *testing.T) {
	least := slog.LevelWarn
	h, tr := attached(t, sloghandler.Options{Level: leveler{&least}})
	slog.New(h).Info("no")
	slog.New(h).Warn("yes")
	assert.Equal(t, "yes", only(t, tr).fields["message"])
	least = slog.LevelInfo
	slog.New(h).Info("now")
	require.Equal(t, "now", only(t, tr).fields["message"])
}

type leveler struct{ level *slog.Level }

func (l leveler) Level() slog.Level { return *l.level }

// TestReplaceHeadOnce: ReplaceAttr is called once for time, level, message and source, also where its value does not go into the
// field but becomes an attribute. slog.JSONHandler does the same.
func TestReplaceHeadOnce(t *testing.T) {
	names := map[slog.Level]string{slog.LevelInfo: "notice"}
	for _, c := range []struct {
		name    string
		replace func(slog.Attr) slog.Attr
		want    string
	}{
		{"name of a level", func(a slog.Attr) slog.Attr {
			if a.Key == slog.LevelKey {
				a.Value = slog.StringValue(names[a.Value.Any().(slog.Level)])
			}
			return a
		}, `{"level":"notice","k":1}`},
		{"keys with a prefix", func(a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.Int64Value(a.Value.Time().Unix())
			}
			a.Key = "x_" + a.Key
			return a
		}, `{"x_time":1789000000,"x_k":1}`},
		{"other types", func(a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
				a.Value = slog.BoolValue(true)
			}
			return a
		}, `{"time":true,"level":true,"msg":true,"source":true,"k":1}`},
		{"a group", func(a slog.Attr) slog.Attr {
			if a.Key == slog.MessageKey {
				return slog.Group("m", "length", len(a.Value.String()))
			}
			return a
		}, `{"m":{"length":4},"k":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := map[string]int{}
			h, tr := attached(t, sloghandler.Options{AddSource: true, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
				calls[strings.Join(append(groups, a.Key), ".")]++
				return c.replace(a)
			}})
			r := slog.NewRecord(time.Unix(1789000000, 0), slog.LevelInfo, "text", here())
			r.AddAttrs(slog.Int("k", 1))
			require.NoError(t, h.Handle(t.Context(), r))
			assert.JSONEq(t, c.want, only(t, tr).json)
			for key, n := range calls {
				assert.Equal(t, 1, n, key)
			}
			assert.GreaterOrEqual(t, len(calls), 5, "time, level, msg, source and k")
		})
	}
}

// TestReplaceLevel: ReplaceAttr can change the level, as a level or as a number.
func TestReplaceLevel(t *testing.T) {
	for _, value := range []slog.Value{slog.AnyValue(slog.Level(7)), slog.Int64Value(7)} {
		h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.LevelKey {
				a.Value = value
			}
			return a
		}})
		slog.New(h).Warn("m")
		r := only(t, tr)
		assert.Equal(t, "7", r.fields["level"])
		assert.Empty(t, r.attributes)
	}
}

// TestManySources: each record has its own source, also where several places have one hash.
func TestManySources(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{AddSource: true})
	first := here()
	for range 2 {
		for pc := first; pc < first+1000; pc++ { // what is behind the function counts, too
			r := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", pc)
			require.NoError(t, h.Handle(t.Context(), r))
			want := ""
			if s := r.Source(); s != nil {
				want = s.Function + " " + s.File + ":" + strconv.Itoa(s.Line)
			}
			require.Equal(t, want, only(t, tr).fields["source"])
		}
	}
}
