package eventheader

import "testing"

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
	enc, format := byte(t.Encoding()), byte(t.Format())
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
func corpusEvent(t testing.TB, arch Arch) []byte {
	t.Helper()
	h := Header{Name: "every", Level: LevelInfo, Arch: arch}
	_, o := arch.flags()
	r := raw{order: o}
	for _, s := range corpus() {
		r.value("f", s)
	}
	return r.event(h, sequence(1))
}
