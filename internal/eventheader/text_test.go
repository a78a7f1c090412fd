package eventheader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func TestTextsAndJSON(t *testing.T) {
	tests := []struct {
		name string
		typ  Type
		text string
		want string // in little-endian hexadecimal
	}{
		{"UTF-8", typeString, "é", "02 00 c3 a9"},
		{"UTF-8 that is wrong", typeString, "a\xffb\xc3", "0a 00 61 5c 78 66 66 62 5c 78 63 33"},
		{"NUL", typeString, "a\x00b", "06 00 61 5c 78 30 30 62"},
		{"line separator", typeString, "\u2028", "06 00 5c 75 32 30 32 38"},
		{"a mark", typeString, "\ufeffa", "07 00 5c 75 66 65 66 66 61"},
		{"a mark in JSON", typeJSON, "\ufeffa", "07 00 5c 75 66 65 66 66 61"},
		{"JSON", typeJSON, "{\n\u0085\xff}", "0f 00 7b 20 5c 75 30 30 38 35 5c 75 65 66 66 66 7d"},
		{"plain JSON", typeJSON, "{}", "02 00 7b 7d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo, arch: little64}, 0)
			if tt.typ == typeJSON {
				e.JSON("x", tt.text)
			} else {
				e.String("x", tt.text)
			}
			assert.Equal(t, unhex(t, tt.want), e.data)
		})
	}
}

// A text that is too long is written only so far that fit notices.
func TestAppendTextStops(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 10_000), strings.Repeat("\u0085", 10_000), strings.Repeat("\xff", 10_000)} {
		for limit := 90; limit < 110; limit++ {
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
			e.String("x", text)
			assert.Greater(t, len(e.data), limit)
			assert.Less(t, len(e.data), limit+12)
			at := len(e.data)
			e.JSON("y", text)
			assert.Greater(t, len(e.data)-at, limit)
			assert.Less(t, len(e.data)-at, limit+beyond+2+len(`\uef80`))
		}
	}
}

// The longest text still has a count of 16 bits.
func TestLongestTexts(t *testing.T) {
	testscale.HostOnly(t)
	for _, text := range []string{strings.Repeat("x", 1<<16), "\ufeff" + strings.Repeat("é", 1<<16), strings.Repeat("\xff", 1<<16)} {
		var e Encoder
		for _, typ := range []Type{typeString, typeJSON} {
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, maxLimit)
			addText(&e, "x", typ, text)
			b := end(t, &e)
			requireFields(t, requireEvent(t, b, maxLimit), []node{{Name: "x", Type: typ, Value: wantText(typ, text)}})
			assert.Greater(t, len(b), maxLimit-32)
		}
	}
}

func TestRuneOfWhatIsNoText(t *testing.T) {
	for form := formLatin1; form <= formUTF32Big; form++ {
		_, n := form.rune(nil)
		assert.Zero(t, n)
	}
	for _, form := range []textForm{formUTF16Little, formUTF16Big, formUTF32Little, formUTF32Big} {
		_, n := form.rune([]byte{1})
		assert.Zero(t, n)
	}
	r, n := formUTF16Big.rune([]byte{0xdc, 0, 0xd8, 0})
	assert.Equal(t, "\ufffd", string(r))
	assert.Equal(t, 2, n)
}

// Ids that are zero at the end are not there, but a related id may be alone.
func TestActivityIDs(t *testing.T) {
	id := sequence(1)
	tests := []struct {
		ids  []UUID
		size int
	}{
		{nil, 0},
		{[]UUID{{}}, 0},
		{[]UUID{{}, {}}, 0},
		{[]UUID{id}, 20},
		{[]UUID{id, {}}, 20},
		{[]UUID{{}, id}, 36},
		{[]UUID{id, id}, 36},
		{[]UUID{id, id, id}, 36},
	}
	for _, arch := range archs {
		h := Header{Name: "e", Level: LevelInfo, arch: arch}
		var e Encoder
		e.Begin(nil, &h, 0)
		bare := len(end(t, &e))
		for _, tt := range tests {
			var e Encoder
			e.Begin(nil, &h, 0, tt.ids...)
			b := end(t, &e)
			assert.Len(t, b, bare+tt.size)

			ev, err := Decode("p_L4K0", b)
			require.NoError(t, err)
			ids := append(append([]UUID{}, tt.ids...), UUID{}, UUID{})
			assert.Equal(t, ids[0], ev.Activity)
			assert.Equal(t, ids[1], ev.Related)
		}
	}
}
