package eventheader

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func TestAppendText(t *testing.T) {
	tests := []struct {
		name  string
		typ   Type
		text  string
		want  string // in little-endian hexadecimal
		whole bool
	}{
		{"UTF-8", TypeString, "é", "02 00 c3 a9", true},
		{"UTF-8 that is wrong", TypeString, "a\xffb\xc3", "0a 00 61 5c 78 66 66 62 5c 78 63 33", true},
		{"UTF-8 with an end", TypeOf(ZString8, FormatUTF), "é", "c3 a9 00", true},
		{"escaped NUL", TypeOf(ZString8, FormatUTF), "a\x00b", "61 5c 78 30 30 62 00", true},
		{"bytes cut at their NUL", TypeOf(ZString8, FormatHexBytes), "a\x00b", "61 00", false},
		{"counted NUL", TypeString, "a\x00b", "06 00 61 5c 78 30 30 62", true},
		{"UTF-16", TypeOf(String16, FormatUTF), "a😀", "03 00 61 00 3d d8 00 de", true},
		{"UTF-16 with an end", TypeOf(ZString16, FormatDefault), "a\n", "61 00 5c 00 6e 00 00 00", true},
		{"UTF-16 that was wrong", TypeOf(String16, FormatUTF), "\xed", "04 00 5c 00 78 00 65 00 64 00", true},
		{"UTF-32", TypeOf(String32, FormatUTF), "😀", "01 00 00 f6 01 00", true},
		{"UTF-32 with an end", TypeOf(ZString32, FormatUTF), "a", "61 00 00 00 00 00 00 00", true},
		{"Latin-1", TypeOf(String8, FormatLatin1), "é日\xff", "06 00 e9 3f 5c 78 66 66", true},
		{"the replacement character", TypeOf(String16, FormatUTF), "\ufffd", "01 00 fd ff", true},
		{"bytes", TypeBytes, "\xff", "01 00 ff", true},
		{"hexadecimal bytes", TypeOf(String8, FormatHexBytes), "\xff", "01 00 ff", true},
		{"a mark in JSON", TypeJSON, "\ufeffa", "07 00 5c 75 66 65 66 66 61", true},
		{"XML", TypeOf(String8, FormatXML), "\n\u202e\xff", "11 00 20 26 23 78 32 30 32 65 3b 26 23 78 66 66 66 64 3b", true},
		{"line separator in UTF-16", TypeOf(String16, FormatUTFBOM), "\u2028", "06 00 5c 00 75 00 32 00 30 00 32 00 38 00", true},
		{"like a mark of UTF-16", TypeOf(String16, FormatXML), "\ufffea", "03 00 ff fe fe ff 61 00", true},
		{"a mark", TypeString, "\ufeffa", "07 00 5c 75 66 65 66 66 61", true},
	}
	o := order(!hostLittle)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, whole := o.appendText([]byte("x"), tt.typ, tt.text, 100)
			assert.Equal(t, append([]byte("x"), unhex(t, tt.want)...), got)
			assert.Equal(t, tt.whole, whole)
		})
	}
}

// A text that is too long is written only so far that fit notices.
func TestAppendTextStops(t *testing.T) {
	text := strings.Repeat("é", 10_000)
	for _, typ := range textTypes() {
		for limit := 90; limit < 110; limit++ {
			b, whole := hostOrder.appendText(nil, typ, text, limit)
			assert.True(t, whole)
			assert.Greater(t, len(b), limit)
			assert.Less(t, len(b), limit+12)
		}
	}
}

// The longest text of each encoding still has a count of 16 bits.
func TestLongestTexts(t *testing.T) {
	testscale.HostOnly(t)
	for _, typ := range textTypes() {
		for _, text := range []string{strings.Repeat("x", 1<<16), "\ufeff" + strings.Repeat("é", 1<<16), strings.Repeat("\xff", 1<<16)} {
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, MaxLimit)
			e.Text("x", typ, text)
			b := end(t, &e)
			requireFields(t, requireEvent(t, b, MaxLimit), []Node{{Name: "x", Type: typ, Value: wantText(typ, text)}})
			assert.Greater(t, len(b), MaxLimit-32)
		}
	}
}

func TestAppendValueOfCharacters(t *testing.T) {
	o := order(!hostLittle)
	tests := []struct {
		encoding Encoding
		code     uint64
		want     string
	}{
		{Value16, 'A', "41 00"},
		{Value16, 0xffff, "ff ff"},
		{Value16, 0x1f600, "fd ff"},
		{Value16, 0xd800, "fd ff"},
		{Value32, 0x1f600, "00 f6 01 00"},
		{Value32, 0x110000, "fd ff 00 00"},
		{Value32, math.MaxUint64, "fd ff 00 00"},
	}
	for _, tt := range tests {
		assert.Equal(t, unhex(t, tt.want), o.appendValue(nil, TypeOf(tt.encoding, FormatUTF), tt.code))
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
		h := Header{Name: "e", Level: LevelInfo, Arch: arch}
		schema := mustSchema(t, h)
		bare := len(record(t, schema, func(*Record) {}))
		for _, tt := range tests {
			var e Encoder
			e.Begin(nil, &h, 0, tt.ids...)
			b := end(t, &e)
			assert.Len(t, b, bare+tt.size)

			var r Record
			r.Begin(nil, schema, 0, tt.ids...)
			same, err := r.End()
			require.NoError(t, err)
			assert.Equal(t, b, same)

			ev, err := Decode("p_L4K0", b)
			require.NoError(t, err)
			ids := append(append([]UUID{}, tt.ids...), UUID{}, UUID{})
			assert.Equal(t, ids[0], ev.Activity)
			assert.Equal(t, ids[1], ev.Related)
		}
	}
}
