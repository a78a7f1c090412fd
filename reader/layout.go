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

// setter stores the value of a field. It returns false if the value is not valid for the field, which is then kept in
// [Event.Fields].
type setter func(ev *Event, v typed.Value) bool

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

// setters returns the setter of each field, or nil for fields that become [Event.Fields].
func (l *layout) setters(fields []tracepoint.FormatField) []setter {
	list := make([]setter, len(fields))
	for i, f := range fields {
		list[i] = l.fields[f.Name]
	}
	return list
}

// Setters of fields that several layouts share.
var commonFields = map[string]setter{
	"time_unix_nano":           number64(func(ev *Event, n uint64) { ev.Timestamp = unixNano(n) }),
	"trace_id":                 func(ev *Event, v typed.Value) bool { return isTextValue(v) && setID(ev.TraceID[:], v.Bytes()) },
	"span_id":                  func(ev *Event, v typed.Value) bool { return isTextValue(v) && setID(ev.SpanID[:], v.Bytes()) },
	"trace_flags":              number64(func(ev *Event, n uint64) { ev.TraceFlags = uint8(n) }),
	"truncated":                number64(func(ev *Event, n uint64) { ev.Truncated = int(min(n, math.MaxInt32)) }),
	"duplicate":                number64(func(ev *Event, n uint64) { ev.Duplicate = n != 0 }),
	"dropped_attributes_count": number64(func(ev *Event, n uint64) { ev.DroppedAttributes = count(n) }),
	"name":                     words(func(ev *Event, s string) { ev.Message = s }),
	"scope_name":               words(func(ev *Event, s string) { ev.ScopeName = s }),
	"scope_version":            words(func(ev *Event, s string) { ev.ScopeVersion = s }),
	"service_name":             words(func(ev *Event, s string) { ev.ServiceName = s }),
	"resource": func(ev *Event, v typed.Value) bool {
		return members(ev, v, &ev.Resource)
	},
	"attributes": func(ev *Event, v typed.Value) bool {
		return members(ev, v, &ev.Fields)
	},
}

// number64 returns the setter of an integer.
func number64(set func(ev *Event, n uint64)) setter {
	return func(ev *Event, v typed.Value) bool {
		if k := v.Kind(); k != typed.KindUint && k != typed.KindInt {
			return false
		}
		set(ev, v.Uint64())
		return true
	}
}

// upTo returns the setter of an integer that is valid up to last.
func upTo(last uint64, set func(ev *Event, n uint64)) setter {
	set64 := number64(set)
	return func(ev *Event, v typed.Value) bool { return v.Uint64() <= last && set64(ev, v) }
}

// words returns the setter of a text.
func words(set func(ev *Event, s string)) setter {
	return func(ev *Event, v typed.Value) bool {
		if b := v.Bytes(); len(b) > 0 && isTextValue(v) { // an event is empty before
			set(ev, plain(b))
		}
		return isTextValue(v)
	}
}

func isTextValue(v typed.Value) bool { return v.Kind() == typed.KindText }

// members appends the members of a JSON object to a list of the event. An empty text has no members.
func members(ev *Event, v typed.Value, to *[]Field) bool {
	b := v.Bytes()
	if !isTextValue(v) || len(b) == 0 {
		return isTextValue(v)
	}
	fields, ok := ev.scratch.object(stringOf(b), *to)
	*to = fields
	return ok
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
