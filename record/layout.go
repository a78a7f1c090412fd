package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// layout recognises typed events by a set of fields, and interprets these. All other fields of an event become
// [Record.Fields].
type layout struct {
	kind   Kind
	point  PointType
	fields map[string]setter
	// Names of the fields that an event must have to be recognised.
	numbers, texts, bytes []string
	// applies, if not nil, reports whether the layout applies to a record.
	applies func(r typed.Record) bool
	// lifts: attributes with reserved names have another meaning, see lift.
	lifts bool
	// finish, if not nil, completes a record after all its fields are set.
	finish func(d *Decoder, rec *Record)
}

// layouts are the known layouts, in the order in which they are tried. Log records come first, since declared ones may
// have a field of any name beside those of their layout: those of OpenTelemetry may declare fields of slog's layout.
var layouts = []*layout{
	otelLog, otelDeclared, slogLevel, slogDeclared,
	spanEnd, spanStart, spanLink,
	exemplarPoint, sumPoint, gaugePoint, histogram, expHistogram, summary, otlpMetrics,
	spanEvent,
}

// setter stores the value of a field by the field's type: an integer, a text or the bytes of an array. It has one function for a type.
// upTo, text and array return false if the value is not valid for the field, which is then kept in [Record.Fields], as are fields of
// a type without a function.
type setter struct {
	number func(rec *Record, n uint64)
	upTo   func(rec *Record, n uint64) bool
	words  func(rec *Record, s string)      // a text without its escapes
	text   func(rec *Record, b []byte) bool // a text as it is in the record
	array  func(rec *Record, b []byte) bool
	raw    bool // text gets what is behind a NUL, too
	empty  bool // 0 and an empty text are not what an event has before
}

func (s *setter) isEmpty() bool {
	return s.number == nil && s.upTo == nil && s.words == nil && s.text == nil && s.array == nil
}

// layoutOf returns the layout of an event with these fields, or nil.
func layoutOf(fields []tracepoint.FormatField) *layout {
	for _, l := range layouts {
		if l.matches(fields) {
			return l
		}
	}
	return nil
}

func (l *layout) matches(fields []tracepoint.FormatField) bool {
	for _, needed := range []struct {
		names []string
		is    func(tracepoint.Type) bool
	}{{l.numbers, tracepoint.Type.IsInteger}, {l.texts, tracepoint.Type.IsText}, {l.bytes, isBytes}} {
		for _, name := range needed.names {
			if !slices.ContainsFunc(fields, func(f tracepoint.FormatField) bool { return f.Name == name && needed.is(f.Type) }) {
				return false
			}
		}
	}
	return true
}

var commonFields = map[string]setter{
	"time_unix_nano":           number64(func(rec *Record, n uint64) { rec.Timestamp = unixNano(n) }),
	"trace_id":                 id(func(rec *Record) []byte { return rec.TraceID[:] }),
	"span_id":                  id(func(rec *Record) []byte { return rec.SpanID[:] }),
	"trace_flags":              {number: func(rec *Record, n uint64) { rec.TraceFlags, rec.HasTraceFlags = uint8(n), true }, empty: true},
	"truncated":                number64(func(rec *Record, n uint64) { rec.Truncated = int(min(n, math.MaxInt32)) }),
	"duplicate":                number64(func(rec *Record, n uint64) { rec.Duplicate = n != 0 }),
	"dropped_attributes_count": number64(func(rec *Record, n uint64) { rec.DroppedAttributes = count(n) }),
	"name":                     words(func(rec *Record, s string) { rec.Message = s }),
	"scope_name":               words(func(rec *Record, s string) { rec.ScopeName = s }),
	"scope_version":            words(func(rec *Record, s string) { rec.ScopeVersion = s }),
	"service_name":             words(func(rec *Record, s string) { rec.ServiceName = s }),
	"resource":                 members(func(rec *Record) *[]Field { return &rec.Resource }),
	"attributes":               {text: setAttributes, raw: true},
}

func number64(set func(rec *Record, n uint64)) setter { return setter{number: set} }

// upTo returns the setter of an integer that is valid up to last.
func upTo(last uint64, set func(rec *Record, n uint64)) setter {
	return setter{upTo: func(rec *Record, n uint64) bool {
		if n <= last {
			set(rec, n)
		}
		return n <= last
	}}
}

func words(set func(rec *Record, s string)) setter { return setter{words: set} }

func id(field func(rec *Record) []byte) setter {
	return setter{text: func(rec *Record, b []byte) bool { return setID(field(rec), b) }}
}

// setAttributes leaves the attributes for [Record.Fields] to decode, which finds a NUL if there is one before the end: no plain object has it.
func setAttributes(rec *Record, b []byte) bool {
	if n := len(b) - 1; n >= 0 && b[n] == 0 {
		b = b[:n]
	}
	if len(b) > 0 && b[0] != 0 {
		rec.attributes, rec.attributesAt = stringOf(b), len(rec.fields)
	}
	return true
}

// members returns the setter of a JSON object, whose members it appends to a list of the event.
func members(list func(rec *Record) *[]Field) setter {
	return setter{text: func(rec *Record, b []byte) (ok bool) {
		to := list(rec)
		*to, ok = rec.scratch.object(stringOf(b), *to)
		return ok
	}}
}

// with returns the fields of a layout: its own, and some of the common ones.
func with(own map[string]setter, common ...string) map[string]setter {
	for _, name := range common {
		set, ok := commonFields[name]
		if !ok {
			panic("no common field " + name) // a mistake in this package's own tables, found at import
		}
		own[name] = set
	}
	return own
}

// origin lists the common fields for the origin of an OpenTelemetry record, and its attributes.
var origin = []string{"scope_name", "scope_version", "service_name", "resource", "attributes", "truncated"}

// recordField is a field of a recognised event, as decoding needs it. Records of such events are the most frequent: where their
// fields are and how they are read is known before the first one.
type recordField struct {
	setter
	reading reading
	offset  int // of the fixed part in a record
	size    int // the same
	base    int // of a dynamic field: what the location in its fixed part counts from, as an offset in a record
	align   int // of a dynamic field: the size of an element, a power of two, less 1

	skipsEmpty bool // an empty text changes nothing
}

type reading uint8

const (
	readNothing reading = iota // there is no setter for a value of its kind
	readUint64
	readInt32
	readUint32
	readInt16
	readUint16
	readInt8
	readUint8
	readFixed   // bytes in the fixed part
	readDynamic // bytes elsewhere in the record
)

// recordFields returns how the fields of an event are read, and how many bytes a record has at least: the fixed parts of all fields.
func (l *layout) recordFields(f tracepoint.Format) (list []recordField, size int) {
	for _, f := range f.Fields {
		list = append(list, l.recordField(f))
	}
	for _, f := range slices.Concat(f.Common, f.Fields) {
		end := f.Offset + f.Type.FixedSize()
		if end < 0 {
			end = math.MaxInt // the sum overflows: no record is so large
		}
		size = max(size, end)
	}
	return list, size
}

func (l *layout) recordField(f tracepoint.FormatField) recordField {
	t := f.Type
	r := recordField{offset: f.Offset, size: t.FixedSize(), align: t.Kind.Size() - 1}
	all := l.fields[f.Name]
	switch {
	case t.IsInteger():
		r.setter = setter{number: all.number, upTo: all.upTo, empty: all.empty}
		r.reading = integerReadings[t.Kind.Size()][t.Kind.Signed()]
	case t.IsText():
		r.setter = setter{words: all.words, text: all.text, raw: all.raw, empty: all.empty}
		r.skipsEmpty = !all.empty
	case t.Kind != tracepoint.Struct:
		r.setter = setter{array: all.array, empty: all.empty}
	}
	switch {
	case r.isEmpty():
		r.reading = readNothing
	case t.Location != tracepoint.Fixed:
		r.reading = readDynamic
	case r.reading == readNothing:
		r.reading = readFixed
	}
	if t.Location == tracepoint.RelLoc {
		r.base = f.Offset + r.size
	}
	return r
}

// integerReadings has the readings of integers by their size and whether they are signed.
var integerReadings = map[int]map[bool]reading{
	8: {false: readUint64, true: readUint64},
	4: {false: readUint32, true: readInt32},
	2: {false: readUint16, true: readInt16},
	1: {false: readUint8, true: readInt8},
}

// setFields sets the fields of an event from the first one on, from a record that has the fixed parts of all. It returns how many it set,
// at the first whose value no setter takes, and false if the bytes of that one are not within the record.
//
// It is one loop: each field is a few instructions, and calls would take more than these.
func setFields(fields []recordField, raw []byte, rec *Record) (done int, within bool) {
	for i := range fields {
		f := &fields[i]
		var n uint64
		begin, size := f.offset, f.size
		switch f.reading {
		case readUint64:
			n = binary.NativeEndian.Uint64(raw[begin:])
		case readInt32:
			n = uint64(int32(binary.NativeEndian.Uint32(raw[begin:])))
		case readUint32:
			n = uint64(binary.NativeEndian.Uint32(raw[begin:]))
		case readInt16:
			n = uint64(int16(binary.NativeEndian.Uint16(raw[begin:])))
		case readUint16:
			n = uint64(binary.NativeEndian.Uint16(raw[begin:]))
		case readInt8:
			n = uint64(int8(raw[begin]))
		case readUint8:
			n = uint64(raw[begin])
		case readDynamic:
			location := binary.NativeEndian.Uint32(raw[begin:])
			if begin, size = int(location&0xFFFF)+f.base, int(location>>16); size == 0 {
				begin = 0
			}
			if size > len(raw)-begin || size&f.align != 0 {
				return i, false
			}
			fallthrough
		case readFixed:
			if (size == 0 || size == 1 && raw[begin] == 0) && f.skipsEmpty {
				continue
			}
			if !f.setBytes(raw[begin:begin+size], rec) {
				return i, true
			}
			continue
		default:
			return i, true
		}
		switch {
		case n == 0 && !f.empty:
		case f.number != nil:
			f.number(rec, n)
		case !f.upTo(rec, n):
			return i, true
		}
	}
	return len(fields), true
}

// setBytes sets a text or an array. It returns false if it is not valid for the field.
func (f *recordField) setBytes(b []byte, rec *Record) bool {
	if f.array != nil {
		return f.array(rec, b)
	}
	if f.raw {
		return f.text(rec, b)
	}
	switch b = upToNUL(b); {
	case len(b) == 0 && !f.empty:
		return true
	case f.words != nil:
		f.words(rec, plain(b))
		return true
	default:
		return f.text(rec, b)
	}
}

// upToNUL returns a text up to its first NUL, which is where every consumer stops.
func upToNUL(b []byte) []byte {
	if n := len(b) - 1; n >= 0 && b[n] == 0 {
		b = b[:n] // most texts have one, at their end
	}
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}

// plain returns a text without the escapes of package text. It shares the memory of b if there are none.
func plain(b []byte) string { return text.Unescape(stringOf(b)) }

// setID sets an id from hexadecimal digits. An empty text leaves it unchanged. It returns false if the digits are not
// such an id.
func setID(id []byte, digits []byte) bool {
	if len(digits) == 0 {
		return true
	}
	if len(digits) != 2*len(id) {
		return false
	}
	var bad byte
	for i := range id {
		high, low := digitValues[digits[2*i]], digitValues[digits[2*i+1]]
		bad |= high | low
		id[i] = high<<4 | low
	}
	if bad == noDigit {
		clear(id)
	}
	return bad != noDigit
}

// digitValues has the value of each hexadecimal digit, and noDigit, which has bits that no value has, for other bytes.
var digitValues = func() (values [256]byte) {
	for c := range values {
		values[c] = noDigit
	}
	for v, c := range "0123456789abcdef" {
		values[c] = byte(v)
	}
	for v, c := range "ABCDEF" {
		values[c] = byte(10 + v)
	}
	return values
}()

const noDigit = 0xff

// unixNano returns the time of nanoseconds since 1970. 0 is the zero time.
func unixNano(ns uint64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(int64(ns/1e9), int64(ns%1e9)).UTC()
}

// count returns a count that a program wrote, limited to 32 bits.
func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
