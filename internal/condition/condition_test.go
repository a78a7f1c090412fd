package condition

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func name(text string, at int) Name { return Name{text, at} }

type (
	Expr any
	And  struct{ X, Y Expr }
	Or   struct{ X, Y Expr }
	Not  struct{ X Expr }
)

func parse(text string) (Expr, error) {
	return Parse(text, Builder[Expr]{
		And:     func(x, y Expr) Expr { return And{x, y} },
		Or:      func(x, y Expr) Expr { return Or{x, y} },
		Not:     func(x Expr) Expr { return Not{x} },
		Compare: func(c *Compare) (Expr, error) { return c, nil },
	})
}

// TestParse: and binds stronger than or, not stronger than both; places are those in the text.
func TestParse(t *testing.T) {
	compare := func(n string, at int, op Op, end int, values ...Value) *Compare {
		return &Compare{Name: name(n, at), Op: op, Values: values, End: end}
	}
	has := func(n string, at, end int) *Compare { return &Compare{Name: name(n, at), Op: Has, End: end} }
	one := func(at int) Value { return Value{Text: "1", At: at, Number: OfInt(1)} }
	for text, want := range map[string]Expr{
		"a == 1":                         compare("a", 0, Equal, 6, one(5)),
		"a=1||b!=1&&!c<1":                Or{compare("a", 0, Equal, 3, one(2)), And{compare("b", 5, NotEqual, 9, one(8)), Not{compare("c", 12, Less, 15, one(14))}}},
		"(a = 1 or b >= 1) and not c>1":  And{Or{compare("a", 1, Equal, 6, one(5)), compare("b", 10, GreaterOrEqual, 16, one(15))}, Not{compare("c", 26, Greater, 29, one(28))}},
		"has a and has(b.c)":             And{has("a", 4, 5), has("b.c", 14, 18)},
		"a in (1, 'x y',\n`\"`)":         compare("a", 0, Equal, 20, one(6), Value{Text: "x y", At: 9, Quoted: true}, Value{Text: `"`, At: 16, Quoted: true}),
		"a not in (1)":                   compare("a", 0, NotEqual, 12, one(10)),
		"NOT a IN (1) AND HAS b":         And{Not{compare("a", 4, Equal, 12, one(10))}, has("b", 21, 22)},
		`"and" ~ *.[a-z]`:                compare("and", 0, Glob, 15, Value{Text: "*.[a-z]", At: 8}),
		"a =~ ^x & 1":                    nil,
		"a & 0x1f":                       compare("a", 0, Mask, 8, Value{Text: "0x1f", At: 4, Number: OfInt(31)}),
		"a <= -1.5e3":                    compare("a", 0, LessOrEqual, 11, Value{Text: "-1.5e3", At: 5, Number: OfFloat(-1500)}),
		"a > 1m30s":                      compare("a", 0, Greater, 9, Value{Text: "1m30s", At: 4, Number: Number{Kind: Int, Int: 90e9, Float: 90e9, Duration: true}}),
		"not = 1 or not in (1)":          Or{compare("not", 0, Equal, 7, one(6)), compare("not", 11, Equal, 21, one(19))},
		"not in = 1":                     Not{compare("in", 4, Equal, 10, one(9))},
		"or == 1 and and == 1 or in = 1": Or{And{compare("or", 0, Equal, 7, one(6)), compare("and", 12, Equal, 20, one(19))}, compare("in", 24, Equal, 30, one(29))},
	} {
		got, err := parse(text)
		if want == nil {
			assert.ErrorIs(t, err, fs.ErrInvalid, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
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
		_, err := parse(c.text)
		assert.Equal(t, &Error{Text: c.text, At: c.at, Problem: c.problem}, err)
	}
	assert.EqualError(t, &Error{Text: "a", At: 1, Problem: "x"}, `x, at byte 2 of "a": invalid argument`)
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
		_, err := parse(c.within)
		require.NoError(t, err)
		_, err = parse(c.beyond)
		require.ErrorIs(t, err, fs.ErrInvalid)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]Number{
		"0": OfInt(0), "-7": OfInt(-7), "0x10": OfInt(16), "-0x10": OfInt(-16), "007": OfInt(7), "9223372036854775807": OfInt(math.MaxInt64), "9223372036854775808": OfUint(1 << 63),
		"18446744073709551615": OfUint(math.MaxUint64), "18446744073709551616": OfFloat(1 << 64), "0xffffffffffffffff": OfUint(math.MaxUint64), ".5": OfFloat(0.5), "1e3": OfFloat(1000), "-1.25": OfFloat(-1.25),
		"": {}, "-": {}, "x": {}, "1x": {}, "0x": {}, "0xg": {}, "1_000": {}, "nan": {}, "inf": {}, "+1": {}, "1e400": {}, "--1": {}, "0x1p4": {}, "١": {},
	} {
		assert.Equal(t, want, ParseNumber(text), text)
	}
	ordered := []Number{OfFloat(math.Inf(-1)), OfInt(math.MinInt64), OfFloat(-1.5), OfInt(-1), OfInt(0), OfFloat(0.5), OfInt(1), OfInt(math.MaxInt64), OfUint(1 << 63), OfUint(math.MaxUint64), OfFloat(math.Inf(1))}
	for i, a := range ordered {
		for j, b := range ordered {
			order := a.Compare(b)
			if a.Kind != Float && b.Kind != Float || i == j || math.Abs(a.Float) < 1<<50 || math.Abs(b.Float) < 1<<50 {
				assert.Equal(t, cmp.Compare(i, j), order, "%v %v", a, b)
			}
			assert.Equal(t, order < 0, Less.Holds(order))
			assert.Equal(t, order <= 0, LessOrEqual.Holds(order))
			assert.Equal(t, order > 0, Greater.Holds(order))
			assert.Equal(t, order >= 0, GreaterOrEqual.Holds(order))
			assert.Equal(t, order == 0, Equal.Holds(order))
			assert.Equal(t, order != 0, NotEqual.Holds(order))
			assert.False(t, Mask.Holds(order))
		}
	}
	assert.Equal(t, Number{}, OfFloat(math.NaN()))
}

// FuzzParse: exactly one of expression and error, which is about a place in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a == 1", "a in (1, 'x')", "not (has b or c =~ `x`)", "a & 0x1 and b < 1.5s", "((", "a not in ("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parse(text)
		var e *Error
		switch {
		case (x == nil) == (err == nil):
			t.Fatal("exactly one of expression and error")
		case err != nil && (!errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.Text != text || e.Problem == ""):
			t.Fatalf("%#v", err)
		}
	})
}
