package truncate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// x returns a text of n bytes.
func x(n int) string { return strings.Repeat("x", n) }

func TestFit(t *testing.T) {
	for _, c := range []struct {
		name, object string
		limit        int
		want         string
		truncated    int
	}{
		{"fits", `{"a":"b"}`, 9, `{"a":"b"}`, 0},
		{"one text", `{"a":"` + x(100) + `"}`, 80, `{"a":"` + x(69) + `..."}`, 1},
		{"two texts", `{"a":"` + x(200) + `","b":"` + x(100) + `"}`, 175, `{"a":"` + x(77) + `...","b":"` + x(77) + `..."}`, 2},
		{"the shorter one stays", `{"a":"` + x(200) + `","b":"` + x(70) + `"}`, 175, `{"a":"` + x(87) + `...","b":"` + x(70) + `"}`, 1},
		{"in a group", `{"g":{"a":"` + x(100) + `","n":1}}`, 100, `{"g":{"a":"` + x(77) + `...","n":1}}`, 1},
		{"a character is whole", `{"a":"` + strings.Repeat("ü", 50) + `"}`, 80, `{"a":"` + strings.Repeat("ü", 34) + `..."}`, 1},
		{"an escape is whole", `{"a":"` + strings.Repeat(`\u001b`, 20) + `"}`, 80, `{"a":"` + strings.Repeat(`\u001b`, 11) + `..."}`, 1},
		{"a pair is whole", `{"a":"` + strings.Repeat(`\udb40\udc41`, 10) + `"}`, 80, `{"a":"` + strings.Repeat(`\udb40\udc41`, 5) + `..."}`, 1},
		{"a pair of upper-case digits", `{"a":"` + strings.Repeat(`\uDB40\uDC41`, 10) + `"}`, 80, `{"a":"` + strings.Repeat(`\uDB40\uDC41`, 5) + `..."}`, 1},
		{"the first pair", `{"a":"` + strings.Repeat(`\ud800\udc00`, 10) + `"}`, 80, `{"a":"` + strings.Repeat(`\ud800\udc00`, 5) + `..."}`, 1},
		{"escapes that are no pairs", `{"a":"` + strings.Repeat(`\u0812`, 20) + `"}`, 80, `{"a":"` + strings.Repeat(`\u0812`, 11) + `..."}`, 1},
		{"the last escape before pairs", `{"a":"` + strings.Repeat(`\ud7ff`, 20) + `"}`, 80, `{"a":"` + strings.Repeat(`\ud7ff`, 11) + `..."}`, 1},
		{"a backslash is whole", `{"a":"` + strings.Repeat(`\\`, 50) + `"}`, 80, `{"a":"` + strings.Repeat(`\\`, 34) + `..."}`, 1},
		{"elements", `{"a":["` + x(100) + `","` + x(100) + `"]}`, 161, `{"a":["` + x(71) + `...","` + x(71) + `..."]}`, 1},
		{"elements that are numbers", `{"a":[` + strings.Repeat("12,", 50) + `12]}`, 90, `{"a":[` + strings.Repeat("12,", 25) + `"..."]}`, 1},
		{"elements to the last byte", `{"a":[` + strings.Repeat("12,", 50) + `12]}`, 88, `{"a":[` + strings.Repeat("12,", 25) + `"..."]}`, 1},
		{"an element of the share stays", `{"a":["` + x(70) + `","` + x(200) + `","y"]}`, 157, `{"a":["` + x(70) + `","` + x(67) + `...","y"]}`, 1},
		{"keys in elements stay", `{"a":[{"` + x(70) + `":"` + x(200) + `"}]}`, 150, `{"a":[{"` + x(70) + `":"` + x(62) + `..."}]}`, 1},
		{
			"an array and a text", `{"a":[` + strings.Repeat("12,", 50) + `12],"t":"` + x(300) + `"}`, 150,
			`{"a":[` + strings.Repeat("12,", 21) + `"..."],"t":"` + x(63) + `..."}`, 2,
		},
		{"texts of an array keep Short bytes", `{"a":["` + x(100) + `","` + x(100) + `","y"]}`, 100, `{"a":["` + x(61) + `...","..."]}`, 1},
		{"the last one does not fit", `{"a":"` + x(60) + `","b":"` + x(60) + `"}`, 134, `{"a":"` + x(60) + `"}`, 1},
		{"both fit", `{"a":"` + x(60) + `","b":"` + x(60) + `"}`, 135, `{"a":"` + x(60) + `","b":"` + x(60) + `"}`, 0},
		{"shares of Short bytes", `{"a":"` + x(100) + `","b":"` + x(100) + `"}`, 143, `{"a":"` + x(61) + `...","b":"` + x(61) + `..."}`, 2},
		{"shares of less", `{"a":"` + x(100) + `","b":"` + x(100) + `"}`, 142, `{"a":"` + x(100) + `"}`, 1},
		{"a long text makes space by being cut", `{"a":"` + x(100) + `","n":1}`, 78, `{"a":"` + x(61) + `...","n":1}`, 1},
		{"a number does not fit", `{"a":"` + x(100) + `","n":1}`, 77, `{"a":"` + x(66) + `..."}`, 2},
		{"behind one that does not fit", `{"a":"` + x(100) + `","n":1}`, 69, `{"n":1}`, 1},
		{"a group without attributes", `{"g":{"a":"` + x(100) + `"},"n":1}`, 50, `{"n":1}`, 1},
		{"groups in a group", `{"g":{"h":{"a":"` + x(100) + `"},"i":{"j":2},"k":3},"n":1}`, 33, `{"g":{"i":{"j":2},"k":3},"n":1}`, 1},
		{"a group takes its space once", `{"g":{"a":1,"b":2},"n":1}`, 24, `{"g":{"a":1,"b":2}}`, 1},
		{"a group to the last byte", `{"g":{"a":1,"b":2}}`, 18, `{"g":{"a":1}}`, 1},
		{"an empty object stays", `{"g":{},"a":"` + x(100) + `"}`, 8, `{"g":{}}`, 1},
		{"nothing", `{"n":12345}`, 10, `{}`, 1},
		{"a long key", `{"` + x(300) + `":1,"n":2}`, 20, `{"n":2}`, 1},
		{"deep groups", `{"n":1,` + strings.Repeat(`"g":{`, 20) + `"a":1` + strings.Repeat(`}`, 20) + `,"m":2}`, 30, `{"n":1,"m":2}`, 1},
	} {
		b := []byte(c.object)
		n, truncated := truncationtest.Fit(b, c.limit)
		assert.Equal(t, c.want, string(b[:n]), c.name)
		assert.Equal(t, c.truncated, truncated, c.name)
		assert.LessOrEqual(t, n, c.limit, c.name)
		assert.True(t, json.Valid(b[:n]), c.name)
	}
}

func TestAppendLengths(t *testing.T) {
	assert.Equal(t, []int{1, 2, 3}, truncate.AppendLengths(nil, []byte(`{"a":"","n":12,"t":"x","g":{"l":[1,23],"e":[]},"z":"xyz"}`)), "what has nothing to cut has no length")
}

// TestMalformed: bytes that are no JSON lead to some result, and to none outside of the slice.
func TestMalformed(t *testing.T) {
	const object = `{"a":{"b":"` + `\\\u0012\ud800\udc00` + `"},"l":["x",{"k":"y"},1],"n":1}`
	for _, text := range []string{object, `{}}}}`, `}`, `{{`, `:,"`} {
		for i := 1; i <= len(text); i++ {
			for limit := range i {
				whole := append([]byte(text[:i]), "behind"...)
				b := whole[:i:i]
				assert.NotPanics(t, func() {
					truncate.Drop(b, &truncate.Budget{Free: limit})
					truncationtest.Fit(append([]byte{}, text[:i]...), max(limit, 2))
				}, "%s to %d", text[:i], limit)
				assert.Equal(t, "behind", string(whole[i:]))
			}
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abcdefgh", 7, "abcd..."},
		{"abcdefgh", 3, "..."},
		{"abcdefgh", 2, ""},
		{"äöüäöü", 8, "äö..."},
		{`\x1b\x1b\x1b`, 10, `\x1b...`},
		{`\u202e\u202e\u202e`, 14, `\u202e...`},
		{`\U000e0041\U000e0041`, 19, `\U000e0041...`},
		{`\\\\\\\\`, 8, `\\\\...`},
		{`\n\n\n\n`, 7, `\n\n...`},
	} {
		b := []byte(c.text)
		assert.Equal(t, c.want, string(b[:truncate.Text(b, c.limit)]), "%s to %d", c.text, c.limit)
	}
}

func TestList(t *testing.T) {
	for limit, want := range map[int]string{10: "1,22,...", 9: "1,22,...", 8: "1,22,...", 7: "1,...", 5: "1,...", 4: "...", 3: "...", 2: ""} {
		b := []byte("1,22,333,4444")
		assert.Equal(t, want, string(b[:truncate.List(b, limit)]), limit)
	}
}

// TestFitRandom: every object fits every limit, is valid, and keeps its numbers as long as there is room for them.
func TestFitRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var value func(depth int) any
	value = func(depth int) any {
		switch rng.IntN(8) {
		case 0:
			return rng.IntN(1 << 30)
		case 1:
			return x(rng.IntN(300))
		case 2:
			return []any{x(rng.IntN(50)), rng.IntN(9)}
		case 3:
			if depth > 3 {
				return nil
			}
			group := map[string]any{}
			for i := range rng.IntN(4) {
				group[fmt.Sprint("k", i)] = value(depth + 1)
			}
			return group
		default:
			return strings.Repeat("ü\"\n", rng.IntN(20))
		}
	}
	for range 3000 {
		whole := map[string]any{}
		for i := range rng.IntN(30) {
			whole[fmt.Sprint("key", i)] = value(0)
		}
		object, err := json.Marshal(whole)
		require.NoError(t, err)
		limit := 2 + rng.IntN(len(object)+10)
		b := append([]byte{}, object...)
		n, truncated := truncationtest.Fit(b, limit)
		require.LessOrEqual(t, n, limit)
		require.True(t, json.Valid(b[:n]), "%s", b[:n])
		require.Equal(t, len(object) > limit, truncated > 0, "%d of %d: %s", limit, len(object), b[:n])
		if truncated == 0 {
			require.Equal(t, object, b[:n])
		}
	}
}
