package typed_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// The corpus feeds encoders and decoders. A value is int64, uint64, string, []byte
// (a structure), []int64 or []uint64, as the type of the field says.
var corpus = []struct {
	name    string
	command string
	values  []any
	text    string
	// The payload in hex as somebody wrote it down by hand. Spaces are for the eye.
	little, big string
}{
	{
		name: "no fields", command: "event", text: "event:",
	},
	{
		name:    "unsigned",
		command: "event u8 a; u16 b; u32 c; u64 d; unsigned char e; unsigned short f; unsigned int g",
		values:  []any{uint64(0x11), uint64(0x2122), uint64(0x41424344), uint64(0x8182838485868788), uint64(200), uint64(60000), uint64(4000000000)},
		text:    "event: a=17 b=8482 c=1094861636 d=9332165983064197000 e=200 f=60000 g=4000000000",
		little:  "11 2221 44434241 8887868584838281 c8 60ea 00286bee",
		big:     "11 2122 41424344 8182838485868788 c8 ea60 ee6b2800",
	},
	{
		name:    "signed",
		command: "event s8 a; s16 b; s32 c; s64 d; char e; short f; int g",
		values:  []any{int64(-1), int64(-2), int64(-3), int64(-4), int64(-5), int64(-32768), int64(2147483647)},
		text:    "event: a=-1 b=-2 c=-3 d=-4 e=-5 f=-32768 g=2147483647",
		little:  "ff feff fdffffff fcffffffffffffff fb 0080 ffffff7f",
		big:     "ff fffe fffffffd fffffffffffffffc fb 8000 7fffffff",
	},
	{
		name:    "fixed texts",
		command: "event char[4] full; char[6] short; char[2] empty; unsigned char[3] bytes",
		values:  []any{"abcd", "xy", "", "né"},
		text:    "event: full=abcd short=xy empty= bytes=né",
		little:  "61626364 787900000000 0000 6ec3a9",
		big:     "61626364 787900000000 0000 6ec3a9",
	},
	{
		name:    "relative text",
		command: "event u16 status; __rel_loc char[] method; s64 latency_ns; __rel_loc char[] route",
		values:  []any{uint64(404), "GET", int64(1500), "/users"},
		text:    "event: status=404 method=GET latency_ns=1500 route=/users",
		little:  "9401 0c000400 dc05000000000000 04000700 47455400 2f757365727300",
		big:     "0194 0004000c 00000000000005dc 00070004 47455400 2f757365727300",
	},
	{
		name:    "text from the record's start",
		command: "event __data_loc char[] a; __data_loc unsigned char[] b",
		values:  []any{"hi", ""},
		text:    "event: a=hi b=",
		little:  "10000300 13000100 686900 00",
		big:     "00030010 00010013 686900 00",
	},
	{
		name:    "arrays",
		command: "event __rel_loc u8[] a; __rel_loc s16[] b; __data_loc u32[] c; __rel_loc s64[] d; __rel_loc int[] e",
		values:  []any{[]uint64{1, 2, 255}, []int64{-1, 300}, []uint64{4000000000}, []int64{-1}, []int64{}},
		text:    "event: a={1,2,255} b={-1,300} c={4000000000} d={-1} e={}",
		little:  "10000300 0f000400 23000400 0f000800 13000000 0102ff ffff2c01 00286bee ffffffffffffffff",
		big:     "00030010 0004000f 00040023 0008000f 00000013 0102ff ffff012c ee6b2800 ffffffffffffffff",
	},
	{
		name:    "structures",
		command: "event struct one a 1; struct three b 3",
		values:  []any{[]byte{0x0a}, []byte{1, 0xfe, 0xff}},
		text:    "event: a=0a b=01,fe,ff",
		little:  "0a 01feff",
		big:     "0a 01feff",
	},
	{
		name:    "text that tools must not see as it is",
		command: "event __rel_loc char[] a; char[4] b",
		values:  []any{"one\ntwo\x1b[2J\xff", "\r\n\t\x7f"},
		text:    `event: a=one\ntwo\x1b[2J\xff b=\r\n\t\x7f`,
		little:  "04000d00 0d0a097f 6f6e650a74776f1b5b324aff00",
		big:     "000d0004 0d0a097f 6f6e650a74776f1b5b324aff00",
	},
}

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

func mustParse(t testing.TB, command string) tracepoint.Declaration {
	t.Helper()
	d, err := tracepoint.Parse(command)
	require.NoError(t, err)
	return d
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// reference is an encoder for either byte order that is as simple as possible.
func reference(d tracepoint.Declaration, order binary.AppendByteOrder, values []any) []byte {
	var fixed, dynamic []byte
	for i, f := range d.Fields {
		data := referenceBytes(f.Type, order, values[i])
		if f.Type.Location == tracepoint.Fixed {
			data = append(data, make([]byte, f.Type.FixedSize()-len(data))...)
			fixed = append(fixed, data...)
			continue
		}
		offset := d.FixedSize() + len(dynamic)
		if f.Type.Location == tracepoint.RelLoc {
			offset -= len(fixed) + 4
		} else {
			offset += tracepoint.CommonSize
		}
		fixed = order.AppendUint32(fixed, uint32(len(data))<<16|uint32(offset))
		dynamic = append(dynamic, data...)
	}
	return append(fixed, dynamic...)
}

func referenceBytes(typ tracepoint.Type, order binary.AppendByteOrder, value any) []byte {
	var b []byte
	integer := func(v uint64) {
		switch typ.Kind.Size() {
		case 1:
			b = append(b, byte(v))
		case 2:
			b = order.AppendUint16(b, uint16(v))
		case 4:
			b = order.AppendUint32(b, uint32(v))
		case 8:
			b = order.AppendUint64(b, v)
		}
	}
	switch v := value.(type) {
	case int64:
		integer(uint64(v))
	case uint64:
		integer(v)
	case string:
		b = []byte(v)
		if typ.Location != tracepoint.Fixed {
			b = append(b, 0)
		}
	case []byte:
		b = v
	case []int64:
		for _, e := range v {
			integer(uint64(e))
		}
	case []uint64:
		for _, e := range v {
			integer(e)
		}
	default:
		panic(fmt.Sprintf("value of type %T", value))
	}
	return b
}

// plain returns a value as the corpus spells it.
func plain(v typed.Value) any {
	switch v.Kind() {
	case typed.KindInt:
		return v.Int64()
	case typed.KindUint:
		return v.Uint64()
	case typed.KindText:
		return v.Text()
	case typed.KindBytes:
		return v.Bytes()
	}
	return nil
}

// requireValues checks a decoded record against values of the corpus.
func requireValues(t testing.TB, d tracepoint.Declaration, values []any, r typed.Record) {
	t.Helper()
	require.Equal(t, d.Name, r.Event())
	require.Equal(t, len(d.Fields), r.Len())
	for i, want := range values {
		name, v := r.Field(i)
		require.Equal(t, d.Fields[i].Name, name)
		switch want := want.(type) {
		case []int64:
			require.Equal(t, typed.KindArray, v.Kind())
			require.Equal(t, len(want), v.Len())
			for j := range want {
				require.Equal(t, want[j], plain(v.At(j)), name)
			}
		case []uint64:
			require.Equal(t, typed.KindArray, v.Kind())
			require.Equal(t, len(want), v.Len())
			for j := range want {
				require.Equal(t, want[j], plain(v.At(j)), name)
			}
		default:
			require.Equal(t, want, plain(v), name)
		}
	}
}

func TestReferenceAgainstPayloadsWrittenByHand(t *testing.T) {
	for _, tt := range corpus {
		d := mustParse(t, tt.command)
		assert.Equal(t, unhex(t, tt.little), append([]byte{}, reference(d, binary.LittleEndian, tt.values)...), tt.name)
		assert.Equal(t, unhex(t, tt.big), append([]byte{}, reference(d, binary.BigEndian, tt.values)...), tt.name)
	}
}

// The functions of a Layout write what the corpus says, in the order of this machine.
func TestLayoutWritesTheCorpus(t *testing.T) {
	for _, tt := range corpus {
		t.Run(tt.name, func(t *testing.T) {
			l, err := typedfield.NewLayout(mustParse(t, strings.ReplaceAll(tt.command, "__rel_loc", "__data_loc")))
			require.NoError(t, err)
			const start = uevents.IndexSize
			b := l.Begin(make([]byte, start))
			for i, f := range l.Declaration().Fields {
				b = writeField(b, start, start+l.Offsets()[i], f.Type, tt.values[i])
			}
			payload := b[start:]
			recordtest.RequireAccepted(t, l.Declaration(), payload)
			dec, err := typed.NewDecoder(l.Declaration(), nil)
			require.NoError(t, err)
			r, err := dec.Decode(payload)
			require.NoError(t, err)
			assert.Equal(t, tt.text, r.String())
		})
	}
}

func writeField(b []byte, start, at int, typ tracepoint.Type, value any) []byte {
	begin := len(b)
	switch text, isText := value.(string); {
	case isText && typ.Location == tracepoint.DataLoc:
		b, _ = typedfield.AppendString(b, start, at, text, 1000)
	case isText:
		copy(b[at:at+typ.Len], text)
	case typ.Location == tracepoint.DataLoc:
		b = append(b, referenceBytes(typ, binary.NativeEndian, value)...)
		typedfield.EndArray(b, start, at, begin)
	case typ.Kind == tracepoint.Struct:
		copy(b[at:], value.([]byte))
	default:
		putInteger(b, at, typ.Kind.Size(), value)
	}
	return b
}

func putInteger(b []byte, at, size int, value any) {
	v, unsigned := value.(uint64)
	if !unsigned {
		v = uint64(value.(int64))
	}
	switch size {
	case 1:
		typedfield.PutU8(b, at, uint8(v))
	case 2:
		typedfield.PutU16(b, at, uint16(v))
	case 4:
		typedfield.PutU32(b, at, uint32(v))
	case 8:
		typedfield.PutU64(b, at, v)
	}
}
