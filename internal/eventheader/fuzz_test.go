package eventheader

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

// source hands out the bytes of a fuzz input, and zeros after its end.
type source struct{ rest []byte }

func (s *source) byte() byte {
	if len(s.rest) == 0 {
		return 0
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b
}

func (s *source) n(limit int) int { return int(s.byte()) % limit }

func (s *source) uint64() uint64 {
	var b [8]byte
	s.rest = s.rest[copy(b[:], s.rest):]
	return binary.LittleEndian.Uint64(b[:])
}

func (s *source) take(n int) string {
	text := string(s.rest[:min(n, len(s.rest))])
	s.rest = s.rest[len(text):]
	return text
}

// text returns the next bytes as they are, some of them repeated so that they exceed a limit.
func (s *source) text() string {
	n := int(s.byte())
	text := s.take(n)
	if n >= 0xf8 {
		text = strings.Repeat(text, 1<<(n-0xf6))
	}
	return text
}

func (s *source) name() string {
	n := int(s.byte())
	name := s.take(n % 32)
	if n == 0xff {
		name = strings.Repeat(name, 100)
	}
	return name
}

func (s *source) arch() arch { return archs[s.n(len(archs))] }

func (s *source) limit() int {
	limits := [...]int{0, 100, 300, 1000, maxLimit}
	return limits[s.n(len(limits))] + s.n(64)
}

// wantName is what an encoder makes of a name.
func wantName(name string) string {
	if name == "" {
		return "_"
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(name[i:], "\ufffd"), r == ';':
			b.WriteByte('_')
		case chars.Unprintable(r):
			b.WriteString(strings.Repeat("_", utf8.RuneLen(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// addText adds a text of TypeString or TypeJSON.
func addText(e *Encoder, name string, t Type, v string) {
	if t == typeJSON {
		e.JSON(name, v)
		return
	}
	e.String(name, v)
}

// wantText is what it decodes to.
func wantText(t Type, v string) string {
	if t == typeJSON {
		return string(chars.SanitizeJSON(nil, v, math.MaxInt))
	}
	escaped, _ := text.Append(nil, v, math.MaxInt)
	return string(escaped)
}

// encoderSamples are made once for all inputs.
var encoderSamples = sync.OnceValue(func() []sample {
	return slices.DeleteFunc(corpus(), func(s sample) bool { return s.add == nil })
})

// encodeAny makes an event of an encoder, and returns what it would decode to without limits.
func encodeAny(s *source, e *Encoder) []node {
	samples := encoderSamples()
	var fields func(depth int) []node
	fields = func(depth int) []node {
		nodes := []node{}
		add := func(name string, t Type, v any) {
			nodes = append(nodes, node{Name: wantName(name), Type: t, Value: v})
		}
		for len(s.rest) > 0 {
			op := s.n(10)
			if op == 0 && depth > 0 {
				break
			}
			name := s.name()
			switch op {
			case 0, 1:
				e.BeginStruct(name)
				children := fields(depth + 1)
				e.EndStruct()
				if len(children) > 0 {
					add(name, typeOf(encStruct, Format(min(len(children), maxStructSize))), children)
				}
			case 2:
				v := s.uint64()
				e.Value(name, typeUint64, v)
				add(name, typeUint64, v)
			case 3:
				v := s.text()
				e.String(name, v)
				add(name, typeString, wantText(typeString, v))
			case 4:
				v := s.text()
				e.JSON(name, v)
				add(name, typeJSON, wantText(typeJSON, v))
			case 5:
				v := s.text()
				e.Bytes(name, []byte(v))
				add(name, typeBytes, []byte(v))
			case 6:
				var texts []string
				want := []any{}
				for range s.n(8) {
					texts = append(texts, s.text())
					want = append(want, wantText(typeString, texts[len(texts)-1]))
				}
				e.Strings(name, texts)
				add(name, typeString, want)
			case 7:
				v := make([]int64, int(s.byte())*int(s.byte()))
				want := make([]any, len(v))
				for i := range v {
					v[i] = int64(i)
					want[i] = v[i]
				}
				e.Ints(name, v)
				add(name, typeInt64, want)
			case 8:
				// Many fields, to reach the limits of their number.
				for i := range int(s.byte()) {
					name := fmt.Sprint(name, i)
					e.Bool(name, true)
					add(name, typeBool, true)
				}
			case 9:
				sample := samples[(s.n(256)<<8+s.n(256))%len(samples)]
				sample.add(e, name)
				add(name, sample.typ, sample.want)
			}
		}
		return nodes
	}
	return fields(0)
}

// requireEvent decodes what an encoder made within a limit, and returns its fields.
func requireEvent(t testing.TB, payload []byte, limit int) []node {
	require.LessOrEqual(t, len(payload), clampLimit(limit))
	ev, err := Decode("p_L4K1", payload)
	require.NoError(t, err)
	nodes, err := ev.tree()
	require.NoError(t, err)
	requireEnvelope(t, ev)
	text, err := ev.appendJSON(nil)
	require.NoError(t, err)
	require.True(t, json.Valid(text), "%s", text)
	return nodes
}

// requireEnvelope checks that an event stays within what all decoders take, and ends where its
// payload ends.
func requireEnvelope(t testing.TB, ev *Event) {
	c := ev.cursor()
	top, depth, items := 0, 0, 1
	for c.Next() {
		items++
		switch c.Item() {
		case ItemStruct:
			depth++
			require.LessOrEqual(t, depth, 8)
			require.LessOrEqual(t, c.Type().format(), Format(127))
		case ItemStructEnd:
			depth--
		}
		if c.depth == 0 {
			top++
		}
		name := string(c.NameBytes())
		require.True(t, c.index >= 0 || name != "" && !strings.ContainsAny(name, ";\x00") && utf8.ValidString(name))
	}
	require.NoError(t, c.Err())
	require.LessOrEqual(t, items, 4096)
	require.LessOrEqual(t, top, 255)
	require.Equal(t, len(c.data), c.off)
	require.Equal(t, len(c.meta), c.pos)
}

// FuzzEncode makes an event of any fields, and checks that it decodes to the
// same or says what it lost, and that no limit is exceeded.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x03\x01a\x05hello\x02\x01b12345678"))
	f.Add([]byte("\x01\x01\x20\x03\x01a\xffhello world\x04\x01b\x11\xfe\xc3\xa9\xe6\x97\xa5 more"))
	f.Add([]byte("\x03\x04\x00\x01\x01s\x08\x01f\xff\x00\x08\x01g\xff"))
	f.Add([]byte("\x04\x00\x00" + strings.Repeat("\x01\x01s", 12) + "\x03\x01a\x01b"))
	f.Add([]byte("\x02\x03\x00\x07\x01a\xff\xff\x07\x01b\x04\x04\x06\x01c\x03\x01x\x02yz\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{rest: data}
		arch, limit := s.arch(), s.limit()
		var e Encoder
		for range 2 { // an encoder is reused
			s := &source{rest: s.rest}
			e.Begin([]byte("head"), &Header{Name: "event", Level: LevelInfo, arch: arch}, limit)
			want := encodeAny(s, &e)
			b, err := e.End()
			if err != nil {
				require.ErrorIs(t, err, errTooLarge)
				require.Equal(t, "head", string(b))
				require.Less(t, limit, 60, "more than the header and the name need")
				return
			}
			require.Equal(t, "head", string(b[:4]))
			requireFields(t, requireEvent(t, b[4:], limit), want)
		}
	})
}

// FuzzDecode decodes any bytes, in all ways, and checks that these agree.
func FuzzDecode(f *testing.F) {
	for _, tt := range worked {
		f.Add(tt.tp, unhex(f, tt.bytes))
	}
	for _, arch := range archs {
		f.Add("p_L4K0Ggroup", corpusEvent(f, arch))
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte) {
		// Reading outside of the payload is a panic at its end.
		payload = slices.Clip(slices.Clone(payload))
		ev, err := Decode(name, payload)
		if err != nil {
			require.Nil(t, ev)
			require.ErrorIs(t, err, errMalformed)
			return
		}
		requireConsistent(t, ev)
	})
}

// requireConsistent checks that all ways to read an event give the same result.
func requireConsistent(t testing.TB, ev *Event) {
	nodes, err := ev.tree()
	text, jsonErr := ev.appendJSON([]byte("x"))
	require.Equal(t, err, jsonErr)
	c := ev.cursor()
	for c.Next() {
		require.LessOrEqual(t, c.off, len(c.data))
		require.LessOrEqual(t, c.pos, len(c.meta))
	}
	require.Equal(t, err, c.Err())
	require.False(t, c.Next())
	skipped := ev.cursor()
	fields := 0
	for skipped.Next() {
		skipped.skip()
		fields++
	}
	if err != nil {
		require.ErrorIs(t, err, errMalformed)
		require.Nil(t, nodes)
		require.Equal(t, "x", string(text))
		return
	}
	require.NoError(t, skipped.Err())
	require.Len(t, nodes, fields)
	require.True(t, json.Valid(text[1:]), "%s", text)
	require.True(t, utf8.Valid(text))
}

// FuzzParseName: a name is understood as what it prints, whatever a producer registered.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"myapp_L4K1", "a_b_L5Kff_L2K1Gx1", "_L4K0", "myapp_L4K1Ggroup1", "a_LKP", "a_L1ffK", "", "\x00_L4K1", "myapp_l4k1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			var d *decodeError
			if !errors.As(err, &d) || n != (Name{}) {
				t.Fatalf("%q: %v, %v", s, n, err)
			}
			return
		}
		if again, err := ParseName(n.String()); len(n.String()) <= maxName && (err != nil || again != n) {
			t.Fatalf("%q: %+v became %+v, %v", s, n, again, err)
		}
		if d, err := n.Declaration(); err == nil && (d.Validate() != nil || !IsDeclaration(d)) {
			t.Fatalf("%q: %v is no declaration", s, d)
		}
	})
}
