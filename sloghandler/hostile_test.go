package sloghandler_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// hostile is a record that is meant to break a handler.
type hostile struct {
	name    string
	level   slog.Level
	message string // "m" if empty
	group   string // for WithGroup; "g" if empty
	attrs   func() []slog.Attr

	// differs says why the record differs from what slog.JSONHandler writes. want is then the object of attributes, without
	// the one that is added to each record. It is empty if all that is known is what the flags say.
	differs string
	want    string

	cut     bool // it is too large: texts may be cut to a prefix
	lost    bool // and attributes may be missing
	endless bool // it is written as deep as there is room
	fatal   bool // slog.JSONHandler overflows the stack
	broken  bool // it differs only in the places where slog.JSONHandler writes no JSON
}

// whereLogged is a way by which attributes come into a record.
type whereLogged struct {
	name   string
	nested bool
	log    func(h slog.Handler, c *hostile)
}

var places = []whereLogged{
	{"in the call", false, func(h slog.Handler, c *hostile) { c.log(h, c.attrs()) }},
	{"bound", false, func(h slog.Handler, c *hostile) { c.log(h.WithAttrs(c.attrs()), nil) }},
	{"in a group", true, func(h slog.Handler, c *hostile) { c.log(h.WithGroup(c.group), c.attrs()) }},
	{"bound in a group", true, func(h slog.Handler, c *hostile) { c.log(h.WithGroup(c.group).WithAttrs(c.attrs()), nil) }},
}

// log logs the record with one more attribute, which has to survive.
func (c *hostile) log(h slog.Handler, attrs []slog.Attr) {
	slog.New(h).LogAttrs(context.Background(), c.level, c.message, append(attrs, slog.Int("after", 1))...)
}

// TestHostile logs hostile records through our handler and slog.JSONHandler. Both write the same, or the table says why not.
func TestHostile(t *testing.T) {
	testscale.HostOnly(t)
	require.GreaterOrEqual(t, len(hostiles), 58)
	h, tr := attached(t, sloghandler.Options{})
	for _, c := range hostiles {
		c.message, c.group = cmp.Or(c.message, "m"), cmp.Or(c.group, "g")
		if c.attrs == nil {
			c.attrs = func() []slog.Attr { return nil }
		}
		for _, p := range places[:testscale.Count(len(places), 1)] {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				require.NotPanics(t, func() { p.log(h, &c) })
				c.check(t, tr, &p)
			})
		}
	}
	for name, s := range h.Stats() {
		assert.Zero(t, s.Refused, name)
	}
	assert.Zero(t, tr.Oversized())
}

// check compares the only record of a tracer with what slog.JSONHandler writes, or with what the table says if it differs.
func (c *hostile) check(t *testing.T, tr *ueventstest.Tool, p *whereLogged) {
	t.Helper()
	records := tr.Records()
	require.Len(t, records, 1)
	assert.LessOrEqual(t, len(records[0].Payload), tracepoint.MaxPayload)
	got := readRecord(t, records[0])
	expected := logged{message: c.message}
	if !c.fatal {
		expected = theirs(c, p)
	}
	differs := c.differs
	if c.broken && expected.err == nil {
		differs = ""
	}
	if differs == "" {
		require.NoError(t, expected.err, "slog.JSONHandler writes no JSON")
		assert.Equal(t, expected, got)
		return
	}
	if !c.fatal {
		assert.NotEqual(t, expected, got, "the difference is gone: %s", differs)
	}
	if c.want != "" {
		assert.Equal(t, logged{c.message, c.wanted(t, p), nil, 0}, got)
		return
	}
	require.True(t, c.cut || c.endless, "the table does not say what is written")
	assert.Positive(t, got.truncated)
	assert.True(t, isCut(got.message, expected.message), "message")
	if !c.endless {
		assert.True(t, strings.Contains(fmt.Sprint(got.attributes), "{after 1}"), "the attribute behind is lost: %.300v", got.attributes)
		cutOf(t, got.attributes, expected.attributes, c.lost)
	}
}

// wanted returns the attributes that the table says.
func (c *hostile) wanted(t *testing.T, p *whereLogged) members {
	t.Helper()
	value, err := parse([]byte(c.want), text.UnescapeJSON)
	require.NoError(t, err, c.want)
	list := append(value.(members), member{"after", json.Number("1")})
	if p.nested {
		return members{{c.group, list}}
	}
	return list
}

// cutOf reports an error unless got is want with some texts cut.
func cutOf(t *testing.T, got, want any, lost bool) {
	t.Helper()
	switch want := want.(type) {
	case members:
		list, ok := got.(members)
		if !assert.True(t, ok, "%.100v", got) {
			return
		}
		for _, m := range want {
			if len(list) > 0 && isCut(list[0].key, m.key) {
				cutOf(t, list[0].value, m.value, lost)
				list = list[1:]
			} else {
				assert.True(t, lost, "%.100s is missing", m.key)
			}
		}
		assert.Empty(t, list, "not logged")
	case []any:
		if s, ok := got.(string); ok && strings.HasPrefix(s, "[") && strings.HasSuffix(s, text.CutMark) {
			return
		}
		list, ok := got.([]any)
		if !assert.True(t, ok, "%.100v", got) {
			return
		}
		if n := len(list); lost && n > 0 && n < len(want) && list[n-1] == text.CutMark {
			list, want = list[:n-1], want[:n-1]
		}
		if assert.Len(t, list, len(want)) {
			for i := range list {
				cutOf(t, list[i], want[i], lost)
			}
		}
	case string:
		s, ok := got.(string)
		assert.True(t, ok && isCut(s, want), "%.100q of %.100q", got, want)
	default:
		assert.Equal(t, want, got)
	}
}

// isCut reports whether s is the original, or a part of it with the mark.
func isCut(s, original string) bool {
	head, marked := strings.CutSuffix(s, text.CutMark)
	return s == original || marked && strings.HasPrefix(original, head)
}

// theirs returns what slog.JSONHandler makes of a record.
func theirs(c *hostile, p *whereLogged) (l logged) {
	var out bytes.Buffer
	p.log(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.Level(math.MinInt)}), c)
	value, err := parse(out.Bytes(), func(s string) string { return s })
	if err != nil {
		return logged{err: err}
	}
	for _, m := range value.(members) {
		switch m.key {
		case slog.TimeKey, slog.LevelKey:
		case slog.MessageKey:
			l.message = m.value.(string)
		default:
			l.attributes = append(l.attributes, m)
		}
	}
	return l
}

// TestUnprintable: no text of a record has a character that ends a line, drives a terminal or disguises other text, wherever it
// was logged.
func TestUnprintable(t *testing.T) {
	bad := "\x00\x07\x1b\n\r\u0085\u009b\u200b\u200f\u202a\u202e\u2028\u2066\u2069\ufeff\xff"
	h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.SourceKey {
			a.Value = slog.StringValue("source" + bad)
		}
		return a
	}, AddSource: true})
	slog.New(h).With("bound"+bad, bad, slog.Group("group"+bad, "x", bad)).WithGroup("open"+bad).Info("message"+bad,
		"text"+bad, bad, "error", errors.New(bad), "list", []string{bad}, "map", map[string]any{bad: bad},
		"struct", struct{ X string }{bad}, "raw", json.RawMessage("\"\u202e\\u202e\""), "marshaler", marshals("{\"\u2066\":\n\"\u202e\"}"))
	raw := tr.Records()
	require.Len(t, raw, 1)
	r := decoded(t, raw[0])
	for name, value := range r.fields {
		for _, c := range value {
			assert.True(t, unicode.IsPrint(c), "%s has %q: %s", name, c, value)
		}
	}
	assert.True(t, strings.HasPrefix(r.fields["message"], "message"))
	for _, c := range []string{"\u202e", "\u2066", "\u2028", "\ufeff", "\u200b", "\xc2\x85"} {
		assert.NotContains(t, string(raw[0].Payload), c)
	}
}
