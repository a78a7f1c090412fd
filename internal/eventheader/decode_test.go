package eventheader

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

type refusal struct {
	tp      string
	payload string
	want    decodeError
}

func TestDecodeRefuses(t *testing.T) {
	const header = "07 00 00 00 00 00 00 05 "
	tests := map[string]refusal{
		"name":              {"p", header, decodeError{"name", 0, "no _L followed by a level"}},
		"nothing":           {"p_L5K0", "", decodeError{"header", 0, "shorter than a header"}},
		"part of a header":  {"p_L5K0", "07 00 00 00 00 00 00", decodeError{"header", 7, "shorter than a header"}},
		"unknown flag":      {"p_L5K0", "0f 00 00 00 00 00 00 05", decodeError{"header", 0, "unknown flags"}},
		"another level":     {"p_L4K0", header, decodeError{"header", 7, "level differs from that of the tracepoint's name"}},
		"no extension":      {"p_L5K0", "03 00 00 00 00 00 00 05", decodeError{"header", 8, "no metadata"}},
		"part of one":       {"p_L5K0", header + "01 00 01", decodeError{"header", 8, "extension is cut off"}},
		"long one":          {"p_L5K0", header + "02 00 01 00 41", decodeError{"header", 8, "extension is longer than the event"}},
		"kind 0":            {"p_L5K0", header + "00 00 00 00", decodeError{"header", 8, "extension of kind 0"}},
		"chain to nowhere":  {"p_L5K0", header + "02 00 01 80 41 00", decodeError{"header", 14, "extension is cut off"}},
		"other kinds only":  {"p_L5K0", header + "01 00 77 00 41", decodeError{"header", 8, "no metadata"}},
		"two metadata":      {"p_L5K0", header + "02 00 01 80 41 00 02 00 01 00 41 00", decodeError{"header", 14, "second metadata extension"}},
		"two activities":    {"p_L5K0", header + "10 00 02 80" + strings.Repeat("00", 16) + "10 00 02 00" + strings.Repeat("00", 16), decodeError{"header", 28, "second activity extension"}},
		"activity of 17":    {"p_L5K0", header + "11 00 02 00" + strings.Repeat("00", 17), decodeError{"header", 8, "activity extension of neither 16 nor 32 bytes"}},
		"name without end":  {"p_L5K0", header + "01 00 01 00 41", decodeError{"metadata", 0, "event name does not end"}},
		"no event name":     {"p_L5K0", header + "00 00 01 00", decodeError{"metadata", 0, "event name does not end"}},
		"field without end": fieldError("61", "", decodeError{"metadata", 0, "field name does not end"}),
		"no type":           fieldError("61 00", "", decodeError{"metadata", 2, "field type is cut off"}),
		"no format":         fieldError("61 00 82", "", decodeError{"metadata", 2, "field format is cut off"}),
		"no tag":            fieldError("61 00 82 81 00", "", decodeError{"metadata", 2, "field tag is cut off"}),
		"no count":          fieldError("61 00 22 01", "", decodeError{"metadata", 2, "count of a fixed array is cut off"}),
		"count of 0":        fieldError("61 00 22 00 00", "", decodeError{"metadata", 2, "fixed array without elements"}),
		"both arrays":       fieldError("61 00 62 00 00", "", decodeError{"metadata", 2, "array of both fixed and variable count"}),
		"encoding 0":        fieldError("61 00 00", "", decodeError{"metadata", 2, "reserved encoding"}),
		"encoding 14":       fieldError("61 00 0e", "", decodeError{"metadata", 2, "reserved encoding"}),
		"empty struct":      fieldError("61 00 01", "", decodeError{"metadata", 2, "struct without children"}),
		"second field":      fieldError("61 00 02 62", "00", decodeError{"metadata", 3, "field name does not end"}),
		"no value":          fieldError("61 00 02", "", decodeError{"data", 0, "value is longer than the event"}),
		"half a value":      fieldError("61 00 02 62 00 05", "01 00 00 00", decodeError{"data", 1, "value is longer than the event"}),
		"half a count":      fieldError("61 00 0a", "01", decodeError{"data", 0, "count of a value is cut off"}),
		"half a string":     fieldError("61 00 0b", "02 00 41 00 42", decodeError{"data", 0, "value is longer than the event"}),
		"string without 0":  fieldError("61 00 08", "41 00 00", decodeError{"data", 0, "zero-terminated string does not end"}),
		"half array count":  fieldError("61 00 42", "01", decodeError{"data", 0, "array count is cut off"}),
		"half an array":     fieldError("61 00 44", "02 00 01 00 00 00 02", decodeError{"data", 2, "array is longer than the event"}),
		"half a pair":       fieldError("61 00 2a 02 00", "00 00", decodeError{"data", 2, "count of a value is cut off"}),
		"too deep":          fieldError(strings.Repeat("61 00 81 01", 70), "", decodeError{"metadata", 4*65 + 2, "nested too deeply"}),
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ev, err := Decode(tt.tp, unhex(t, tt.payload))
			if err == nil {
				requireConsistent(t, ev)
				_, err = ev.tree()
			} else {
				assert.Nil(t, ev)
			}
			var detail *decodeError
			require.ErrorAs(t, err, &detail)
			assert.Equal(t, tt.want, *detail)
			assert.ErrorIs(t, err, errMalformed)
			assert.ErrorContains(t, err, tt.want.part)
			assert.ErrorContains(t, err, tt.want.problem)
		})
	}
}

// fieldError is a case of TestDecodeRefuses with such metadata and data after an event name.
func fieldError(meta, data string, want decodeError) refusal {
	size := len(strings.ReplaceAll(meta, " ", ""))/2 + 2
	payload := fmt.Sprintf("07 00 00 00 00 00 00 05 %02x %02x 01 00 41 00 %s %s", size&0xff, size>>8, meta, data)
	return refusal{"p_L5K0", payload, want}
}

func TestDecodeTakesWhatOtherProducersWrite(t *testing.T) {
	const header = "07 00 00 00 00 00 00 05 "
	tests := map[string]struct{ payload, want string }{
		"unknown extension":      {header + "01 00 77 80 ff 02 00 01 00 41 00", `{"n":"p:A","meta":{"level":5}}`},
		"metadata first":         {header + "02 00 01 80 41 00 10 00 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01", `{"n":"p:A","meta":{"level":5,"activity":"00000000-0000-0000-0000-000000000001"}}`},
		"attributes":             {header + "09 00 01 00 41 3b 6b 3d 76 00 61 00 02 01", `{"n":"p:A","a":1,"meta":{"level":5}}`},
		"empty names":            {header + "03 00 01 00 00 00 02 01", `{"n":"p:","":1,"meta":{"level":5}}`},
		"trailing bytes":         {header + "05 00 01 00 41 00 61 00 02 01 02 03", `{"n":"p:A","a":1,"meta":{"level":5}}`},
		"struct of fewer":        {header + "09 00 01 00 41 00 61 00 81 7f 62 00 02 01", `{"n":"p:A","a":{"b":1},"meta":{"level":5}}`},
		"struct of none":         {header + "06 00 01 00 41 00 61 00 81 7f", `{"n":"p:A","a":{},"meta":{"level":5}}`},
		"structs of none":        {header + "06 00 01 00 41 00 61 00 c1 7f 02 00", `{"n":"p:A","a":[{},{}],"meta":{"level":5}}`},
		"no structs":             {header + "0c 00 01 00 41 00 61 00 c1 01 62 00 02 63 00 02 00 00 05", `{"n":"p:A","a":[],"c":5,"meta":{"level":5}}`},
		"no structs of structs":  {header + "10 00 01 00 41 00 61 00 c1 01 62 00 81 01 63 00 02 64 00 02 00 00 05", `{"n":"p:A","a":[],"d":5,"meta":{"level":5}}`},
		"format of another size": {header + "06 00 01 00 41 00 61 00 82 05 07", `{"n":"p:A","a":7,"meta":{"level":5}}`},
		"unknown format":         {header + "06 00 01 00 41 00 61 00 82 7f 07", `{"n":"p:A","a":7,"meta":{"level":5}}`},
		"boolean of 2":           {header + "06 00 01 00 41 00 61 00 82 07 02", `{"n":"p:A","a":2,"meta":{"level":5}}`},
		"old address":            {header + "06 00 01 00 41 00 61 00 84 12 7f 00 00 01", `{"n":"p:A","a":"127.0.0.1","meta":{"level":5}}`},
		"integer of 3 bytes":     {header + "06 00 01 00 41 00 61 00 8d 02 03 00 01 02 03", `{"n":"p:A","a":"01 02 03","meta":{"level":5}}`},
		"text that is not UTF-8": {header + "05 00 01 00 41 00 61 00 0a 02 00 e9 41", `{"n":"p:A","a":"éA","meta":{"level":5}}`},
		"half a surrogate pair":  {header + "05 00 01 00 41 00 61 00 0b 02 00 3d d8 41 00", `{"n":"p:A","a":"` + "\ufffd" + `A","meta":{"level":5}}`},
		"half a UTF-16 unit":     {header + "06 00 01 00 41 00 61 00 8a 0c 03 00 ff fe 41", `{"n":"p:A","a":"","meta":{"level":5}}`},
		"beyond Unicode":         {header + "05 00 01 00 41 00 61 00 0c 01 00 00 00 11 00", `{"n":"p:A","a":"` + "\ufffd" + `","meta":{"level":5}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ev, err := Decode("p_L5K0", unhex(t, tt.payload))
			require.NoError(t, err)
			got, err := ev.appendJSON(nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			requireConsistent(t, ev)
		})
	}
}

// TestDecodeEachPrefix cuts events at each byte: all that remains is malformed.
func TestDecodeEachPrefix(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range []arch{little64, big32} {
		b, _ := every(t, arch, 1000)
		for _, payload := range [][]byte{b[4:], corpusEvent(t, arch)} {
			for n := range payload {
				ev, err := Decode("p_L4K0", slices.Clip(payload[:n]))
				if err == nil {
					c := ev.cursor()
					for c.Next() {
					}
					err = c.Err()
				}
				require.ErrorIs(t, err, errMalformed, "%d of %d bytes", n, len(payload))
			}
		}
	}
}

// TestDecodeEachByteWrong changes each byte of an event.
func TestDecodeEachByteWrong(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range []arch{little64, big32} {
		payload, _ := every(t, arch, 700)
		payload = slices.Clip(payload[4:])
		var out []byte
		for i, was := range payload {
			for _, c := range []byte{0, 0xff, was ^ 1, was ^ flagFixed, was ^ flagVariable, was ^ chainFlag} {
				payload[i] = c
				ev, err := Decode("p_L4K0", payload)
				if err == nil {
					out, err = ev.appendJSON(out[:0])
				}
				if err == nil {
					require.True(t, json.Valid(out), "%s", out)
				} else {
					require.ErrorIs(t, err, errMalformed)
				}
			}
			payload[i] = was
		}
	}
}

func TestDecodeGarbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, 12+random.IntN(60))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		// A header that is right lets more of the garbage through.
		copy(b, []byte{flagExtension | byte(random.IntN(4)), 0, 0, 0, 0, 0, 0, 5})
		o := orderOf(b[0])
		o.put16(b[8:], uint16(random.IntN(len(b))))
		o.put16(b[10:], kindMetadata)
		if ev, err := Decode("p_L5K0", slices.Clip(b)); err == nil {
			requireConsistent(t, ev)
		} else {
			require.ErrorIs(t, err, errMalformed)
		}
	}
}

// An event that is small but would decode to gigabytes is refused at the limit of items.
func TestDecodeIsBounded(t *testing.T) {
	name := strings.Repeat("n", 60_000)
	o := hostOrder
	tests := map[string]struct {
		meta []byte
		data []byte
	}{
		"long names in an array": {
			meta: append(append([]byte("a\x00\xc1\x01"), name...), 0, byte(encValue8)),
			data: append(o.append16(nil, 30_000), make([]byte, 30_000)...),
		},
		"arrays of nothing in an array": {
			meta: append([]byte("a\x00\xc1\x01b\x00\xc1\x7f"), strings.Repeat("c\x00\x02", 127)...),
			data: append(o.append16(nil, 30_000), make([]byte, 60_000)...),
		},
		"structs of nothing within each other": {
			meta: []byte(strings.Repeat("a\x00\xa1\x01\xff\xff", 30)),
		},
	}
	for what, tt := range tests {
		t.Run(what, func(t *testing.T) {
			ev := &Event{meta: tt.meta, data: tt.data}
			_, err := ev.tree()
			assert.ErrorContains(t, err, "more items than the decoder takes")
			_, err = ev.appendJSON(nil)
			assert.ErrorContains(t, err, "more items than the decoder takes")
		})
	}
}

func TestDecodeLongestArray(t *testing.T) {
	ev := &Event{meta: []byte("a\x00\x42"), data: append(hostOrder.append16(nil, 65535), make([]byte, 65535)...)}
	nodes, err := ev.tree()
	require.NoError(t, err)
	assert.Len(t, nodes[0].Value, 65535)
	b, err := ev.appendJSON(nil)
	require.NoError(t, err)
	assert.True(t, json.Valid(b))
}

func TestEventIsReadConcurrently(t *testing.T) {
	ev, err := Decode("p_L4K0", corpusEvent(t, archHost))
	require.NoError(t, err)
	want, err := ev.appendJSON(nil)
	require.NoError(t, err)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			b, err := ev.appendJSON(nil)
			require.NoError(t, err)
			require.Equal(t, string(want), string(b))
		})
	}
}
