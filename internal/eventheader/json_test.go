package eventheader

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValueJSON(t *testing.T) {
	tests := []struct {
		typ  Type
		raw  string // in hexadecimal, little-endian
		want string
	}{
		{typeUint8, "ff", "255"},
		{typeUint64, "ff ff ff ff ff ff ff ff", "18446744073709551615"},
		{TypeInt16, "ff ff", "-1"},
		{typeInt64, "00 00 00 00 00 00 00 80", "-9223372036854775808"},
		{typeHex64, "ef cd ab 00 00 00 00 00", `"0xABCDEF"`},
		{typeHex64, "00 00 00 00 00 00 00 00", `"0x0"`},
		{typeErrno, "02 00 00 00", `"ERRNO(2)"`},
		{typeErrno, "fe ff ff ff", `"ERRNO(-2)"`},
		{typePID, "ff ff ff ff", "-1"},
		{typeTime, "00 00 00 00 00 00 00 00", `"1970-01-01T00:00:00"`},
		{typeOf(encValue32, FormatTime), "ff ff ff ff", `"1969-12-31T23:59:59"`},
		{typeTime, "ff ff ff ff ff ff ff 7f", `"TIME(9223372036854775807)"`},
		{typeTime, "00 00 00 00 00 00 00 80", `"TIME(-9223372036854775808)"`},
		{typeBool, "00", "false"},
		{typeBool, "01", "true"},
		{typeBool, "02", "2"},
		{typeOf(encValue32, FormatBool), "ff ff ff ff", "-1"},
		{typeFloat32, "00 00 00 3f", "0.5"},
		{typeFloat32, "cd cc cc 3d", "0.1"},
		{typeFloat32, "00 00 c0 ff", `"NaN"`},
		{typeFloat64, "00 00 00 00 00 00 f8 7f", `"NaN"`},
		{typeFloat64, "00 00 00 00 00 00 f0 7f", `"Infinity"`},
		{typeFloat64, "00 00 00 00 00 00 f0 ff", `"-Infinity"`},
		{typeUUID, "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f", `"00010203-0405-0607-0809-0a0b0c0d0e0f"`},
		{typePort, "01 bb", "443"},
		{typeIPv4, "7f 00 00 01", `"127.0.0.1"`},
		{typeIPv6, "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01", `"2001:db8::1"`},
		{typeBytes, "", `""`},
		{typeBytes, "00 ff", `"00 ff"`},
		{typeOf(encValue128, FormatDefault), strings.Repeat("01", 16), `"` + strings.TrimSpace(strings.Repeat("01 ", 16)) + `"`},
		{typeOf(encValue8, formatLatin1), "e9", `"é"`},
		{typeOf(encValue16, formatUTF), "e9 00", `"é"`},
		{typeOf(encValue16, formatUTF), "00 d8", `"` + "\ufffd" + `"`},
		{typeOf(encValue32, formatUTF), "00 f6 01 00", `"😀"`},
		{typeString, "c3 a9", `"é"`},
		{typeOf(encString8, formatLatin1), "c3 a9", `"Ã©"`},
		{typeOf(encString16, FormatDefault), "3d d8 00 de", `"😀"`},
		{typeOf(encString8, formatUTFBOM), "ef bb bf c3 a9", `"é"`},
		{typeOf(encString8, formatUTFBOM), "fe ff 00 e9", `"é"`},
		{typeOf(encString16, formatXML), "ff fe 00 00 41 00 00 00", `"A"`},
		{typeOf(encString32, FormatJSON), "00 00 fe ff 00 00 00 41", `"A"`},
		{typeOf(encString8, formatUTF), "ef bb bf 41", `"\ufeffA"`},
		{typeOf(encBinary, FormatSigned), "", "null"},
		{typeOf(encBinary, FormatSigned), "ff ff", "-1"},
		{typeOf(encString8, FormatSigned), "31 32 33", `"123"`},
		{typeOf(encBinary, FormatUUID), "01", `"01"`},
	}
	for _, tt := range tests {
		v := Value{typ: tt.typ, raw: unhex(t, tt.raw), order: order(!hostLittle)}
		got := v.AppendJSON([]byte("x"))
		assert.Equal(t, "x"+tt.want, string(got), "%v %s", tt.typ, tt.raw)
		assert.True(t, json.Valid(got[1:]))
	}
}

func TestFloatJSON(t *testing.T) {
	tests := map[float64]string{
		0: "0", 1: "1", -1: "-1", 0.25: "0.25", 100: "100", 1e4: "10000", 1e5: "1e+05", 1e21: "1e+21", 123456789: "123456789",
		1e-7: "1e-07", math.MaxFloat64: "1.7976931348623157e+308", math.SmallestNonzeroFloat64: "5e-324", 1.5e300: "1.5e+300",
	}
	for v, want := range tests {
		got := appendFloat(nil, v, 64)
		assert.Equal(t, want, string(got))
		var back float64
		require.NoError(t, json.Unmarshal(got, &back))
		assert.Equal(t, v, back)
	}
}

// No text can end the line it stands in, drive a terminal, or show in another order.
func TestJSONEscapes(t *testing.T) {
	tests := map[string]string{
		"plain":                      `plain`,
		"größe 日本語 😀":                `größe 日本語 😀`,
		`"\`:                         `\"\\`,
		"\b\f\n\r\t":                 `\b\f\n\r\t`,
		"\x00\x1b[31m\x7f":           `\u0000\u001b[31m\u007f`,
		"\u0085\u009b":               `\u0085\u009b`,
		"\u2028\u2029":               `\u2028\u2029`,
		"\u061c\u200e\u200f":         `\u061c\u200e\u200f`,
		"\u202a\u202e\u2066\u2069":   `\u202a\u202e\u2066\u2069`,
		"\u200b\u206a\ufeff":         `\u200b\u206a\ufeff`,
		"\u00a0\u2027\u202f\u200d~!": "\u00a0\u2027\u202f\u200d~!",
		"</script>":                  `</script>`,
	}
	for text, want := range tests {
		// Other producers write what they like.
		got := Value{typ: typeString, raw: []byte(text)}.AppendJSON(nil)
		assert.Equal(t, `"`+want+`"`, string(got))
		wide := encodedText(hostOrder, typeOf(encString16, formatUTF), text)
		assert.Equal(t, string(got), string(Value{typ: typeOf(encString16, formatUTF), raw: wide}.AppendJSON(nil)))
		var back string
		require.NoError(t, json.Unmarshal(got, &back))
		assert.Equal(t, text, back)

		var e Encoder
		e.Begin(nil, &Header{Name: text, Level: LevelInfo}, 0)
		e.Bool(text, true)
		ev, err := Decode("p_L4K0", end(t, &e))
		require.NoError(t, err)
		got, err = ev.appendJSON(nil)
		require.NoError(t, err)
		name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(wantName(text))
		assert.Equal(t, `{"n":"p:`+name+`","`+name+`":true,"meta":{"level":4}}`, string(got))
	}
}

func TestAppendMetaJSON(t *testing.T) {
	ev := &Event{}
	assert.Empty(t, ev.appendMetaJSON(nil))
	ev = &Event{
		Header:     Header{Level: LevelError, Opcode: Opcode(0xf0), ID: 1, Version: 2, Tag: 0xabc},
		Tracepoint: Name{Keyword: math.MaxUint64},
		Activity:   sequence(0),
		Related:    sequence(1),
	}
	assert.Equal(t, `x"id":1,"version":2,"level":2,"keyword":"0xFFFFFFFFFFFFFFFF","opcode":240,"tag":"0xABC",`+
		`"activity":"00010203-0405-0607-0809-0a0b0c0d0e0f","relatedActivity":"01020304-0506-0708-090a-0b0c0d0e0f10"`,
		string(ev.appendMetaJSON([]byte("x"))))
}

func TestAppendFieldsJSON(t *testing.T) {
	ev := mixedEvent(t)
	got, err := ev.AppendFieldsJSON([]byte("x"))
	require.NoError(t, err)
	const want = `"a;tag=0x7":-1,"s":{"list":[{"b":[0,10],"c":"c0"},{"b":[1,11],"c":"c1"}],"d":true},"texts":["t0","t1"],"none":[]`
	assert.Equal(t, "x"+want, string(got))
	got, err = ev.appendJSON(nil)
	require.NoError(t, err)
	assert.Equal(t, `{"n":"p:mixed",`+want+`,"meta":{"level":4}}`, string(got))

	broken := &Event{meta: []byte("a\x00\x02b"), data: []byte{1}}
	got, err = broken.AppendFieldsJSON([]byte("x"))
	require.ErrorIs(t, err, errMalformed)
	assert.Equal(t, "x", string(got))
}
