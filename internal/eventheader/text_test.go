package eventheader

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncate"
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

// TestActivityIDs: an event has an activity id, a related one, both or none.
func TestActivityIDs(t *testing.T) {
	id := sequence(1)
	for _, arch := range archs {
		for _, ids := range [][]UUID{nil, {id}, {{}, id}, {id, id}} {
			_, o := arch.flags()
			ev, err := Decode("p_L4K0", (&raw{order: o}).event(Header{Name: "e", Level: LevelInfo, arch: arch}, ids...))
			require.NoError(t, err)
			ids = append(ids, UUID{}, UUID{})
			assert.Equal(t, ids[0], ev.Activity)
			assert.Equal(t, ids[1], ev.Related)
		}
	}
}

// TestShortTexts: texts of at most 64 bytes, such as ids, are whole or dropped, whatever is cut, dropped or moved before them.
func TestShortTexts(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	long, short := strings.Repeat("long ", 1000), strings.Repeat("s", 60)
	var e Encoder // which is reused
	whole := 0
	for _, n := range []int{0, 1, 10, 100, 300} {
		for limit := 100; limit < 4000; limit += testscale.Count(59, 590) {
			for _, text := range []string{long, short} {
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				e.BeginStruct("A")
				for i := range n / 3 {
					e.String(fmt.Sprint("before", i), text)
				}
				e.String("empty", "")
				e.String("id", id)
				e.EndStruct()
				for i := range n / 3 {
					e.String(fmt.Sprint("between", i), text)
				}
				e.String("time", "2026-11-21T10:20:30Z")
				for i := range n / 3 {
					e.Strings(fmt.Sprint("after", i), []string{text, "x"})
				}
				payload, err := e.End()
				require.NoError(t, err)
				require.LessOrEqual(t, len(payload), limit)
				ev, err := Decode("p_L4K1", payload)
				require.NoError(t, err)
				fields, err := ev.AppendFieldsJSON(nil)
				require.NoError(t, err)
				for name, value := range map[string]string{"id": id, "time": "2026-11-21T10:20:30Z"} {
					if !strings.Contains(string(fields), `"`+name+`":"`+value+`"`) {
						require.NotContains(t, string(fields), `"`+name+`":`, "%d, %d", n, limit)
						require.Positive(t, e.Lost())
						continue
					}
					whole++
				}
			}
		}
	}
	assert.Greater(t, whole, testscale.Count(600, 60))
}

// TestStructThatBecomesText: the text that takes its place is cut like others.
func TestStructThatBecomesText(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
	for range maxNesting + 1 {
		e.BeginStruct("s")
	}
	e.String("id", "4bf92f3577b34da6a3ce929d0e0e4736")
	e.String("long", strings.Repeat("x", 1000))
	for range maxNesting + 1 {
		e.EndStruct()
	}
	all, lost := values(requireEvent(t, end(t, &e), 300))
	require.Len(t, all["s"], 1)
	assert.Regexp(t, `^\{"id":"4bf92f3577b34da6a3ce929d0e0e4736","long":"x+\.\.\.$`, all["s"][0])
	assert.Equal(t, 1, lost)
}

// TestEscapesAreCutBetween: whatever room a text has, it ends behind a character or an escape, and no further one would fit.
func TestEscapesAreCutBetween(t *testing.T) {
	raw := []string{"\n", "d", "8", "a", "\\", "\\", "\x01", "\u202e", "\\", "é", "😀", "\U000e0001", "b", "\\", "\\", "\\", "\n", "\\", "n"}
	escaped := make([]string, len(raw))
	for i, s := range raw {
		b, _ := text.Append(nil, s, math.MaxInt)
		escaped[i] = string(b)
	}
	// In JSON there are escapes already, and two may stand for one character.
	inJSON := []string{`\n`, `d`, `8`, `a`, `\\`, `\\`, `\"`, `\u00e9`, `\ud83d\ude00`, `\\`, `u`, `\ud83d\ude00`, `\ud83d\ude00`, `é`, `\\`, `\\`, `\u202e`}
	for _, tt := range []struct {
		typ    Type
		pieces []string // of the text in the event
		source []string
	}{{typeString, escaped, raw}, {typeJSON, inJSON, inJSON}} {
		for first := range tt.pieces {
			pieces := append(append([]string{}, tt.pieces[first:]...), tt.pieces[:first]...)
			source := strings.Join(append(append([]string{}, tt.source[first:]...), tt.source[:first]...), "")
			pieces, source = slices.Repeat(pieces, 3), strings.Repeat(source, 3)
			whole := strings.Join(pieces, "")
			encode := func(limit int) ([]node, int) {
				var e Encoder
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				addText(&e, "t", tt.typ, source)
				b := end(t, &e)
				return requireEvent(t, b, limit), len(b)
			}
			nodes, full := encode(0)
			require.Equal(t, whole, nodes[0].Value)
			require.Equal(t, tt.typ, nodes[0].Type)
			for limit := full - 1; limit >= full+truncatedSize-len(whole)+truncate.Short; limit-- {
				nodes, n := encode(limit)
				require.Len(t, nodes, 2)
				body, cut := strings.CutSuffix(nodes[0].Value.(string), text.CutMark)
				require.True(t, cut)
				kept := 0
				for at := 0; at < len(body); kept++ {
					require.True(t, strings.HasPrefix(body[at:], pieces[kept]), "%v: %q of %q at limit %d", tt.typ, body, whole, limit)
					at += len(pieces[kept])
				}
				require.Equal(t, strings.Join(pieces[:kept], ""), body)
				require.Greater(t, n+len(pieces[kept]), limit, "%v: %q of %q", tt.typ, body, whole)
				wantType := tt.typ
				if tt.typ.format() == FormatJSON {
					wantType = typeOf(tt.typ.encoding(), formatUTFBOM)
				}
				assert.Equal(t, wantType, nodes[0].Type)
			}
		}
	}
}

// Types that an Encoder writes only through Value, or not at all.
const (
	typeUint8   = Type(encValue8)
	typeUint16  = Type(encValue16)
	typeUint32  = Type(encValue32)
	typeUint64  = Type(encValue64)
	typeInt8    = Type(FormatSigned)<<8 | Type(encValue8)
	typeInt32   = Type(FormatSigned)<<8 | Type(encValue32)
	typeFloat32 = Type(FormatFloat)<<8 | Type(encValue32)
	typeHex64   = Type(FormatHex)<<8 | Type(encValue64)
	typeTime    = Type(FormatTime)<<8 | Type(encValue64)
	typeErrno   = Type(FormatErrno)<<8 | Type(encValue32)
	typePID     = Type(FormatPID)<<8 | Type(encValue32)
	typePort    = Type(FormatPort)<<8 | Type(encValue16)
	typeIPv4    = Type(FormatIP)<<8 | Type(encValue32)
	typeIPv6    = Type(FormatIP)<<8 | Type(encValue128)
	typeUUID    = Type(FormatUUID)<<8 | Type(encValue128)
)

// raw makes events that other producers write and an Encoder does not: of each type, with tags, with arrays of a fixed count and
// of structs.
type raw struct {
	order      order
	meta, data []byte
}

// variable is the count of an array whose count stands in the data.
const variable = -1

// field adds the metadata of a field. count is 0 for a single value.
func (r *raw) field(name string, t Type, count int, tag uint16) {
	enc, format := byte(t.encoding()), byte(t.format())
	switch {
	case count > 0:
		enc |= flagFixed
	case count == variable:
		enc |= flagVariable
	}
	r.meta = append(append(r.meta, name...), 0)
	switch {
	case tag != 0:
		r.meta = r.order.append16(append(r.meta, enc|chainFlag, format|chainFlag), tag)
	case format != 0:
		r.meta = append(r.meta, enc|chainFlag, format)
	default:
		r.meta = append(r.meta, enc)
	}
	if count > 0 {
		r.meta = r.order.append16(r.meta, uint16(count))
	}
}

// count adds the count of a variable array to the data.
func (r *raw) count(n int) { r.data = r.order.append16(r.data, uint16(n)) }

func (o order) append32(b []byte, v uint32) []byte {
	return binary.NativeEndian.AppendUint32(b, o.u32(v))
}

// appendNumber appends an integer of size bytes.
func (o order) appendNumber(dst []byte, size uint8, v uint64) []byte {
	switch size {
	case 8:
		return o.append64(dst, v)
	case 4:
		return o.append32(dst, uint32(v))
	case 2:
		return o.append16(dst, uint16(v))
	}
	return append(dst, byte(v))
}

// value adds a field and its value.
func (r *raw) value(name string, s sample) {
	r.field(name, s.typ, 0, 0)
	r.data = append(r.data, s.data(r.order)...)
}

// event returns the payload. The header's architecture must have the order of the fields.
func (r *raw) event(h Header, ids ...UUID) []byte {
	b, o := h.appendHeader(nil)
	if len(ids) > 0 {
		extension := o.append16(o.append16(nil, uint16(len(ids)*len(UUID{}))), kindActivity|kindChain)
		for _, id := range ids {
			extension = append(extension, id[:]...)
		}
		b = slices.Insert(b, headerSize, extension...)
	}
	meta := append(append([]byte(h.Name), 0), r.meta...)
	o.put16(b[len(b)-extensionSize:], uint16(len(meta)))
	return append(append(b, meta...), r.data...)
}

// corpusEvent is an event with each sample.
func corpusEvent(t testing.TB, arch arch) []byte {
	t.Helper()
	h := Header{Name: "every", Level: LevelInfo, arch: arch}
	_, o := arch.flags()
	r := raw{order: o}
	for _, s := range corpus() {
		r.value("f", s)
	}
	return r.event(h, sequence(1))
}

// network adds a value of bytes in network order, as many as its type has, which an Encoder only carries.
func (e *Encoder) network(name string, t Type, v []byte) {
	if e.field(name, t) {
		e.data = append(e.data, v...)
	}
}
