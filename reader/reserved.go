package reader

import (
	"slices"
	"strings"
)

func finishOtel(_ *Decoder, ev *Event) { lift(ev) }

// lift moves attributes with reserved names from Event.Fields to the event's struct fields. OpenTelemetry's adapters
// write these attributes for lack of a field.
func lift(ev *Event) {
	ev.Fields = slices.DeleteFunc(ev.Fields, func(f Field) bool {
		return (strings.HasPrefix(f.Name, otelPrefix) || strings.HasPrefix(f.Name, ownPrefix)) && ev.reserved(f)
	})
}

// Prefixes of reserved names: OpenTelemetry's, of its conventions and its specification for formats other than OTLP, and that of
// names for which these have none.
const (
	otelPrefix = "otel."
	ownPrefix  = "user_events."
)

// mayBeReserved reports whether the text of an object may have reserved names.
func mayBeReserved(json string) bool {
	return strings.Contains(json, otelPrefix) || strings.Contains(json, ownPrefix)
}

// reserved applies an attribute with a reserved name, and returns false if its name or value is unknown.
func (ev *Event) reserved(f Field) bool {
	v := f.Value
	switch v.Type() {
	case TypeString:
		return ev.reservedText(f.Name, v.Text())
	case TypeInt64, TypeFloat64:
		return ev.reservedNumber(f.Name, v)
	case TypeBool:
		if f.Name == "user_events.parent_is_remote" {
			ev.ParentRemote = v.Bool()
			return true
		}
	case TypeMap:
		if f.Name == "user_events.scope.attributes" {
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
	case "user_events.trace_state":
		ev.TraceState = s
	case "otel.status_description":
		ev.StatusMessage = s
	case "user_events.zero_threshold":
		v := numberText(s) // NaN and the infinities are texts
		return v.Type() != TypeNull && ev.reservedNumber(name, v)
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
	if name == "user_events.zero_threshold" && ev.Point != nil {
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
	case "user_events.events_count":
		ev.EventCount = n
	case "user_events.links_count":
		ev.LinkCount = n
	default:
		return false
	}
	return true
}
