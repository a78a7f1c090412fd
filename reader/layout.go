package reader

import (
	"math"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// layout is a set of fields by which typed events are recognised, and what they mean. An event that has more fields
// than these keeps them as [Event.Fields].
type layout struct {
	kind   Kind
	point  PointType
	fields map[string]setter
	// The names of fields that an event must have to be recognised.
	numbers, texts, bytes []string
	// applies, if not nil, reports whether a record is what the layout says.
	applies func(r typed.Record) bool
	// finish, if not nil, completes an event of which all fields are set.
	finish func(d *Decoder, ev *Event)
}

// layouts are those that are known, in the order in which they are tried: declared records have any fields beside those
// of their layout, so all others come first, and records of OpenTelemetry may declare what slog has.
var layouts = []*layout{
	otelLog, otelDeclared, slogLevel, slogDeclared,
	spanEnd, spanStart, spanLink,
	exemplarPoint, sumPoint, gaugePoint, histogram, expHistogram, summary, otlpMetrics,
	spanEvent,
}

// setter sets what a field says. If it returns false, the field has a value that makes no sense there, and is kept as
// it is.
type setter func(ev *Event, v typed.Value) bool

// layoutOf returns the layout that an event has, or nil.
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

// setters returns what sets each of the fields: nil for those that are kept.
func (l *layout) setters(fields []tracepoint.FormatField) []setter {
	list := make([]setter, len(fields))
	for i, f := range fields {
		list[i] = l.fields[f.Name]
	}
	return list
}

// The setters of fields that several layouts have.
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

// upTo returns the setter of an integer that means nothing above last.
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

// members appends the members of a JSON object to a list of the event. No text is no member.
func members(ev *Event, v typed.Value, to *[]Field) bool {
	b := v.Bytes()
	if !isTextValue(v) || len(b) == 0 {
		return isTextValue(v)
	}
	fields, ok := ev.scratch.object(stringOf(b), *to)
	*to = fields
	return ok
}

// with returns the fields of a layout: some that several have, and its own.
func with(own map[string]setter, common ...string) map[string]setter {
	for _, name := range common {
		set, ok := commonFields[name]
		if !ok {
			panic("no common field " + name) // this package's own tables, which every program that imports it makes
		}
		own[name] = set
	}
	return own
}

// origin are the common fields that say where a record of OpenTelemetry comes from, and its attributes.
var origin = []string{"scope_name", "scope_version", "service_name", "resource", "attributes", "truncated"}

func finishOtel(_ *Decoder, ev *Event) { lift(ev) }

// lift takes what OpenTelemetry's adapters write as attributes, as the event has no field for it, out of the fields of
// an event.
func lift(ev *Event) {
	ev.Fields = slices.DeleteFunc(ev.Fields, func(f Field) bool {
		return strings.HasPrefix(f.Name, reservedPrefix) && ev.reserved(f)
	})
}

const reservedPrefix = "otel."

// reserved sets what an attribute of a reserved name says, and returns false if it says nothing that is known.
func (ev *Event) reserved(f Field) bool {
	v := f.Value
	switch v.Type() {
	case TypeString:
		return ev.reservedText(f.Name, v.Text())
	case TypeInt64, TypeFloat64:
		return ev.reservedNumber(f.Name, v)
	case TypeBool:
		if f.Name == "otel.parent_is_remote" {
			ev.ParentRemote = v.Bool()
			return true
		}
	case TypeMap:
		if f.Name == "otel.scope.attributes" {
			ev.ScopeAttributes = v.Fields()
			return true
		}
	default:
	}
	return false
}

func (ev *Event) reservedText(name, s string) bool {
	switch name {
	case "otel.scope.name":
		ev.ScopeName = s
	case "otel.scope.version":
		ev.ScopeVersion = s
	case "otel.scope.schema_url":
		ev.ScopeSchemaURL = s
	case "otel.trace_state":
		ev.TraceState = s
	case "otel.status_description":
		ev.StatusMessage = s
	case "otel.zero_threshold":
		return ev.reservedNumber(name, numberText(s))
	case "otel.status_code":
		if s != "OK" {
			return false
		}
		ev.Status = StatusOK
	default:
		return false
	}
	return true
}

func (ev *Event) reservedNumber(name string, v Value) bool {
	if name == "otel.zero_threshold" && ev.Point != nil {
		ev.Point.ZeroThreshold = v.Float64()
		return true
	}
	if v.Type() != TypeInt64 || v.Int64() < 0 {
		return false
	}
	n := count(v.Uint64())
	switch name {
	case "otel.dropped_attributes_count":
		ev.DroppedAttributes = n
	case "otel.dropped_events_count":
		ev.DroppedEvents = n
	case "otel.dropped_links_count":
		ev.DroppedLinks = n
	case "otel.events_count":
		ev.EventCount = n
	case "otel.links_count":
		ev.LinkCount = n
	default:
		return false
	}
	return true
}
