package truncationtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a case, and what is left of it.
func sample() (*Case, *Record) {
	c := &Case{Message: "m", Attrs: join(Survivors(), Attr{"a", strings.Repeat("a", 900)}, Attr{"g", Group{{"b", strings.Repeat("b", 800)}}}, Attr{"l", []string{"x", "y"}})}
	return c, &Record{
		Message: "m",
		Attributes: map[string]any{
			"n": json.Number("-1234567890123"), "err": "connect: connection refused", "request_id": "4bf92f3577b34da6a3ce929d0e0e4736",
			"a": strings.Repeat("a", 97) + "...", "g": map[string]any{"b": strings.Repeat("b", 97) + "..."}, "l": []any{"x", "y"},
		},
		Truncated: 2, Size: 500,
	}
}

// TestCheck: what is wrong with a record is found.
func TestCheck(t *testing.T) {
	c, r := sample()
	require.NoError(t, c.Check(500, r))
	for want, spoil := range map[string]func(*Record){
		"message is":                   func(r *Record) { r.Message = "other" },
		"n is -1234567890124":          func(r *Record) { r.Attributes["n"] = int64(-1234567890124) },
		"n is a float64":               func(r *Record) { r.Attributes["n"] = -1234567890123.0 },
		"err was cut":                  func(r *Record) { r.Attributes["err"] = "connect..."; r.Truncated++ },
		"request_id is missing":        func(r *Record) { delete(r.Attributes, "request_id"); r.Truncated++ },
		"a is missing":                 func(r *Record) { delete(r.Attributes, "a") },
		"extra was not logged":         func(r *Record) { r.Attributes["extra"] = "" },
		"no beginning":                 func(r *Record) { r.Attributes["a"] = strings.Repeat("a", 97) },
		"a to 107":                     func(r *Record) { r.Attributes["a"] = strings.Repeat("a", 104) + "..." },
		"was not cut":                  func(r *Record) { r.Attributes["a"] = strings.Repeat("a", 900); r.Truncated-- },
		"truncated is 1":               func(r *Record) { r.Truncated = 1 },
		"more than 500":                func(r *Record) { r.Size = 501 },
		"although something was cut":   func(r *Record) { r.Size = 470 },
		"l is [x], no list of 2":       func(r *Record) { r.Attributes["l"] = []any{"x"} },
		"g is text, no group":          func(r *Record) { r.Attributes["g"] = "text" },
		"truncated is 2, but 0 values": func(r *Record) { *r = *whole() },
	} {
		_, r := sample()
		r.Attributes = maps.Clone(r.Attributes)
		spoil(r)
		assert.ErrorContains(t, c.Check(500, r), want)
	}
}

// whole returns the sample with nothing cut, which says that something was.
func whole() *Record {
	_, r := sample()
	r.Attributes["a"], r.Attributes["g"] = strings.Repeat("a", 900), map[string]any{"b": strings.Repeat("b", 800)}
	return r
}

// TestCheckCrowded: where there is no room for all keys, those at the end are dropped, but none of the survivors.
func TestCheckCrowded(t *testing.T) {
	c := &Case{Message: "m", Attrs: join(many(func(i int) any { return int64(i) }), Survivors()), Fits: 2000}
	_, full := sample()
	attributes := map[string]any{"n": full.Attributes["n"], "err": full.Attributes["err"], "request_id": full.Attributes["request_id"]}
	for i, a := range c.Attrs[:100] {
		attributes[a.Key] = json.Number(fmt.Sprint(i))
	}
	r := &Record{Message: "m", Attributes: attributes, Truncated: 200, Size: 1000}
	assert.NoError(t, c.Check(1000, r))
	assert.ErrorContains(t, c.Check(2000, r), "is missing")
	delete(attributes, "ab")
	r.Truncated++
	assert.ErrorContains(t, c.Check(1000, r), "missing, and others before it, but not all between them")
	delete(attributes, "err")
	assert.ErrorContains(t, c.Check(1000, r), "err is missing")
}

// TestCases: each case has the survivors, and all but one are above the limits.
func TestCases(t *testing.T) {
	for _, c := range Cases() {
		text := fmt.Sprint(c)
		for _, s := range Survivors() {
			assert.Contains(t, text, fmt.Sprint(s.Value), c.Name)
		}
		assert.Equal(t, c.Name != "all fits", len(text) > 1500, c.Name)
	}
}
