package eventheader

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// sample is a value, the two ways to encode it, and what it decodes to.
type sample struct {
	typ  Type
	put  func(*Record)
	add  func(*Encoder, string)
	want any
}

// allTypes returns every type that a value can have.
func allTypes() []Type {
	var types []Type
	for e := Value8; e <= maxEncoding; e++ {
		for f := FormatDefault; f <= formatOldIP; f++ {
			if t := TypeOf(e, f); t.fits() {
				types = append(types, t)
			}
		}
	}
	return types
}

// corpus returns samples of every type.
func corpus() []sample {
	var all []sample
	for _, t := range allTypes() {
		switch e := t.Encoding(); {
		case t.nullable():
			all = append(all, nullSamples(t)...)
		case e.unit() > 0 && t != TypeBytes && t.Format() != FormatHexBytes:
			all = append(all, textSamples(t)...)
		case t.isText() && (!e.counted() || e.unit() > 1):
			all = append(all, hexTextSamples(t)...)
		case t.isNumber():
			all = append(all, numberSamples(t)...)
		default:
			all = append(all, byteSamples(t)...)
		}
	}
	return all
}

func numberSamples(t Type) []sample {
	size := t.Encoding().size()
	top := uint64(math.MaxUint64) >> (64 - 8*size)
	number := func(v uint64, want any) sample {
		return sample{
			typ: t, want: want,
			put: func(r *Record) { r.Uint(v) },
			add: func(e *Encoder, name string) { e.Value(name, t, v) },
		}
	}
	signed := func(v int64, want any) sample {
		return sample{
			typ: t, want: want,
			put: func(r *Record) { r.Int(v) },
			add: func(e *Encoder, name string) { e.Value(name, t, uint64(v)) },
		}
	}
	lowest, highest := -1-int64(top>>1), int64(top>>1)
	switch t.Format() {
	case FormatSigned, FormatErrno, FormatPID:
		return []sample{signed(0, int64(0)), signed(-1, int64(-1)), signed(lowest, lowest), signed(highest, highest)}
	case FormatTime:
		at := func(v int64) sample { return signed(v, time.Unix(v, 0).UTC()) }
		return []sample{at(0), at(-1), at(1_700_000_000), at(math.MaxInt32)}
	case FormatBool:
		boolean := func(v bool) sample {
			return sample{
				typ: t, want: v,
				put: func(r *Record) { r.Bool(v) },
				add: func(e *Encoder, name string) { e.Value(name, t, uint64(bit(v))) },
			}
		}
		return []sample{boolean(false), boolean(true)}
	case FormatFloat:
		float := func(v float64) sample {
			s := sample{typ: t, put: func(r *Record) { r.Float(v) }}
			if size == 4 {
				s.want = float32(v)
				s.add = func(e *Encoder, name string) { e.Value(name, t, uint64(math.Float32bits(float32(v)))) }
			} else {
				s.want = v
				s.add = func(e *Encoder, name string) { e.Value(name, t, math.Float64bits(v)) }
			}
			return s
		}
		return []sample{float(0), float(-0.5), float(math.Pi), float(math.Inf(-1)), float(math.MaxFloat32)}
	case FormatLatin1:
		return []sample{number('A', "A"), number(0xe9, "é"), number(0, "\x00")}
	case FormatUTF:
		all := []sample{number('A', "A"), number('é', "é"), number(0xd800, "\ufffd")}
		if size == 4 {
			all = append(all, number('😀', "😀"), number(math.MaxUint32, "\ufffd"))
		}
		return all
	}
	return []sample{number(0, uint64(0)), number(1, uint64(1)), number(top, top), number(top/3, top/3)}
}

func byteSamples(t Type) []sample {
	e := t.Encoding()
	data := func(b []byte, want any) sample {
		return sample{
			typ: t, want: want,
			put: func(r *Record) { r.Bytes(b) },
			add: func(e *Encoder, name string) { e.Data(name, t, b) },
		}
	}
	if e.size() == 0 {
		return []sample{data([]byte{}, []byte{}), data([]byte{0}, []byte{0}), data([]byte("\xff\x00long"), []byte("\xff\x00long"))}
	}
	id := sequence(1)
	b := id[:e.size()]
	switch t.Format() {
	case FormatUUID:
		return []sample{data(b, id)}
	case FormatIP:
		addr, _ := netip.AddrFromSlice(b)
		return []sample{data(b, addr)}
	}
	return []sample{data(b, append([]byte{}, b...))}
}

func textSamples(t Type) []sample {
	text := func(v string) sample {
		return sample{
			typ: t, want: wantText(t, v),
			put: func(r *Record) { r.String(v) },
			add: func(e *Encoder, name string) { e.Text(name, t, v) },
		}
	}
	all := []sample{
		text(""), text("a"), text("hello, world"),
		text("caf\u00e9"), text("bad \xff\xc3"),
		text(strings.Repeat("0123456789", 5)),
	}
	all = append(all, text("a\x00b"), text("\x00\ufeff"), text("\n\u202e\\"))
	if t.Format() == FormatLatin1 {
		return append(all, text("日本"))
	}
	return append(all,
		text("日本語 😀"),
		text("\ufffd"),
		// Texts that begin like byte order marks of this and of other encodings.
		text("\ufeffx"), text("\ufffex"), text("\U0001feff"), text("\ufeff\ufeff"),
	)
}

// hexTextSamples are texts in units that are shown as bytes.
func hexTextSamples(t Type) []sample {
	v := "hi"
	return []sample{{
		typ: t,
		put: func(r *Record) { r.String(v) },
		add: func(e *Encoder, name string) { e.Text(name, t, v) },
		want: func(o order) []byte {
			switch t.Encoding().unit() {
			case 2:
				return o.append16(o.append16(nil, 'h'), 'i')
			case 4:
				return o.append32(o.append32(nil, 'h'), 'i')
			}
			return []byte(v)
		},
	}}
}

func nullSamples(t Type) []sample {
	all := []sample{{
		typ:  t,
		put:  func(r *Record) { r.Null() },
		add:  func(e *Encoder, name string) { e.Null(name, t) },
		want: nil,
	}}
	data := func(b []byte, want any) sample {
		return sample{
			typ: t, want: want,
			put: func(r *Record) { r.Bytes(b) },
			add: func(e *Encoder, name string) { e.Data(name, t, b) },
		}
	}
	number := func(put func(*Record), want any) sample { return sample{typ: t, put: put, want: want} }
	id := sequence(1)
	switch t.Format() {
	case FormatUnsigned, FormatHex:
		return append(all, data([]byte{7}, uint64(7)), number(func(r *Record) { r.Uint(math.MaxUint64) }, uint64(math.MaxUint64)))
	case FormatSigned:
		return append(all, data([]byte{0xff}, int64(-1)), number(func(r *Record) { r.Int(math.MinInt64) }, int64(math.MinInt64)))
	case FormatErrno, FormatPID:
		return append(all, number(func(r *Record) { r.Int(-2) }, int64(-2)))
	case FormatTime:
		return append(all, number(func(r *Record) { r.Int(60) }, time.Unix(60, 0).UTC()))
	case FormatBool:
		return append(all, data([]byte{1}, true), number(func(r *Record) { r.Bool(false) }, false))
	case FormatFloat:
		return append(all, number(func(r *Record) { r.Float(0.25) }, 0.25))
	case FormatPort:
		return append(all, data([]byte{1, 187}, uint64(443)), number(func(r *Record) { r.Uint(443) }, uint64(443)))
	case FormatUUID:
		return append(all, data(id[:], id))
	case FormatIP:
		return append(all, data([]byte{127, 0, 0, 1}, netip.MustParseAddr("127.0.0.1")), data(id[:], netip.AddrFrom16(id)))
	}
	return all
}

// expected returns what a sample decodes to in a byte order.
func (s sample) expected(o order) any {
	if f, ok := s.want.(func(order) []byte); ok {
		return f(o)
	}
	return s.want
}

var archs = []Arch{Host, LittleEndian64, LittleEndian32, BigEndian64, BigEndian32}

func tree(t testing.TB, level Level, b []byte) []Node {
	ev, err := Decode(Name{Provider: "test", Level: level}.String(), b)
	require.NoError(t, err)
	nodes, err := ev.Tree()
	require.NoError(t, err)
	return nodes
}

func TestCorpusCoversAllTypes(t *testing.T) {
	fromSchema, fromEncoder := map[Type]bool{}, map[Type]bool{}
	for _, s := range corpus() {
		fromSchema[s.typ] = true
		fromEncoder[s.typ] = fromEncoder[s.typ] || s.add != nil
	}
	for _, typ := range allTypes() {
		assert.True(t, fromSchema[typ], "schema: %v", typ)
		assert.True(t, fromEncoder[typ], "encoder: %v", typ)
	}
}

func TestEncoderRoundTrip(t *testing.T) {
	for _, arch := range archs {
		_, o := arch.flags()
		var e Encoder
		for i, s := range corpus() {
			if s.add == nil {
				continue
			}
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo, Arch: arch}, MaxLimit)
			e.Value("before", TypeUint8, 1)
			s.add(&e, "x")
			e.BeginStruct("in")
			s.add(&e, "y")
			e.EndStruct()
			e.Value("after", TypeUint8, 2)
			want := []Node{
				{"before", TypeUint8, 0, uint64(1)},
				{"x", s.typ, 0, s.expected(o)},
				{"in", TypeOf(Struct, 1), 0, []Node{{"y", s.typ, 0, s.expected(o)}}},
				{"after", TypeUint8, 0, uint64(2)},
			}
			assert.Equal(t, want, tree(t, LevelInfo, end(t, &e)), "sample %d, %v", i, s.typ)
		}
	}
}

func TestSchemaRoundTrip(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range archs {
		_, o := arch.flags()
		var r Record
		for i, s := range corpus() {
			inner := []Field{
				{Name: "one", Type: s.typ, Tag: 0x1234},
				{Name: "two", Type: s.typ, Array: 2},
				{Name: "some", Type: s.typ, Array: Variable},
			}
			schema := mustSchema(t, Header{Name: "e", Level: LevelInfo, Arch: arch},
				Field{Name: "before", Type: TypeUint8},
				Field{Name: "plain", Type: s.typ},
				Field{Name: "struct", Type: TypeStruct, Fields: inner},
				Field{Name: "fixed", Type: TypeStruct, Array: 2, Fields: inner},
				Field{Name: "structs", Type: TypeStruct, Array: Variable, Fields: inner},
				Field{Name: "none", Type: TypeStruct, Array: Variable, Fields: inner},
				Field{Name: "after", Type: TypeUint8},
			)
			r.Begin([]byte{1, 2, 3, 4}, schema, MaxLimit)
			putInner := func(some int) {
				s.put(&r)
				s.put(&r)
				s.put(&r)
				r.Count(some)
				for range some {
					s.put(&r)
				}
			}
			r.Uint(1)
			s.put(&r)
			putInner(3)
			putInner(0)
			putInner(1)
			r.Count(3)
			for n := range 3 {
				putInner(n)
			}
			r.Count(0)
			r.Uint(2)
			b, err := r.End()
			require.NoError(t, err, "sample %d, %v", i, s.typ)
			require.Equal(t, []byte{1, 2, 3, 4}, b[:4])

			v := s.expected(o)
			children := func(some int) []Node {
				elements := []any{}
				for range some {
					elements = append(elements, v)
				}
				return []Node{{"one", s.typ, 0x1234, v}, {"two", s.typ, 0, []any{v, v}}, {"some", s.typ, 0, elements}}
			}
			three := TypeOf(Struct, 3)
			want := []Node{
				{"before", TypeUint8, 0, uint64(1)},
				{"plain", s.typ, 0, v},
				{"struct", three, 0, children(3)},
				{"fixed", three, 0, []any{children(0), children(1)}},
				{"structs", three, 0, []any{children(0), children(1), children(2)}},
				{"none", three, 0, []any{}},
				{"after", TypeUint8, 0, uint64(2)},
			}
			require.Equal(t, want, tree(t, LevelInfo, b[4:]), "sample %d, %v", i, s.typ)
		}
	}
}

// TestEncodersAgree checks that the same event has the same bytes from both encoders.
func TestEncodersAgree(t *testing.T) {
	for _, arch := range archs {
		var fields []Field
		var samples []sample
		for i, s := range corpus() {
			if s.add != nil && i%2 == 0 && len(fields) < 250 {
				fields = append(fields, Field{Name: fmt.Sprint("f", i), Type: s.typ})
				samples = append(samples, s)
			}
		}
		h := Header{Name: "all", Level: LevelInfo, ID: 7, Version: 2, Tag: 9, Opcode: OpcodeSend, Arch: arch}
		var r Record
		var e Encoder
		r.Begin(nil, mustSchema(t, h, fields...), MaxLimit, sequence(1))
		e.Begin(nil, &h, MaxLimit, sequence(1))
		for i, s := range samples {
			s.put(&r)
			s.add(&e, fields[i].Name)
		}
		b, err := r.End()
		require.NoError(t, err)
		assert.Equal(t, b, end(t, &e))
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, arch := range archs {
		for _, ids := range [][]UUID{{}, {sequence(1)}, {sequence(1), sequence(2)}, {{}, sequence(2)}} {
			h := Header{Name: "name", Level: LevelCritical, Opcode: OpcodeReceive, ID: 0x1234, Version: 5, Tag: 0xabcd, Arch: arch}
			var e Encoder
			e.Begin(nil, &h, 0, ids...)
			e.Uint64("x", 1)
			ev, err := Decode("p_L1K0", end(t, &e))
			require.NoError(t, err)

			ids = append(ids, UUID{}, UUID{})
			assert.Equal(t, ids[0], ev.Activity)
			assert.Equal(t, ids[1], ev.Related)
			flags, _ := arch.flags()
			h.Arch = archOf(flags)
			assert.Equal(t, h, ev.Header)
		}
	}
}
