package reader

import (
	"slices"
	"time"
)

// setLinks sets the links of a span from a JSON list of toTraceId and toSpanId. It returns false for any other value.
func (ev *Event) setLinks(v Value) bool {
	if v.typ == TypeString {
		v, _ = ev.scratch.json(v.str)
	}
	if v.typ != TypeList {
		return false
	}
	for _, f := range v.list {
		var link NestedLink
		for _, f := range f.Value.list {
			link.set(f)
		}
		ev.NestedLinks = append(ev.NestedLinks, link)
	}
	return true
}

// set applies a field of a link.
func (l *NestedLink) set(f Field) {
	v := f.Value
	switch f.Name {
	case "toTraceId":
		v.isID(l.TraceID[:])
	case "toSpanId":
		v.isID(l.SpanID[:])
	case "traceFlags":
		l.TraceFlags = uint8(v.Uint64())
	case "traceState":
		l.TraceState = v.Text()
	case "droppedAttributesCount":
		l.DroppedAttributes = count(v.Uint64())
	case "attributes":
		l.Attributes = v.list
	}
}

// set applies a field of an event.
func (e *NestedEvent) set(f Field) {
	v := f.Value
	switch f.Name {
	case "name":
		e.Name = v.Text()
	case "time":
		v.isTime(&e.Time)
	case "droppedAttributesCount":
		e.DroppedAttributes = count(v.Uint64())
	case "attributes":
		e.Attributes = v.list
	}
}

// takeNested moves the structs that are events and links of a span out of its fields.
func (ev *Event) takeNested() {
	listed := ev.NestedLinks
	ev.Fields = slices.DeleteFunc(ev.Fields, func(f Field) bool {
		switch {
		case f.Value.typ != TypeMap:
			return false
		case f.Name == "user_events.event":
			var e NestedEvent
			for _, f := range f.Value.list {
				e.set(f)
			}
			ev.NestedEvents = append(ev.NestedEvents, e)
			return true
		case f.Name == "user_events.link":
			var l NestedLink
			for _, f := range f.Value.list {
				l.set(f)
			}
			listed = ev.addLink(l, listed)
			return true
		}
		return false
	})
	ev.EventCount = max(ev.EventCount, uint32(len(ev.NestedEvents)))
	ev.LinkCount = max(ev.LinkCount, uint32(len(ev.NestedLinks)))
}

// addLink adds a link. If part B lists links with the same ids, it replaces the first of them: part C has the same
// order, but may lack some. It returns the listed links behind that one.
func (ev *Event) addLink(l NestedLink, listed []NestedLink) []NestedLink {
	for i := range listed {
		if listed[i].TraceID == l.TraceID && listed[i].SpanID == l.SpanID {
			listed[i] = l
			return listed[i+1:]
		}
	}
	ev.NestedLinks = append(ev.NestedLinks, l)
	return listed
}

// endSpan sets the duration of a span from its end.
func (ev *Event) endSpan(end time.Time) {
	if !end.IsZero() && !ev.Timestamp.IsZero() {
		ev.Duration = end.Sub(ev.Timestamp)
	}
}

// spread replaces the JSON text in which an exporter for .NET writes attributes without a configured column by its
// members.
func (ev *Event) spread() {
	const properties = "env_properties"
	for i, f := range ev.Fields {
		if f.Name == properties && f.Value.typ == TypeString {
			if fields, ok := ev.scratch.object(f.Value.str, ev.Fields); ok {
				ev.Fields = slices.Delete(fields, i, i+1)
			}
			return
		}
	}
}
