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
		{"keys in elements stay", `{"a":[{"` + x(70) + `":"` + x(200) + `"}]}`, 140, `{"a":[{"` + x(70) + `":"` + x(52) + `..."}]}`, 1},
		{"short texts before members", `{"a":"` + x(60) + `","b":"` + x(60) + `"}`, 57, `{"a":"` + x(18) + `...","b":"` + x(18) + `..."}`, 2},
		{"a number and a long text", `{"n":12345,"a":"` + x(100) + `"}`, 30, `{"n":12345,"a":"` + x(9) + `..."}`, 1},
		{"only the mark", `{"n":1,"a":"` + x(100) + `"}`, 17, `{"n":1,"a":"..."}`, 1},
		{"not even the mark", `{"n":1,"a":"` + x(100) + `"}`, 16, `{"n":1}`, 1},
		{"a group without members", `{"g":{"a":"` + x(100) + `"},"n":1}`, 17, `{"n":1}`, 1},
		{"an empty object stays", `{"g":{},"a":"` + x(100) + `"}`, 8, `{"g":{}}`, 1},
		{"nothing", `{"n":12345}`, 10, `{}`, 1},
		{"long keys first", `{"` + x(300) + `":1,"n":2}`, 20, `{"n":2}`, 1},
	} {
		b := []byte(c.object)
		n, truncated := truncationtest.Fit(b, c.limit)
		assert.Equal(t, c.want, string(b[:n]), c.name)
		assert.Equal(t, c.truncated, truncated, c.name)
		assert.LessOrEqual(t, n, c.limit, c.name)
		assert.True(t, json.Valid(b[:n]), c.name)
	}
}

// TestDropOrder: members are dropped class after class, and not more of them than need be, since long texts can be cut.
func TestDropOrder(t *testing.T) {
	deep := func(n int, member string) string { return strings.Repeat(`"g":{`, n) + member + strings.Repeat("}", n) }
	long := x(truncate.MaxKey + 1 - len(`"":`))
	for _, c := range []struct {
		name, object string
		need         int
		want         string
		dropped      int
	}{
		{"cutting is enough", `{"a":"` + x(100) + `","n":1}`, 97, `{"a":"` + x(100) + `","n":1}`, 0},
		{"cutting is not enough", `{"a":"` + x(100) + `","n":1}`, 98, `{"n":1}`, 1},
		{"cutting a remote text is enough", `{` + deep(8, `"a":"`+x(100)+`"`) + `}`, 97, `{` + deep(8, `"a":"`+x(100)+`"`) + `}`, 0},
		{"a short text is not cut", `{"a":"` + x(truncate.Short) + `","n":1}`, 1, `{"n":1}`, 1},
		{"a short remote text is not cut", `{"n":1,` + deep(8, `"a":"`+x(truncate.Short)+`"`) + `}`, 1, `{"n":1}`, 1},
		{"text before number", `{"n":1,"a":"x"}`, 1, `{"n":1}`, 1},
		{"list before number", `{"n":1,"a":[1]}`, 1, `{"n":1}`, 1},
		{"long text before short", `{"a":"x","b":"` + x(truncate.Short+1) + `"}`, truncate.Short + 1, `{"a":"x"}`, 1},
		{"a text of the short length is not long", `{"a":"x","b":"` + x(truncate.Short) + `"}`, 1, `{"b":"` + x(truncate.Short) + `"}`, 1},
		{"a long key first", `{"n":1,"` + long + `":2}`, 1, `{"n":1}`, 1},
		{"a key that is not long", `{"n":1,"` + long[1:] + `":2}`, 1, `{"` + long[1:] + `":2}`, 1},
		{"deep first", `{"n":1,` + deep(8, `"a":2`) + `}`, 1, `{"n":1}`, 1},
		{"not deep", `{"n":1,` + deep(7, `"a":2`) + `}`, 1, `{` + deep(7, `"a":2`) + `}`, 1},
		{"deep no more", `{` + deep(8, `"a":2`) + `,"n":1,"t":"x"}`, len(deep(8, `"a":2`)) + 2, `{"n":1}`, 2},
		{"in an object with a long key first", `{"n":1,"` + long + `":{"a":2}}`, 1, `{"n":1}`, 1},
		{"in an object with a key that is not long", `{"n":1,"` + long[1:] + `":{"a":2}}`, 1, `{"` + long[1:] + `":{"a":2}}`, 1},
		{"in any object later", `{"n":"x","g":{"a":1}}`, 1, `{"g":{"a":1}}`, 1},
		{"behind an object with a long key", `{"` + long + `":{"a":1},"n":2,"t":"x"}`, len(long) + 12, `{"n":2}`, 2},
		{"behind an object in one with a long key", `{"n":1,"` + long + `":{"s":{"b":1},"a":1}}`, len(`"s":{"b":1},`) + 1, `{"n":1}`, 2},
		{"all that is in an object with two long keys", `{"n":1,"` + long + `":{"` + long + `":{"b":1},"a":"x"},"t":"x"}`, 2 * len(long), `{"n":1,"t":"x"}`, 2},
	} {
		b := []byte(c.object)
		n, dropped := truncate.Drop(b, c.need)
		assert.Equal(t, c.want, string(b[:n]), c.name)
		assert.Equal(t, c.dropped, dropped, c.name)
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
					truncate.Drop(b, limit)
					truncationtest.Fit(append([]byte{}, text[:i]...), max(limit, 2))
				}, "%s to %d", text[:i], limit)
				assert.Equal(t, "behind", string(whole[i:]))
			}
		}
	}
}

// TestDropWindow: the first members of a class stay, and the last eight.
func TestDropWindow(t *testing.T) {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"%02d":1`, i))
	}
	b := []byte("{" + strings.Join(members, ",") + "}")
	n, truncated := truncationtest.Fit(b, len(b)-5*len(`"00":1,`))
	assert.Equal(t, 5, truncated)
	assert.Equal(t, "{"+strings.Join(append(append([]string{}, members[:87]...), members[92:]...), ",")+"}", string(b[:n]))
	// A byte more takes one more member.
	b = []byte("{" + strings.Join(members, ",") + "}")
	_, truncated = truncationtest.Fit(b, len(b)-5*len(`"00":1,`)-1)
	assert.Equal(t, 6, truncated)
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
