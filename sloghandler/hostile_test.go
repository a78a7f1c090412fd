package sloghandler_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
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

// anyOf returns a function that returns an attribute.
func anyOf(v any) func() []slog.Attr {
	return func() []slog.Attr { return []slog.Attr{slog.Any("k", v)} }
}

func attrsOfCall(attrs ...slog.Attr) func() []slog.Attr {
	return func() []slog.Attr { return append([]slog.Attr(nil), attrs...) }
}

const (
	megabyte  = 1 << 20
	hugeText  = "a record has an upper limit"
	notUTF8   = "a byte that is not UTF-8 is kept; slog.JSONHandler writes U+FFFD"
	notNumber = "NaN and infinities are written as OpenTelemetry names them; slog.JSONHandler writes an error"
)

var large = strings.Repeat("lörem ipsum ", megabyte/13)

// hostiles are grouped by what is hostile in them.
var hostiles = []hostile{
	// LogValuers
	{name: "LogValuer that panics", attrs: anyOf(panics{})},
	{name: "LogValuer that returns itself", attrs: anyOf(loops{})},
	{name: "LogValuer that returns a group with itself", attrs: anyOf(endless{}), fatal: true, endless: true, differs: "slog.JSONHandler overflows the stack, which ends the program"},
	{name: "LogValuer that returns a group with itself twice", attrs: anyOf(tree{}), fatal: true, endless: true, differs: "slog.JSONHandler overflows the stack, which ends the program"},
	{name: "two LogValuers that return each other", attrs: anyOf(ping{})},
	{name: "LogValuer that returns a group of LogValuers", attrs: anyOf(valuer{slog.GroupValue(slog.Any("a", valuer{slog.IntValue(1)}), slog.Any("b", panics{}))})},
	{name: "LogValuer that returns an empty group", attrs: anyOf(valuer{slog.GroupValue()})},
	{name: "LogValuer that returns nil", attrs: anyOf(valuer{slog.AnyValue(nil)})},
	{name: "LogValuer that returns nil without a key", attrs: attrsOfCall(slog.Any("", valuer{slog.AnyValue(nil)}))},
	{name: "LogValuer that returns the zero Value", attrs: anyOf(valuer{})},
	{name: "nil pointer to a LogValuer", attrs: anyOf((*valuer)(nil))},
	{name: "nil pointer whose LogValue copes", attrs: anyOf((*nilValuer)(nil))},
	{name: "LogValuer in a slice", attrs: anyOf([]any{exportedValuer{X: 1}})},
	{name: "LogValuer in an anonymous group", attrs: attrsOfCall(slog.Group("", slog.Any("", valuer{slog.GroupValue(slog.Int("x", 1))})))},

	// nil
	{name: "nil error", attrs: anyOf(error(nil))},
	{name: "nil pointer to an error", attrs: anyOf((*fs.PathError)(nil))},
	{name: "nil pointer to a Stringer", attrs: anyOf((*bytes.Buffer)(nil))},
	{name: "nil pointer to a Marshaler", attrs: anyOf((*big.Int)(nil))},
	{name: "nil map, slice and pointer", attrs: attrsOfCall(slog.Any("m", map[string]any(nil)), slog.Any("s", []string(nil)), slog.Any("i", []int(nil)), slog.Any("p", (*int)(nil)))},
	{name: "nil in a slice, a map and a struct", attrs: anyOf([]any{nil, map[string]any{"x": nil}, struct{ P *int }{}})},
	{name: "zero Attr", attrs: attrsOfCall(slog.Attr{})},

	// cycles
	{name: "map that holds itself", attrs: cyclicMap, endless: true, differs: "maps and slices are written as deep as there is room; slog.JSONHandler writes an error"},
	{name: "slice that holds itself", attrs: cyclicSlice, endless: true, differs: "maps and slices are written as deep as there is room; slog.JSONHandler writes an error"},
	{name: "pointer to itself", attrs: cyclicPointer},
	{name: "type that holds itself through a map", attrs: cyclicNode},
	{name: "list of 500 pointers", attrs: anyOf(listOf(500)), endless: true, differs: hugeText},

	// characters
	{name: "invalid UTF-8 in a value", attrs: attrsOfCall(slog.String("k", "a\xff\xc3b")), differs: notUTF8, want: `{"k":"a\uefff\uefc3b"}`},
	{name: "invalid UTF-8 in a key", attrs: attrsOfCall(slog.Int("a\xff", 1)), differs: notUTF8, want: `{"a\uefff":1}`},
	{name: "invalid UTF-8 in a message", message: "a\xff", differs: notUTF8, want: `{}`},
	{name: "invalid UTF-8 in a slice", attrs: anyOf([]string{"\xed\xa0\x80"}), differs: notUTF8, want: `{"k":["\uefed\uefa0\uef80"]}`},
	{name: "invalid UTF-8 in a struct", attrs: anyOf(struct{ X string }{"\xff"})},
	{name: "invalid UTF-8 in an error", attrs: anyOf(errors.New("\xff")), differs: notUTF8, want: `{"k":"\uefff"}`},
	{name: "characters that stand for bytes", attrs: attrsOfCall(slog.String("k", "\uef80\uefff"))},
	{name: "NUL and control characters", message: "a\x00b\x1b[2J\r\n", attrs: attrsOfCall(slog.String("k", "a\x00\x07\x1b[2J\x7f\u0085\r\n\t"))},
	{name: "control characters in keys", attrs: attrsOfCall(slog.Int("a\x00\n\x1b", 1), slog.Group("g\n", slog.Int("x", 1)))},
	{name: "direction of text", message: "a\u202eb", attrs: attrsOfCall(slog.String("k", "\u202e\u2066x\u2069\u200f"))},
	{name: "invisible characters and ends of lines", message: "\ufeff\u200b\u2028", attrs: attrsOfCall(slog.String("k", "\ufeff\u200b\u2028\u2029\u00ad"))},
	{name: "quotes, backslashes and HTML", message: `"\<&>`, attrs: attrsOfCall(slog.String(`"\`, `"\u0041 <script>&'`), slog.Any("j", map[string]string{"<": "&"}))},
	{name: "text that looks like a record", message: "m\n{\"level\":\"ERROR\"}", attrs: attrsOfCall(slog.String("k", "\"},\"x\":{"))},
	{name: "semicolon in a key", attrs: attrsOfCall(slog.Int("a;tag=1", 1))},

	// sizes
	{name: "message of a megabyte", message: large, attrs: attrsOfCall(slog.Int("n", 1)), cut: true, differs: hugeText},
	{name: "value of a megabyte", attrs: attrsOfCall(slog.String("k", large), slog.Int("n", 1)), cut: true, differs: hugeText},
	{name: "error of a megabyte", attrs: anyOf(errors.New(large)), cut: true, differs: hugeText},
	{name: "slice with a text of a megabyte", attrs: anyOf([]string{large, "x"}), cut: true, lost: true, differs: hugeText},
	{name: "key of a megabyte", attrs: attrsOfCall(slog.Int(large, 1)), cut: true, lost: true, differs: hugeText},
	{name: "Marshaler of a megabyte", attrs: anyOf(marshals(`"` + large + `"`)), cut: true, lost: true, differs: hugeText},
	{name: "name of a group of a megabyte", attrs: attrsOfCall(slog.Group(large, slog.Int("x", 1))), cut: true, lost: true, differs: hugeText},

	// times
	{name: "zero time", attrs: attrsOfCall(slog.Time("k", time.Time{}))},
	{name: "year 10001", attrs: attrsOfCall(slog.Time("k", time.Date(10001, 1, 2, 3, 4, 5, 6, time.UTC))), differs: "slog.JSONHandler writes an error and the time, which is no JSON", want: `{"k":"10001-01-02T03:04:05.000000006Z"}`},
	{name: "year -1", attrs: attrsOfCall(slog.Time("k", time.Date(-1, 1, 2, 3, 4, 5, 0, time.UTC))), differs: "slog.JSONHandler writes an error and the time, which is no JSON", want: `{"k":"-0001-01-02T03:04:05Z"}`},
	{name: "year 10001 in a slice", attrs: anyOf([]time.Time{time.Date(10001, 1, 2, 3, 4, 5, 6, time.UTC)})},
	{name: "monotonic time", attrs: attrsOfCall(slog.Time("k", time.Now().UTC()))},
	{name: "time zone", attrs: attrsOfCall(slog.Time("k", time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 5400))))},

	// numbers
	{name: "NaN", attrs: attrsOfCall(slog.Float64("k", math.NaN())), differs: notNumber, want: `{"k":"NaN"}`},
	{name: "infinities", attrs: attrsOfCall(slog.Float64("p", math.Inf(1)), slog.Float64("n", math.Inf(-1))), differs: notNumber, want: `{"p":"Infinity","n":"-Infinity"}`},
	{name: "NaN in a slice of floats", attrs: anyOf([]float64{1, math.NaN()}), differs: notNumber, want: `{"k":[1,"NaN"]}`},
	{name: "NaN in a struct", attrs: anyOf(struct{ F float64 }{math.NaN()})},
	{name: "extremes of floats", attrs: attrsOfCall(slog.Float64("z", math.Copysign(0, -1)), slog.Float64("m", math.MaxFloat64), slog.Float64("s", math.SmallestNonzeroFloat64), slog.Any("f", float32(0.1)))},
	{name: "extremes of integers", attrs: attrsOfCall(slog.Uint64("u", math.MaxUint64), slog.Int64("i", math.MinInt64), slog.Duration("d", math.MinInt64), slog.Any("b", uint8(255)), slog.Any("p", uintptr(1)))},
	{name: "complex number", attrs: anyOf(complex(1, 2))},
	{name: "level out of range", level: math.MaxInt, attrs: anyOf(slog.Level(math.MinInt))},
	{name: "lowest level", level: math.MinInt32, attrs: anyOf(slog.LevelError + 3)},

	// groups and keys
	{name: "anonymous groups in anonymous groups", attrs: attrsOfCall(slog.Group("", slog.Group("", slog.Group("", slog.Int("x", 1)), slog.Int("y", 2)), slog.Group("")))},
	{name: "groups of empty groups", attrs: attrsOfCall(slog.Group("a", slog.Group("b", slog.Group("", slog.Group("c")))))},
	{name: "group of a zero Attr", attrs: attrsOfCall(slog.Group("d", slog.Attr{})), broken: true, differs: "slog.JSONHandler leaves out a comma", want: `{}`},
	{name: "empty key", attrs: attrsOfCall(slog.Int("", 1), slog.String("", "x"))},
	{name: "equal keys", attrs: attrsOfCall(slog.Int("k", 1), slog.Int("k", 2), slog.Group("k", slog.Int("k", 3)), slog.Group("k", slog.Int("k", 4)), slog.Int("after", 0))},
	{name: "key like a field", attrs: attrsOfCall(slog.Int("truncated", 1), slog.String("attributes", "x"), slog.String("msgs", "y"))},
	{name: "20 nested groups", attrs: attrsOfCall(nested(20))},
	{name: "40 nested groups", attrs: attrsOfCall(nested(40))},
	{name: "group whose name is not UTF-8", group: "g\xff", attrs: attrsOfCall(slog.Group("h\xff", slog.Int("x", 1))), differs: notUTF8, want: `{"h\uefff":{"x":1}}`},

	// methods
	{name: "MarshalJSON panics", attrs: anyOf(marshalPanics{})},
	{name: "MarshalJSON fails", attrs: anyOf(marshalFails{})},
	{name: "MarshalJSON returns no JSON", attrs: anyOf(marshals("{not json"))},
	{name: "MarshalJSON returns nothing", attrs: anyOf(marshals(""))},
	{name: "MarshalJSON returns two lines", attrs: anyOf(marshals("{\n\"x\":\n[1, 2]}"))},
	{name: "MarshalText fails", attrs: anyOf(textFails{})},
	{name: "MarshalText panics in a key of a map", attrs: anyOf(map[textPanics]int{{}: 1})},
	{name: "MarshalText gives the keys of a map", attrs: anyOf(map[netip.Addr]int{netip.MustParseAddr("::1"): 1})},
	{name: "Error panics", attrs: anyOf(errorPanics{})},
	{name: "Error panics with an error that panics", attrs: anyOf(errorPanics{errorPanics{}})},
	{name: "error with MarshalJSON", attrs: anyOf(marshalError{})},
	{name: "joined errors", attrs: anyOf(errors.Join(errors.New("a"), errors.New("b\nc")))},
	{name: "errors in a slice", attrs: anyOf([]error{errors.New("x"), nil}), differs: "errors in a slice are written as their texts; slog.JSONHandler writes {}", want: `{"k":["x",null]}`},
	{name: "errors in other containers", attrs: anyOf([]any{errors.New("x"), map[string]error{"e": errors.New("y")}}), differs: "errors in a slice are written as their texts; slog.JSONHandler writes {}", want: `{"k":["x",{"e":{}}]}`},

	// types
	{name: "channel", attrs: anyOf(make(chan int))},
	{name: "function", attrs: anyOf(func() {})},
	{name: "function in a struct", attrs: anyOf(struct{ F func() }{})},
	{name: "bytes", attrs: attrsOfCall(slog.Any("n", []byte(nil)), slog.Any("e", []byte{}), slog.Any("b", []byte{0, 255, 10}), slog.Any("a", [2]byte{1, 2}))},
	{name: "RawMessage", attrs: attrsOfCall(slog.Any("v", json.RawMessage(`{"a": [1, "\u202e"]}`)), slog.Any("n", json.RawMessage(nil)), slog.Any("i", json.RawMessage(`{"`)))},
	{name: "Number", attrs: attrsOfCall(slog.Any("n", json.Number("12345678901234567890123")), slog.Any("e", json.Number("")), slog.Any("i", json.Number("1x")))},
	{name: "big integer", attrs: anyOf(new(big.Int).Lsh(big.NewInt(1), 200))},
	{name: "Attr", attrs: anyOf(slog.Int("a", 1))},
	{name: "Attrs", attrs: anyOf([]slog.Attr{slog.Int("a", 1), slog.Any("b", panics{})})},
	{name: "Value", attrs: anyOf(slog.AnyValue(slog.AnyValue(slog.IntValue(1))))},
	{name: "pointer to a Value", attrs: anyOf(new(slog.Value))},
	{name: "Source", attrs: attrsOfCall(slog.Any("s", slog.Source{Function: "f", File: "x.go", Line: 1}), slog.Any("p", &slog.Source{Function: "f", File: "x.go", Line: 1}))},
	{name: "empty Source", attrs: anyOf(&slog.Source{}), differs: "slog.JSONHandler writes a *slog.Source as a group of what is not empty", want: `{"k":{"function":"","file":"","line":0}}`},
	{name: "unexported fields", attrs: anyOf(struct{ X, y int }{1, 2})},
	{name: "keys of a map that are numbers", attrs: anyOf(map[int]string{2: "b", -1: "a"})},
}

type tree struct{}

func (tree) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("left", tree{}), slog.Any("right", tree{}))
}

type ping struct{}

func (ping) LogValue() slog.Value { return slog.AnyValue(pong{}) }

type pong struct{}

func (pong) LogValue() slog.Value { return slog.AnyValue(ping{}) }

type nilValuer struct{}

func (v *nilValuer) LogValue() slog.Value { return slog.BoolValue(v == nil) }

type exportedValuer struct{ X int }

func (exportedValuer) LogValue() slog.Value { return slog.StringValue("is not asked") }

type marshals string

func (m marshals) MarshalJSON() ([]byte, error) { return []byte(m), nil }

type marshalFails struct{}

func (marshalFails) MarshalJSON() ([]byte, error) { return nil, errors.New("fails\n\x1b") }

type textFails struct{}

func (textFails) MarshalText() ([]byte, error) { return nil, errors.New("fails") }

type textPanics struct{}

func (textPanics) MarshalText() ([]byte, error) { panic("no text") }

type errorPanics struct{ with any }

func (e errorPanics) Error() string { panic(e.with) }

type marshalError struct{}

func (marshalError) Error() string                { return "not this" }
func (marshalError) MarshalJSON() ([]byte, error) { return []byte(`{"code":1}`), nil }

type node struct {
	N    int              `json:"n"`
	Next *node            `json:"next"`
	Many map[string]*node `json:"many,omitempty"`
}

func listOf(n int) (list *node) {
	for i := range n {
		list = &node{N: i, Next: list}
	}
	return list
}

func cyclicMap() []slog.Attr {
	m := map[string]any{}
	m["self"] = m
	return []slog.Attr{slog.Any("k", m)}
}

func cyclicSlice() []slog.Attr {
	s := []any{1, nil}
	s[1] = s
	return []slog.Attr{slog.Any("k", s)}
}

func cyclicPointer() []slog.Attr {
	n := &node{}
	n.Next = n
	return []slog.Attr{slog.Any("k", n)}
}

func cyclicNode() []slog.Attr {
	n := &node{}
	n.Many = map[string]*node{"self": n}
	return []slog.Attr{slog.Any("k", n)}
}

func nested(depth int) slog.Attr {
	a := slog.Int("x", 1)
	for range depth {
		a = slog.Group("g", a)
	}
	return a
}
