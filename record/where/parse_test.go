package where

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expressions without what evaluation adds.
type (
	expr        any
	conjunction struct{ x, y expr }
	disjunction struct{ x, y expr }
	negation    struct{ x expr }
	comparison  struct {
		name, text string
		op         operator
		values     []value
	}
)

func exprOf(n node) expr {
	switch n := n.(type) {
	case and:
		return conjunction{exprOf(n.x), exprOf(n.y)}
	case or:
		return disjunction{exprOf(n.x), exprOf(n.y)}
	case not:
		return negation{exprOf(n.x)}
	}
	l := n.(*leaf)
	return comparison{l.name, l.text, l.op, l.values}
}

// TestParse: and binds stronger than or, not stronger than conjunction; places are those in the text.
func TestParse(t *testing.T) {
	text := ""
	compare := func(n string, at int, op operator, end int, values ...value) comparison {
		return comparison{n, text[at:end], op, values}
	}
	has := func(n string, at, end int) comparison { return compare(n, at, opHas, end) }
	one := func(at int) value { return value{text: "1", at: at, number: intOf(1)} }
	for _, c := range []struct {
		text string
		want func() expr
	}{
		{"a == 1", func() expr { return compare("a", 0, opEqual, 6, one(5)) }},
		{"a=1||b!=1&&!c<1", func() expr {
			return disjunction{compare("a", 0, opEqual, 3, one(2)), conjunction{compare("b", 5, opNotEqual, 9, one(8)), negation{compare("c", 12, opLess, 15, one(14))}}}
		}},
		{"(a = 1 or b >= 1) and not c>1", func() expr {
			return conjunction{disjunction{compare("a", 1, opEqual, 6, one(5)), compare("b", 10, opGreaterOrEqual, 16, one(15))}, negation{compare("c", 26, opGreater, 29, one(28))}}
		}},
		{"has a and has(b.c)", func() expr { return conjunction{has("a", 4, 5), has("b.c", 14, 18)} }},
		{"a in (1, 'x y',\n`\"`)", func() expr {
			return compare("a", 0, opEqual, 20, one(6), value{text: "x y", at: 9, quoted: true}, value{text: `"`, at: 16, quoted: true})
		}},
		{"a not in (1)", func() expr { return compare("a", 0, opNotEqual, 12, one(10)) }},
		{"NOT a IN (1) AND HAS b", func() expr { return conjunction{negation{compare("a", 4, opEqual, 12, one(10))}, has("b", 21, 22)} }},
		{`"and" ~ *.[a-z]`, func() expr { return compare("and", 0, opGlob, 15, value{text: "*.[a-z]", at: 8}) }},
		{"a =~ ^x & 1", func() expr { return nil }},
		{"a & 0x1f", func() expr { return compare("a", 0, opMask, 8, value{text: "0x1f", at: 4, number: intOf(31)}) }},
		{"a <= -1.5e3", func() expr {
			return compare("a", 0, opLessOrEqual, 11, value{text: "-1.5e3", at: 5, number: floatOf(-1500)})
		}},
		{"a > 1m30s", func() expr {
			return compare("a", 0, opGreater, 9, value{text: "1m30s", at: 4, number: number{kind: intNumber, int64: 90e9, float64: 90e9, isDuration: true}, time: 90 * time.Second, isTime: true})
		}},
		{"not = 1 or not in (1)", func() expr {
			return disjunction{compare("not", 0, opEqual, 7, one(6)), compare("not", 11, opEqual, 21, one(19))}
		}},
		{"not in = 1", func() expr { return negation{compare("in", 4, opEqual, 10, one(9))} }},
		{"or == 1 and and == 1 or in = 1", func() expr {
			return disjunction{conjunction{compare("or", 0, opEqual, 7, one(6)), compare("and", 12, opEqual, 20, one(19))}, compare("in", 24, opEqual, 30, one(29))}
		}},
	} {
		text = c.text
		want := c.want()
		got, err := Parse(text)
		if want == nil {
			assert.ErrorIs(t, err, fs.ErrInvalid, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, exprOf(got.root), text)
	}
}

// TestParseErrors: an error says what is wrong, and where.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text    string
		at      int
		problem string
	}{
		{"a == b c", 7, "and or or expected; a text of several words needs quotes"},
		{"a > 1 ms", 6, "and or or expected; a time has no blank before its unit"},
		{"a > 1 ,", 6, "and or or expected; a text of several words needs quotes"},
		{"(a > 1 b", 7, "and, or or ) expected; a text of several words needs quotes"},
		{"has a and (b = 1", 10, "( without )"},
		{"a = 1)", 5, ") without ("},
		{"has (a b", 7, ") expected"},
		{"has ", 4, "the name of a value expected, such as level, message or an attribute's"},
		{"has 'a", 4, "a quote without the second one"},
		{"a !~ b", 2, "no operator: write not a ~ PATTERN, or not a =~ EXPRESSION"},
		{"a not b", 2, "in expected behind not, or not before a"},
		{"a b", 2, "an operator expected: == != < <= > >= ~ =~ & or in; has a selects records that have it"},
		{"a in 1", 5, "( expected: a in (a, b)"},
		{"a in (1 2)", 8, ", or ) expected"},
		{"a == ", 5, "a value expected: a number, a time such as 10ms, a word, or a text in quotes"},
		{"a == \xff", 0, "the condition is not UTF-8"},
	} {
		_, err := Parse(c.text)
		assert.Equal(t, &Error{text: c.text, At: c.at, Problem: c.problem}, err)
	}
	assert.EqualError(t, &Error{text: "a", At: 1, Problem: "x"}, `x, at byte 2 of "a": invalid argument`)
}

// TestParseLimits: what is just within the limits is read.
func TestParseLimits(t *testing.T) {
	depth := func(n int) string { return strings.Repeat("(", n) + "a = 1" + strings.Repeat(")", n) }
	nots := func(n int) string { return strings.Repeat("not ", n) + "a = 1" }
	values := func(n int) string { return "a in (1" + strings.Repeat(",1", n-1) + ")" }
	for _, c := range []struct{ within, beyond string }{
		{"a = " + strings.Repeat("x", maxText-4), "a = " + strings.Repeat("x", maxText-3)},
		{depth(maxDepth - 1), depth(maxDepth)},
		{nots(maxDepth - 1), nots(maxDepth)},
		{depth(maxDepth-1) + " or " + depth(maxDepth-1), depth(1) + " and " + depth(maxDepth)},
		{values(maxValues), values(maxValues + 1)},
	} {
		_, err := Parse(c.within)
		require.NoError(t, err)
		_, err = Parse(c.beyond)
		require.ErrorIs(t, err, fs.ErrInvalid)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]number{
		"0": intOf(0), "-7": intOf(-7), "0x10": intOf(16), "-0x10": intOf(-16), "007": intOf(7), "9223372036854775807": intOf(math.MaxInt64), "9223372036854775808": uintOf(1 << 63),
		"18446744073709551615": uintOf(math.MaxUint64), "18446744073709551616": floatOf(1 << 64), "0xffffffffffffffff": uintOf(math.MaxUint64), ".5": floatOf(0.5), "1e3": floatOf(1000), "-1.25": floatOf(-1.25),
		"": {}, "-": {}, "x": {}, "1x": {}, "0x": {}, "0xg": {}, "1_000": {}, "nan": {}, "inf": {}, "+1": {}, "1e400": {}, "--1": {}, "0x1p4": {}, "١": {},
	} {
		assert.Equal(t, want, parseNumber(text), text)
	}
	ordered := []number{floatOf(math.Inf(-1)), intOf(math.MinInt64), floatOf(-1.5), intOf(-1), intOf(0), floatOf(0.5), intOf(1), intOf(math.MaxInt64), uintOf(1 << 63), uintOf(math.MaxUint64), floatOf(math.Inf(1))}
	for i, a := range ordered {
		for j, b := range ordered {
			order := a.compare(b)
			if a.kind != floatNumber && b.kind != floatNumber || i == j || math.Abs(a.float64) < 1<<50 || math.Abs(b.float64) < 1<<50 {
				assert.Equal(t, cmp.Compare(i, j), order, "%v %v", a, b)
			}
			assert.Equal(t, order < 0, opLess.holds(order))
			assert.Equal(t, order <= 0, opLessOrEqual.holds(order))
			assert.Equal(t, order > 0, opGreater.holds(order))
			assert.Equal(t, order >= 0, opGreaterOrEqual.holds(order))
			assert.Equal(t, order == 0, opEqual.holds(order))
			assert.Equal(t, order != 0, opNotEqual.holds(order))
			assert.False(t, opMask.holds(order))
		}
	}
	assert.Equal(t, number{}, floatOf(math.NaN()))
}

// FuzzParse: exactly one of expression and error, which is about a place in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a == 1", "a in (1, 'x')", "not (has b or c =~ `x`)", "a & 0x1 and b < 1.5s", "((", "a not in ("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Parse(text)
		var e *Error
		switch {
		case (x == nil) == (err == nil):
			t.Fatal("exactly one of expression and error")
		case err != nil && (!errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.text != text || e.Problem == ""):
			t.Fatalf("%#v", err)
		}
	})
}
