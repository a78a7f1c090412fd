package reader

import (
	"math"
	"slices"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// layout recognises typed events by a set of fields, and interprets these. All other fields of an event become
// [Event.Fields].
type layout struct {
	kind   Kind
	point  PointType
	fields map[string]setter
	// Names of the fields that an event must have to be recognised.
	numbers, texts, bytes []string
	// applies, if not nil, reports whether the layout applies to a record.
	applies func(r typed.Record) bool
	// finish, if not nil, completes an event after all its fields are set.
	finish func(d *Decoder, ev *Event)
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
// upTo, text and array return false if the value is not valid for the field, which is then kept in [Event.Fields], as are fields of
// a type without a function.
type setter struct {
	number func(ev *Event, n uint64)
	upTo   func(ev *Event, n uint64) bool
	words  func(ev *Event, s string)      // a text without its escapes
	text   func(ev *Event, b []byte) bool // a text as it is in the record
	array  func(ev *Event, b []byte) bool
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
	has := func(name string, is func(tracepoint.Type) bool) bool {
		return slices.ContainsFunc(fields, func(f tracepoint.FormatField) bool { return f.Name == name && is(f.Type) })
	}
	for _, name := range l.numbers {
		if !has(name, isNumber) {
			return false
		}
	}
	for _, name := range l.texts {
		if !has(name, isText) {
			return false
		}
	}
	for _, name := range l.bytes {
		if !has(name, isBytes) {
			return false
		}
	}
	return true
}

func isNumber(t tracepoint.Type) bool {
	return t.Kind != tracepoint.Struct && t.Location == tracepoint.Fixed && t.Len == 0
}

func isText(t tracepoint.Type) bool {
	return (t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar) && !isNumber(t)
}

// Setters of fields that several layouts share.
var commonFields = map[string]setter{
	"time_unix_nano":           number64(func(ev *Event, n uint64) { ev.Timestamp = unixNano(n) }),
	"trace_id":                 id(func(ev *Event) []byte { return ev.TraceID[:] }),
	"span_id":                  id(func(ev *Event) []byte { return ev.SpanID[:] }),
	"trace_flags":              number64(func(ev *Event, n uint64) { ev.TraceFlags = uint8(n) }),
	"truncated":                number64(func(ev *Event, n uint64) { ev.Truncated = int(min(n, math.MaxInt32)) }),
	"duplicate":                number64(func(ev *Event, n uint64) { ev.Duplicate = n != 0 }),
	"dropped_attributes_count": number64(func(ev *Event, n uint64) { ev.DroppedAttributes = count(n) }),
	"name":                     words(func(ev *Event, s string) { ev.Message = s }),
	"scope_name":               words(func(ev *Event, s string) { ev.ScopeName = s }),
	"scope_version":            words(func(ev *Event, s string) { ev.ScopeVersion = s }),
	"service_name":             words(func(ev *Event, s string) { ev.ServiceName = s }),
	"resource":                 members(func(ev *Event) *[]Field { return &ev.Resource }),
	"attributes":               {text: setAttributes},
}

// number64 returns the setter of an integer.
func number64(set func(ev *Event, n uint64)) setter { return setter{number: set} }

// upTo returns the setter of an integer that is valid up to last.
func upTo(last uint64, set func(ev *Event, n uint64)) setter {
	return setter{upTo: func(ev *Event, n uint64) bool {
		if n <= last {
			set(ev, n)
		}
		return n <= last
	}}
}

// words returns the setter of a text.
func words(set func(ev *Event, s string)) setter { return setter{words: set} }

// id returns the setter of an id.
func id(field func(ev *Event) []byte) setter {
	return setter{text: func(ev *Event, b []byte) bool { return setID(field(ev), b) }}
}

// setAttributes sets the attributes. Those with reserved names have another meaning.
func setAttributes(ev *Event, b []byte) (ok bool) {
	switch json := stringOf(b); {
	case ev.scratch.keepJSON && len(ev.Fields) == 0 && isPlain(json) &&
		(ev.scratch.layout.finish == nil || !mayBeReserved(json)):
		ev.FieldsJSON = json
	default:
		ev.Fields, ok = ev.scratch.object(json, ev.Fields)
		return ok
	}
	return true
}

// members returns the setter of a JSON object, whose members it appends to a list of the event.
func members(list func(ev *Event) *[]Field) setter {
	return setter{text: func(ev *Event, b []byte) (ok bool) {
		to := list(ev)
		*to, ok = ev.scratch.object(stringOf(b), *to)
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
