package reader

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// ofEveryType is the format of an event with a field of each type. Integers have a field for each kind of setter.
func ofEveryType() tracepoint.Format {
	d := tracepoint.MustParse("every u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h; char i; char[4] fixed; __data_loc char[] text; " +
		"__rel_loc char[] near; __rel_loc u16[] list; __data_loc u8[] bytes; struct point p 3; __data_loc char[] last")
	f := tracepoint.Format{Name: d.Name, Common: []tracepoint.FormatField{{Name: "common_type", Type: tracepoint.Scalar(tracepoint.UShort), Size: 2}}}
	at := tracepoint.CommonSize
	for _, field := range append(d.Fields, tracepoint.Field{Name: "array", Type: tracepoint.Array(tracepoint.U32, 2)}) { // which the kernel's events have
		f.Fields = append(f.Fields, tracepoint.FormatField{Name: field.Name, Type: field.Type, Offset: at, Size: field.Type.FixedSize()})
		at += field.Type.FixedSize()
	}
	return f
}

// TestRecordFields: a value reaches the setter of its type as package typed decodes it, and a record that typed refuses is refused, for any
// bytes. Fields without a setter for their type, or whose setter refuses the value, are left.
func TestRecordFields(t *testing.T) {
	format := ofEveryType()
	decoder, err := typed.NewFormatDecoder(format, nil)
	require.NoError(t, err)
	got := map[string]any{}
	refused := ""
	l := &layout{fields: map[string]setter{}}
	for i, f := range format.Fields {
		name := f.Name
		s := setter{
			number: func(_ *Event, n uint64) { got[name] = n },
			text: func(_ *Event, b []byte) bool {
				got[name] = string(b)
				return name != refused
			},
			array: func(_ *Event, b []byte) bool {
				got[name] = string(b)
				return name != refused
			},
		}
		switch i % 3 {
		case 1:
			s.number, s.upTo = nil, func(_ *Event, n uint64) bool {
				got[name] = n
				return name != refused
			}
			s.text, s.words = nil, func(_ *Event, text string) { got[name] = text }
		case 2:
			s.empty = true
		}
		l.fields[name] = s
	}
	fields, size := l.recordFields(format)
	require.Equal(t, format.Fields[len(format.Fields)-1].Offset+8, size)
	random := rand.New(rand.NewPCG(1, 2))
	whole, last := 0, slices.IndexFunc(format.Fields, func(f tracepoint.FormatField) bool { return f.Name == "p" })
	for range 20000 {
		raw := randomRecord(random, format, size)
		clear(got)
		refused = format.Fields[random.IntN(len(format.Fields))].Name
		want, err := decoder.Decode(raw)
		from, within := 0, len(raw) >= size
		var left []string
		for from < len(fields) && within {
			done, ok := setFields(fields[from:], raw, new(Event))
			if from, within = from+done, ok; from < len(fields) && ok {
				left = append(left, format.Fields[from].Name)
				from++
			}
		}
		require.Equal(t, err == nil, within, "% x: %v", raw, err)
		if err != nil {
			continue
		}
		whole++
		for i, f := range format.Fields {
			_, v := want.Field(i)
			value, set := got[f.Name]
			switch {
			case i == last:
				require.Contains(t, left, f.Name, "a struct")
			case !set:
				require.False(t, fields[i].empty, f.Name)
				require.Zero(t, v.Uint64(), f.Name)
				require.Empty(t, v.Bytes(), f.Name)
			case v.Kind() == typed.KindInt || v.Kind() == typed.KindUint:
				require.Equal(t, v.Uint64(), value, f.Name)
			case fields[i].words != nil:
				require.Equal(t, plain(v.Bytes()), value, f.Name)
			default:
				require.Equal(t, string(v.Bytes()), value, f.Name)
			}
			if i != last {
				mayRefuse := fields[i].number == nil && fields[i].words == nil
				require.Equal(t, set && f.Name == refused && mayRefuse, slices.Contains(left, f.Name), f.Name)
			}
		}
	}
	assert.Greater(t, whole, 1000)
	assert.Less(t, whole, 19000)
}

// randomRecord returns a record, most of whose locations are within it.
func randomRecord(random *rand.Rand, format tracepoint.Format, size int) []byte {
	raw := make([]byte, size+random.IntN(24))
	for i := range raw {
		raw[i] = "\x00\x00ab\\n\xff\x80"[random.IntN(8)]
	}
	for _, f := range format.Fields {
		if f.Type.Location == tracepoint.Fixed {
			continue
		}
		begin := size + random.IntN(8)
		if f.Type.Location == tracepoint.RelLoc {
			begin -= f.Offset + 4
		}
		n := random.IntN(4) * random.IntN(4)
		if random.IntN(20) > 0 {
			n = min(n, max(0, len(raw)-size-8)) &^ 1
		}
		binary.NativeEndian.PutUint32(raw[f.Offset:], uint32(n)<<16|uint32(begin))
	}
	if random.IntN(20) == 0 {
		raw = raw[:random.IntN(len(raw))]
	}
	return bytes.Clone(raw) // without room behind it
}
