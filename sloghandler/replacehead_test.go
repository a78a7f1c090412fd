package sloghandler_test

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

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
