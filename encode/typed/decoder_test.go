package typed_test

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
)

// formatOf returns what the kernel's format file would say about an event.
func formatOf(d tracepoint.Declaration) tracepoint.Format {
	f := tracepoint.Format{
		Name: d.Name, ID: 1702,
		Common: []tracepoint.FormatField{
			{Name: "common_type", Type: tracepoint.Scalar(tracepoint.UShort), Offset: 0, Size: 2},
			{Name: "common_flags", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 2, Size: 1},
			{Name: "common_preempt_count", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 3, Size: 1},
			{Name: "common_pid", Type: tracepoint.Scalar(tracepoint.Int), Offset: 4, Size: 4},
		},
	}
	at := tracepoint.CommonSize
	for _, field := range d.Fields {
		f.Fields = append(f.Fields, tracepoint.FormatField{Name: field.Name, Type: field.Type, Offset: at, Size: field.Type.FixedSize()})
		at += field.Type.FixedSize()
	}
	return f
}

// record puts common fields before a payload, and after it the padding of perf.
func record(order binary.ByteOrder, payload []byte) []byte {
	common := make([]byte, tracepoint.CommonSize)
	order.PutUint16(common, 1702)
	order.PutUint32(common[4:], 4242)
	return append(append(common, payload...), "padding"...)
}

func TestDecodeTheCorpus(t *testing.T) {
	for _, tt := range corpus {
		d := mustParse(t, tt.command)
		for _, order := range orders {
			t.Run(tt.name+" "+order.String(), func(t *testing.T) {
				payload := reference(d, order.(binary.AppendByteOrder), tt.values)

				dec, err := typed.NewDecoder(d, order)
				require.NoError(t, err)
				r, err := dec.Decode(payload)
				require.NoError(t, err)
				requireValues(t, d, tt.values, r)
				assert.Equal(t, tt.text, r.String())

				dec, err = typed.NewFormatDecoder(formatOf(d), order)
				require.NoError(t, err)
				r, err = dec.Decode(record(order, payload))
				require.NoError(t, err)
				requireValues(t, d, tt.values, r)
				assert.Equal(t, tt.text, r.String())
				pid, found := r.Lookup("common_pid")
				assert.True(t, found)
				assert.Equal(t, int64(4242), pid.Int64())
			})
		}
	}
}

// TestDecodeTextAtTheStart: on a big-endian machine, the text of a first field that is empty is the payload's first byte.
func TestDecodeTextAtTheStart(t *testing.T) {
	dec, err := typed.NewDecoder(mustParse(t, "event __data_loc char[] a; u8 b"), binary.BigEndian)
	require.NoError(t, err)
	r, err := dec.Decode(unhex(t, "00010008 07"))
	require.NoError(t, err)
	assert.Equal(t, "event: a= b=7", r.String())
}

// TestDecodeFieldsWithoutBytes: the kernel declares arrays of unknown length as a structure of no bytes.
func TestDecodeFieldsWithoutBytes(t *testing.T) {
	buf := tracepoint.Field{Name: "buf", Type: tracepoint.StructOf("__u8", 0)}
	n := tracepoint.Field{Name: "n", Type: tracepoint.Scalar(tracepoint.U8)}
	for _, tt := range []struct {
		fields []tracepoint.Field
		want   string
	}{
		{[]tracepoint.Field{buf}, "event: buf="},
		{[]tracepoint.Field{buf, n}, "event: buf= n=7"},
		{[]tracepoint.Field{n, buf}, "event: n=7 buf="},
	} {
		dec, err := typed.NewDecoder(tracepoint.Declaration{Name: "event", Fields: tt.fields}, nil)
		require.NoError(t, err)
		r, err := dec.Decode([]byte{7})
		require.NoError(t, err)
		assert.Equal(t, tt.want, r.String())
	}
}

// Whatever is cut off a payload, decoding fails instead of reading beyond its end.
func TestDecodeShortPayloads(t *testing.T) {
	for _, tt := range corpus {
		d := mustParse(t, tt.command)
		for _, order := range orders {
			payload := reference(d, order.(binary.AppendByteOrder), tt.values)
			dec, err := typed.NewDecoder(d, order)
			require.NoError(t, err)
			for n := range len(payload) {
				r, err := dec.Decode(payload[:n:n])
				require.ErrorIs(t, err, typed.ErrMalformed, "%s, %d of %d bytes", tt.name, n, len(payload))
				require.Zero(t, r)
			}
		}
	}
}

func TestDecodeMalformed(t *testing.T) {
	tests := []struct {
		name, command, payload string // little-endian
		problem                string
	}{
		{"no payload", "event u32 a", "", `event "event", field "a": 4 bytes at offset 0, and the record has 0`},
		{"short second field", "event u8 a; u16 b", "0101", `field "b": 2 bytes at offset 1, and the record has 2`},
		{"only the first field", "event u8 a; u16 b", "01", `field "b": 2 bytes at offset 1, and the record has 1`},
		{"text beyond the end", "event __rel_loc char[] a", "00000500 61626300", "5 bytes at offset 4, and the record has 8"},
		{"text begins beyond the end", "event __rel_loc char[] a", "ffff0100 00", "1 bytes at offset 65539"},
		{"largest location", "event __rel_loc char[] a", "ffffffff 00", "65535 bytes at offset 65539"},
		{"before the payload", "event __data_loc char[] a", "07000100 00", "1 bytes at offset -1"},
		{"within the common fields", "event __data_loc char[] a", "00000800 00", "8 bytes at offset -8"},
		{"half an element", "event __rel_loc u32[] a", "00000600 000000000000", "6 bytes are no array of u32"},
		{"half an element at the start", "event __data_loc u32[] a", "08000300", "3 bytes are no array of u32"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dec, err := typed.NewDecoder(mustParse(t, tt.command), binary.LittleEndian)
			require.NoError(t, err)
			r, err := dec.Decode(unhex(t, tt.payload))
			require.ErrorIs(t, err, typed.ErrMalformed)
			assert.ErrorContains(t, err, tt.problem)
			assert.Zero(t, r)
		})
	}
}

// An empty field may point anywhere: there is nothing to read.
func TestDecodeEmptyDynamicFields(t *testing.T) {
	for _, command := range []string{"event __rel_loc char[] a", "event __data_loc char[] a", "event __rel_loc u32[] a"} {
		for _, word := range []string{"00000000", "ffff0000"} {
			dec, err := typed.NewDecoder(mustParse(t, command), binary.LittleEndian)
			require.NoError(t, err)
			r, err := dec.Decode(unhex(t, word))
			require.NoError(t, err)
			_, v := r.Field(0)
			assert.Empty(t, v.Bytes())
			assert.Empty(t, v.Text())
			assert.Zero(t, v.Len())
		}
	}
}

func TestDecodeTextWithoutNUL(t *testing.T) {
	dec, err := typed.NewDecoder(mustParse(t, "event __rel_loc char[] a; __rel_loc char[] b"), binary.LittleEndian)
	require.NoError(t, err)
	r, err := dec.Decode(unhex(t, "04000200 02000300 6162 630064"))
	require.NoError(t, err)
	assert.Equal(t, "event: a=ab b=c", r.String())
}

func TestDecodeDoesNotCopy(t *testing.T) {
	dec, err := typed.NewDecoder(mustParse(t, "event u8 a; char[2] b"), nil)
	require.NoError(t, err)
	data := []byte{1, 'x', 'y'}
	r, err := dec.Decode(data)
	require.NoError(t, err)
	data[0], data[1] = 2, 'z'
	assert.Equal(t, "event: a=2 b=zy", r.String())
}

// A location word that changes under a record gives no value rather than a panic.
func TestRecordOfDataThatChanged(t *testing.T) {
	dec, err := typed.NewDecoder(mustParse(t, "event __rel_loc char[] a"), binary.LittleEndian)
	require.NoError(t, err)
	data := unhex(t, "00000200 6100")
	r, err := dec.Decode(data)
	require.NoError(t, err)
	data[2] = 0xFF
	_, v := r.Field(0)
	assert.Equal(t, typed.KindInvalid, v.Kind())
}

// Other programs register names that this library would refuse.
func TestDecoderTakesAnyName(t *testing.T) {
	d := tracepoint.Declaration{Name: "my-event.1f", Fields: []tracepoint.Field{{Name: "user.id\n", Type: tracepoint.Scalar(tracepoint.U8)}}}
	dec, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	r, err := dec.Decode([]byte{7})
	require.NoError(t, err)
	assert.Equal(t, `my-event.1f: user.id\n=7`, r.String())
}

func TestNewDecoderRefuses(t *testing.T) {
	types := []tracepoint.Type{
		{},
		{Kind: 99},
		{Kind: tracepoint.U8, Location: 9},
		{Kind: tracepoint.Struct, Location: tracepoint.RelLoc},
		tracepoint.StructOf("p", -1),
	}
	for _, typ := range types {
		_, err := typed.NewDecoder(tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{{Name: "f", Type: typ}}}, nil)
		assert.ErrorIs(t, err, tracepoint.ErrInvalid, "%+v", typ)
		_, err = typed.NewFormatDecoder(tracepoint.Format{Fields: []tracepoint.FormatField{{Name: "f", Type: typ}}}, nil)
		assert.ErrorIs(t, err, tracepoint.ErrInvalid, "%+v", typ)
	}
	_, err := typed.NewFormatDecoder(tracepoint.Format{Fields: []tracepoint.FormatField{{Type: tracepoint.Scalar(tracepoint.U8), Offset: -1}}}, nil)
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)

	// Sizes that add up to more than an int holds.
	huge := tracepoint.Field{Name: "f", Type: tracepoint.StructOf("p", math.MaxInt)}
	_, err = typed.NewDecoder(tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{huge, huge, huge}}, nil)
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)
}

// What a kernel (6.1) wrote into a format file and a ring buffer when a program wrote
// a payload of this package. Numbers whose bits are all set tell the signs apart; three bytes at
// the end pad the record.
func TestDecodeWhatAKernelRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/every.format")
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(string(text))
	require.NoError(t, err)
	dec, err := typed.NewFormatDecoder(f, binary.LittleEndian)
	require.NoError(t, err)
	data := unhex(t, "be 03 00 00 34 00 00 00 01 41 ff ff ff 94 01 ff"+
		"ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff"+
		"ff ff ff ff ff ff ff 78 61 62 63 64 65 66 7a 7a"+
		"00 00 25 00 12 00 20 00 01 00 6d 00 08 00 33 00"+
		"04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"+
		"00 00 00 00 00 00 00 00 00 00 00 6f 6e 65 e2 90"+
		"8a 74 77 6f 20 67 72 c3 b6 c3 9f 65 00 64 61 74"+
		"61 6c 6f 63 00 01 00 02 00 f7 98 bb")
	r, err := dec.Decode(data)
	require.NoError(t, err)
	const want = "every: b=1 l=65 s8=-1 s16=-1 u16=404 s32=-1 u32=4294967295 s64=-1 u64=18446744073709551615 c=120 " +
		"ca=abcdef uca=zz txt=one␊two größe empty= dl=dataloc arr={1,2} st=00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00"
	assert.Equal(t, want, r.String())
	id, _ := r.Lookup("common_type")
	assert.Equal(t, uint64(f.ID), id.Uint64())
	pid, _ := r.Lookup("common_pid")
	assert.Equal(t, int64(0x34), pid.Int64())

	// Without the common fields, the declaration is enough.
	d, err := f.Declaration()
	require.NoError(t, err)
	dec, err = typed.NewDecoder(d, binary.LittleEndian)
	require.NoError(t, err)
	r, err = dec.Decode(data[tracepoint.CommonSize:])
	require.NoError(t, err)
	assert.Equal(t, want, r.String())
}

// The kernel's own events are laid out with gaps and have arrays of any integer.
// TestDecodeRegister: a value that is smaller than its field is in the low bytes, whatever the order of bytes.
func TestDecodeRegister(t *testing.T) {
	text, err := os.ReadFile("../../tracepoint/testdata/syscall.format")
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(string(text))
	require.NoError(t, err)
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		d, err := typed.NewFormatDecoder(f, order)
		require.NoError(t, err)
		for _, high := range []uint32{0, math.MaxUint32, 0x1234} { // what a C program leaves there
			raw := make([]byte, 52)
			order.PutUint32(raw[8:], 257)
			for i, register := range []uint64{uint64(high)<<32 | 0xffffff9c, 0x7ffd12345678, uint64(high)<<32 | 0x80000, uint64(high)<<32 | 0o644} {
				order.PutUint64(raw[16+8*i:], register)
			}
			r, err := d.Decode(raw)
			require.NoError(t, err)
			var got []any
			for i := range r.Len() - 1 {
				if _, v := r.Field(i); v.Kind() == typed.KindInt {
					got = append(got, v.Int64())
				} else {
					got = append(got, v.Uint64())
				}
			}
			assert.Equal(t, []any{int64(257), int64(-100), uint64(0x7ffd12345678), int64(0x80000), uint64(0o644)}, got, "%s %x", order, high)
		}
	}
}

func TestDecodeAKernelEvent(t *testing.T) {
	text, err := os.ReadFile("testdata/sched_process_exec.format")
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(string(text))
	require.NoError(t, err)
	dec, err := typed.NewFormatDecoder(f, binary.LittleEndian)
	require.NoError(t, err)
	r, err := dec.Decode(unhex(t, "3e01 00 00 39300000 18000800 39300000 d2040000 eeeeeeee 2f62696e2f6c7300"))
	require.NoError(t, err)
	assert.Equal(t, "sched_process_exec: filename=/bin/ls pid=12345 old_pid=1234", r.String())
}

func FuzzDecode(f *testing.F) {
	for _, tt := range corpus {
		d := mustParse(f, tt.command)
		f.Add(tt.command, reference(d, binary.LittleEndian, tt.values), false, false)
		f.Add(tt.command, record(binary.BigEndian, reference(d, binary.BigEndian, tt.values)), true, true)
	}
	f.Fuzz(func(t *testing.T, command string, data []byte, big, common bool) {
		d, err := tracepoint.Parse(command)
		if err != nil {
			return
		}
		order := orders[0]
		if big {
			order = orders[1]
		}
		dec, err := typed.NewDecoder(d, order)
		if common {
			dec, err = typed.NewFormatDecoder(formatOf(d), order)
		}
		require.NoError(t, err)
		r, err := dec.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, typed.ErrMalformed)
			require.Zero(t, r)
			return
		}
		require.Equal(t, len(d.Fields), r.Len())
		for name, v := range r.All() {
			require.NotEqual(t, typed.KindInvalid, v.Kind(), name)
			found, ok := r.Lookup(name)
			require.True(t, ok)
			require.Equal(t, v, found)
		}
		requireHarmless(t, r.String())
	})
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	testscale.CountAllocations(t)
	for _, tt := range corpus {
		if len(tt.values) == 0 {
			continue
		}
		dec, err := typed.NewDecoder(mustParse(t, tt.command), binary.LittleEndian)
		require.NoError(t, err)
		payload := unhex(t, tt.little)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			r, err := dec.Decode(payload)
			if err != nil {
				panic(err)
			}
			sum := uint64(0)
			for i := range r.Len() {
				name, v := r.Field(i)
				if _, found := r.Lookup(name); !found {
					panic("not found")
				}
				sum += v.Uint64() + uint64(len(v.Bytes()))
			}
			if sum == 0 {
				panic("nothing was decoded")
			}
		}), tt.name)
	}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
