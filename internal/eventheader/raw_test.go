package eventheader

import "testing"

// Types that an Encoder writes only through Value, or not at all.
const (
	typeUint8  = Type(encValue8)
	typeUint16 = Type(encValue16)
	typeUint32 = Type(encValue32)
	typeUint64 = Type(encValue64)
	typeInt8   = Type(FormatSigned)<<8 | Type(encValue8)
	typeInt32  = Type(FormatSigned)<<8 | Type(encValue32)
	typeHex64  = Type(FormatHex)<<8 | Type(encValue64)
	typeTime   = Type(FormatTime)<<8 | Type(encValue64)
	typeErrno  = Type(FormatErrno)<<8 | Type(encValue32)
	typePID    = Type(FormatPID)<<8 | Type(encValue32)
	typePort   = Type(FormatPort)<<8 | Type(encValue16)
	typeIPv4   = Type(FormatIP)<<8 | Type(encValue32)
	typeIPv6   = Type(FormatIP)<<8 | Type(encValue128)
	typeUUID   = Type(FormatUUID)<<8 | Type(encValue128)
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

// value adds a field and its value.
func (r *raw) value(name string, s sample) {
	r.field(name, s.typ, 0, 0)
	r.data = append(r.data, s.data(r.order)...)
}

// event returns the payload. The header's architecture must have the order of the fields.
func (r *raw) event(h Header, ids ...UUID) []byte {
	b, o := h.appendHeader(nil, ids)
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
