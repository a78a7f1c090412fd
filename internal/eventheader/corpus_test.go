package eventheader

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a value, its bytes in an event, what it decodes to, and how an Encoder adds it, if it can.
type sample struct {
	typ  Type
	data func(o order) []byte
	want any
	add  func(*Encoder, string)
}

// allTypes returns every type that a value can have.
func allTypes() []Type {
	var types []Type
	for e := encValue8; e <= maxEncoding; e++ {
		for f := range formatOldIP {
			if formatsOf[e]&(1<<f) != 0 {
				types = append(types, typeOf(e, f))
			}
		}
	}
	return types
}

// corpus returns samples of every type.
func corpus() []sample {
	var all []sample
	for _, t := range allTypes() {
		e, f := t.encoding(), t.format()
		switch {
		case e.counted() && e.unit() == 1 && fixedSizes[f] != 0:
			all = append(all, nullSamples(t)...)
		case e.unit() > 0 && t != typeBytes && f != FormatHexBytes:
			all = append(all, textSamples(t)...)
		case e.unit() > 0:
			all = append(all, byteSamples(t)...)
		case e.size() > 8 || f == FormatHexBytes || f == FormatIP:
			all = append(all, fixedSamples(t)...)
		default:
			all = append(all, numberSamples(t)...)
		}
	}
	return all
}

// bytesOf returns bytes as they are, whatever the byte order is.
func bytesOf(b []byte) func(order) []byte { return func(order) []byte { return b } }

// counted returns the bytes of a value whose size stands before it, in units.
func counted(t Type, content func(o order) []byte) func(order) []byte {
	return func(o order) []byte {
		b := content(o)
		if !t.encoding().counted() {
			return append(b, make([]byte, t.encoding().unit())...)
		}
		return append(o.append16(nil, uint16(len(b)/t.encoding().unit())), b...)
	}
}

func numberSamples(t Type) []sample {
	size := t.encoding().size()
	top := uint64(math.MaxUint64) >> (64 - 8*size)
	number := func(v uint64, want any) sample {
		return sample{
			typ: t, want: want,
			data: func(o order) []byte { return o.appendNumber(nil, uint8(size), v) },
			add:  func(e *Encoder, name string) { e.Value(name, t, v) },
		}
	}
	signed := func(v int64, want any) sample { return number(uint64(v), want) }
	lowest, highest := -1-int64(top>>1), int64(top>>1)
	switch t.format() {
	case FormatSigned, FormatErrno, FormatPID:
		return []sample{signed(0, int64(0)), signed(-1, int64(-1)), signed(lowest, lowest), signed(highest, highest)}
	case FormatTime:
		at := func(v int64) sample { return signed(v, time.Unix(v, 0).UTC()) }
		return []sample{at(0), at(-1), at(1_700_000_000), at(math.MaxInt32)}
	case FormatBool:
		return []sample{number(0, false), number(1, true)}
	case FormatFloat:
		float := func(v float64) sample {
			if size == 4 {
				return number(uint64(math.Float32bits(float32(v))), float32(v))
			}
			return number(math.Float64bits(v), v)
		}
		return []sample{float(0), float(-0.5), float(math.Pi), float(math.Inf(-1)), float(math.MaxFloat32)}
	case formatLatin1:
		return []sample{number('A', "A"), number(0xe9, "é"), number(0, "\x00")}
	case formatUTF:
		all := []sample{number('A', "A"), number('é', "é"), number(0xd800, "\ufffd")}
		if size == 4 {
			all = append(all, number('😀', "😀"), number(math.MaxUint32, "\ufffd"))
		}
		return all
	case FormatPort:
		s := number(443, uint64(443))
		port := []byte{1, 187}
		s.data, s.add = bytesOf(port), func(e *Encoder, name string) { e.network(name, t, port) }
		return []sample{s}
	}
	return []sample{number(0, uint64(0)), number(1, uint64(1)), number(top, top), number(top/3, top/3)}
}

// fixedSamples are bytes of the size that the encoding has.
func fixedSamples(t Type) []sample {
	id := sequence(1)
	b := id[:t.encoding().size()]
	var want any = append([]byte{}, b...)
	switch t.format() {
	case FormatUUID:
		want = id
	case FormatIP:
		want, _ = netip.AddrFromSlice(b)
	}
	return []sample{{typ: t, data: bytesOf(b), want: want, add: func(e *Encoder, name string) { e.network(name, t, b) }}}
}

// byteSamples are units that are shown as bytes.
func byteSamples(t Type) []sample {
	var all []sample
	for _, v := range [][]byte{{}, {1, 2, 3, 4}, []byte("\xff\x01long")[:4]} {
		s := sample{typ: t, data: counted(t, bytesOf(v)), want: v}
		if t == typeBytes {
			s.add = func(e *Encoder, name string) { e.Bytes(name, v) }
		}
		all = append(all, s)
	}
	return all
}

func textSamples(t Type) []sample {
	text := func(v string) sample {
		s := sample{typ: t, want: v, data: counted(t, func(o order) []byte { return encodedText(o, t, v) })}
		switch t {
		case typeString:
			s.add = func(e *Encoder, name string) { e.String(name, v) }
		case typeJSON:
			s.add = func(e *Encoder, name string) { e.JSON(name, v) }
		}
		return s
	}
	all := []sample{text(""), text("a"), text("hello, world"), text("caf\u00e9")}
	if t.format() != formatLatin1 {
		all = append(all, text("日本語 😀"), text("\ufffd"))
	}
	return all
}

// encodedText returns a text in the units of a type.
func encodedText(o order, t Type, v string) (b []byte) {
	switch unit := t.encoding().unit(); {
	case t.format() == formatLatin1:
		for _, r := range v {
			b = append(b, byte(r))
		}
	case unit == 2:
		for _, u := range utf16.Encode([]rune(v)) {
			b = o.append16(b, u)
		}
	case unit == 4:
		for _, r := range v {
			b = o.append32(b, uint32(r))
		}
	default:
		b = []byte(v)
	}
	return b
}

// nullSamples are values of a fixed size in counted bytes, which may be null.
func nullSamples(t Type) []sample {
	null := sample{typ: t, data: counted(t, bytesOf(nil))}
	if t == typeNull {
		null.add = func(e *Encoder, name string) { e.Null(name) }
	}
	all := []sample{null}
	value := func(want any, content func(o order) []byte) {
		all = append(all, sample{typ: t, want: want, data: counted(t, content)})
	}
	number := func(v uint64, size uint8, want any) {
		value(want, func(o order) []byte { return o.appendNumber(nil, size, v) })
	}
	id := sequence(1)
	switch t.format() {
	case FormatUnsigned, FormatHex:
		number(7, 1, uint64(7))
		number(math.MaxUint64, 8, uint64(math.MaxUint64))
	case FormatSigned:
		number(0xff, 1, int64(-1))
		number(1<<63, 8, int64(math.MinInt64))
	case FormatErrno, FormatPID:
		number(math.MaxUint32-1, 4, int64(-2))
	case FormatTime:
		number(60, 8, time.Unix(60, 0).UTC())
	case FormatBool:
		number(1, 1, true)
		number(0, 4, false)
	case FormatFloat:
		number(math.Float64bits(0.25), 8, 0.25)
	case FormatPort:
		value(uint64(443), bytesOf(binary.BigEndian.AppendUint16(nil, 443)))
	case FormatUUID:
		value(id, bytesOf(id[:]))
	case FormatIP:
		value(netip.MustParseAddr("127.0.0.1"), bytesOf([]byte{127, 0, 0, 1}))
		value(netip.AddrFrom16(id), bytesOf(id[:]))
	}
	return all
}

var archs = []arch{archHost, little64, little32, big64, big32}

func tree(t testing.TB, level Level, b []byte) []node {
	ev, err := Decode(Name{Provider: "test", Level: level}.String(), b)
	require.NoError(t, err)
	nodes, err := ev.tree()
	require.NoError(t, err)
	return nodes
}

func TestCorpusCoversAllTypes(t *testing.T) {
	decoded, added := map[Type]bool{}, map[Type]bool{}
	for _, s := range corpus() {
		decoded[s.typ] = true
		added[s.typ] = added[s.typ] || s.add != nil
	}
	for _, typ := range allTypes() {
		assert.True(t, decoded[typ], typ)
		numbers := typ.encoding().size() > 0
		assert.Equal(t, numbers || typ == typeString || typ == typeJSON || typ == typeBytes || typ == typeNull, added[typ], typ)
	}
}

// TestEncoderRoundTrip: what an Encoder adds decodes to the same, and its bytes are those that other producers write.
func TestEncoderRoundTrip(t *testing.T) {
	for _, arch := range archs {
		_, o := arch.flags()
		var e Encoder
		for i, s := range corpus() {
			if s.add == nil {
				continue
			}
			h := Header{Name: "e", Level: LevelInfo, arch: arch}
			e.Begin(nil, &h, maxLimit)
			e.Value("before", typeUint8, 1)
			s.add(&e, "x")
			e.BeginStruct("in")
			s.add(&e, "y")
			e.EndStruct()
			e.Value("after", typeUint8, 2)
			b := end(t, &e)
			want := []node{
				{"before", typeUint8, 0, uint64(1)},
				{"x", s.typ, 0, s.want},
				{"in", typeOf(encStruct, 1), 0, []node{{"y", s.typ, 0, s.want}}},
				{"after", typeUint8, 0, uint64(2)},
			}
			assert.Equal(t, want, tree(t, LevelInfo, b), "sample %d, %v", i, s.typ)

			r := raw{order: o}
			r.field("before", typeUint8, 0, 0)
			r.data = append(r.data, 1)
			r.value("x", s)
			r.field("in", typeOf(encStruct, 1), 0, 0)
			r.value("y", s)
			r.field("after", typeUint8, 0, 0)
			r.data = append(r.data, 2)
			assert.Equal(t, r.event(h), b, "sample %d, %v", i, s.typ)
		}
	}
}

// TestDecodeEachType: values of each type, alone, with tags, in structs, in arrays of both kinds and in arrays of structs.
func TestDecodeEachType(t *testing.T) {
	for _, arch := range archs {
		_, o := arch.flags()
		for i, s := range corpus() {
			r := raw{order: o}
			inner := func() {
				r.field("one", s.typ, 0, 0x1234)
				r.field("two", s.typ, 2, 0)
				r.field("some", s.typ, variable, 0)
			}
			put := func(n int) {
				for range n {
					r.data = append(r.data, s.data(o)...)
				}
			}
			putInner := func(some int) {
				put(3)
				r.count(some)
				put(some)
			}
			three := typeOf(encStruct, 3)
			r.value("plain", s)
			r.field("struct", three, 0, 0)
			inner()
			putInner(3)
			r.field("fixed", three, 2, 0)
			inner()
			putInner(0)
			putInner(1)
			r.field("structs", three, variable, 0)
			inner()
			r.count(3)
			for n := range 3 {
				putInner(n)
			}
			r.field("none", three, variable, 0)
			inner()
			r.count(0)
			r.field("after", typeUint8, 0, 0)
			r.data = append(r.data, 2)

			children := func(some int) []node {
				elements := []any{}
				for range some {
					elements = append(elements, s.want)
				}
				return []node{{"one", s.typ, 0x1234, s.want}, {"two", s.typ, 0, []any{s.want, s.want}}, {"some", s.typ, 0, elements}}
			}
			want := []node{
				{"plain", s.typ, 0, s.want},
				{"struct", three, 0, children(3)},
				{"fixed", three, 0, []any{children(0), children(1)}},
				{"structs", three, 0, []any{children(0), children(1), children(2)}},
				{"none", three, 0, []any{}},
				{"after", typeUint8, 0, uint64(2)},
			}
			require.Equal(t, want, tree(t, LevelInfo, r.event(Header{Name: "e", Level: LevelInfo, arch: arch})), "sample %d, %v", i, s.typ)
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, arch := range archs {
		h := Header{Name: "name", Level: LevelCritical, Opcode: Opcode(0xf0), ID: 0x1234, Version: 5, Tag: 0xabcd, arch: arch}
		var e Encoder
		e.Begin(nil, &h, 0)
		e.Value("x", typeUint64, 1)
		ev, err := Decode("p_L1K0", end(t, &e))
		require.NoError(t, err)
		_, order := arch.flags()
		assert.Equal(t, order, ev.order)
		h.arch = archHost // which no event tells
		assert.Equal(t, h, ev.Header)
	}
}
