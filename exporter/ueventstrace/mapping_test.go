package ueventstrace_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// unless adds a member unless its value is the zero value.
func unless(zero bool, object []member, key string, v any) []member {
	if zero {
		return object
	}
	return append(object, member{key, v})
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func count(object []member, key string, n int) []member {
	return unless(n == 0, object, key, number(n))
}

func nonEmpty(object []member, key, s string) []member { return unless(s == "", object, key, s) }

func attributesOf(list []attribute.KeyValue) (object []member) {
	for _, kv := range list {
		object = append(object, member{string(kv.Key), kv.Value})
	}
	return object
}

// typedAttributes are those that a typed event has, with what it has no field for.
func typedAttributes(s *tracetest.SpanStub, list []attribute.KeyValue, state string) []member {
	scope := s.InstrumentationScope
	object := attributesOf(list)
	object = unless(scope.Attributes.Len() == 0, object, "user_events.scope.attributes", attributesOf(scope.Attributes.ToSlice()))
	object = nonEmpty(object, "otel.scope.version", scope.Version)
	object = nonEmpty(object, "otel.scope.schema_url", scope.SchemaURL)
	return nonEmpty(object, "user_events.trace_state", state)
}

// typedRecords are the records that a span makes when it ends, with their attributes.
func typedRecords(name string, s *tracetest.SpanStub) (list []fields, objects [][]member) {
	id := func(valid bool, id fmt.Stringer) string {
		if !valid {
			return ""
		}
		return id.String()
	}
	n := func(v any) string { return fmt.Sprint(v) }
	add := func(suffix string, f fields, object []member) {
		f[""] = name + suffix
		f["trace_id"] = id(s.SpanContext.HasTraceID(), s.SpanContext.TraceID())
		f["span_id"] = id(s.SpanContext.HasSpanID(), s.SpanContext.SpanID())
		f["scope_name"], f["service_name"], f["resource"], f["truncated"] = s.InstrumentationScope.Name, "shop", "", "0"
		list, objects = append(list, f), append(objects, object)
	}
	for _, l := range s.Links {
		add("_span_link", fields{
			"linked_trace_id": id(l.SpanContext.HasTraceID(), l.SpanContext.TraceID()), "linked_span_id": id(l.SpanContext.HasSpanID(), l.SpanContext.SpanID()),
			"trace_flags": n(byte(l.SpanContext.TraceFlags())), "dropped_attributes_count": n(l.DroppedAttributeCount),
		}, typedAttributes(s, l.Attributes, l.SpanContext.TraceState().String()))
	}
	for _, e := range s.Events {
		add("_span_event", fields{"time_unix_nano": n(e.Time.UnixNano()), "name": e.Name, "dropped_attributes_count": n(e.DroppedAttributeCount)},
			typedAttributes(s, e.Attributes, ""))
	}
	object := typedAttributes(s, s.Attributes, s.SpanContext.TraceState().String())
	object = count(object, "otel.dropped_events_count", s.DroppedEvents)
	add("_span", fields{
		"start_time_unix_nano": n(s.StartTime.UnixNano()), "duration_ns": n(s.EndTime.Sub(s.StartTime).Nanoseconds()),
		"parent_span_id": id(s.Parent.HasSpanID(), s.Parent.SpanID()), "parent_is_remote": map[bool]string{false: "0", true: "1"}[s.Parent.IsRemote()],
		"trace_flags": n(byte(s.SpanContext.TraceFlags())), "kind": n(int(s.SpanKind)),
		"status_code": map[codes.Code]string{codes.Unset: "0", codes.Ok: "1", codes.Error: "2"}[s.Status.Code], "status_message": s.Status.Description,
		"dropped_attributes_count": n(s.DroppedAttributes), "events": n(len(s.Events)), "links": n(len(s.Links)), "name": s.Name,
	}, count(object, "otel.dropped_links_count", s.DroppedLinks))
	return list, objects
}

// partB has the names that the Common Schema gives to attributes.
var partB = map[string]string{
	"http.request.method": "httpMethod", "http.response.status_code": "httpStatusCode", "url.full": "httpUrl",
	"db.query.text": "dbStatement", "rpc.system.name": "rpcSystem",
}

// commonSchemaRecord is the record that a span makes when it ends.
func commonSchemaRecord(s *tracetest.SpanStub) []member {
	c, scope := s.SpanContext, s.InstrumentationScope
	a := []member{{"time", s.EndTime.Format(timeFormat(s.EndTime))}}
	a = unless(!c.HasTraceID(), a, "ext_dt_traceId", c.TraceID().String())
	a = unless(!c.HasSpanID(), a, "ext_dt_spanId", c.SpanID().String())
	a = count(a, "ext_dt_traceFlags", int(c.TraceFlags()))
	a = append(a, member{"ext_cloud_role", "shop"}, member{"ext_cloud_roleInstance", "shop-7"})

	b := []member{
		{"_typeName", "Span"},
		{"name", s.Name},
		{"startTime", s.StartTime.Format(timeFormat(s.StartTime))},
		{"success", s.Status.Code != codes.Error},
		{"kind", number(max(int(s.SpanKind)-int(trace.SpanKindInternal), 0))},
	}
	b = unless(!s.Parent.HasSpanID(), b, "parentId", s.Parent.SpanID().String())
	links := []any{}
	for _, l := range s.Links {
		links = append(links, []member{{"toTraceId", l.SpanContext.TraceID().String()}, {"toSpanId", l.SpanContext.SpanID().String()}})
	}
	b = unless(len(links) == 0, b, "links", jsonText{links})
	var rest []attribute.KeyValue
	http := false
	for _, kv := range s.Attributes {
		if name, ok := partB[string(kv.Key)]; ok {
			b = append(b, member{name, kv.Value})
		} else {
			rest = append(rest, kv)
		}
		http = http || kv.Key == "http.response.status_code"
	}
	b = unless(http || s.Status.Code != codes.Error || s.Status.Description == "", b, "statusMessage", s.Status.Description)

	var p []member
	p = nonEmpty(p, "otel.scope.name", scope.Name)
	p = nonEmpty(p, "otel.scope.version", scope.Version)
	p = nonEmpty(p, "otel.scope.schema_url", scope.SchemaURL)
	p = unless(s.Status.Code != codes.Ok, p, "otel.status_code", "OK")
	p = unless(!http || s.Status.Code != codes.Error || s.Status.Description == "", p, "otel.status_description", s.Status.Description)
	p = nonEmpty(p, "user_events.trace_state", c.TraceState().String())
	p = unless(!s.Parent.IsRemote(), p, "user_events.parent_is_remote", true)
	p = count(p, "user_events.events_count", len(s.Events))
	p = count(p, "user_events.links_count", len(s.Links))
	p = count(p, "otel.dropped_attributes_count", s.DroppedAttributes)
	p = count(p, "otel.dropped_events_count", s.DroppedEvents)
	p = count(p, "otel.dropped_links_count", s.DroppedLinks)
	p = unless(scope.Attributes.Len() == 0, p, "user_events.scope.attributes", attributesOf(scope.Attributes.ToSlice()))
	p = append(append(p, attributesOf(rest)...), commonSchemaParts(s)...)
	record := []member{{"__csver__", number(1024)}, {"PartA", a}, {"PartB", b}}
	return unless(len(p) == 0, record, "PartC", p)
}

// commonSchemaParts are the events and links of a span.
func commonSchemaParts(s *tracetest.SpanStub) (parts []member) {
	attributes := func(object []member, dropped int, list []attribute.KeyValue) []member {
		return unless(len(list) == 0, count(object, "droppedAttributesCount", dropped), "attributes", attributesOf(list))
	}
	for _, e := range s.Events {
		parts = append(parts, member{"user_events.event", attributes([]member{{"name", e.Name}, {"time", e.Time.Format(timeFormat(e.Time))}}, e.DroppedAttributeCount, e.Attributes)})
	}
	for _, l := range s.Links {
		link := unless(!l.SpanContext.HasTraceID(), nil, "toTraceId", l.SpanContext.TraceID().String())
		link = unless(!l.SpanContext.HasSpanID(), link, "toSpanId", l.SpanContext.SpanID().String())
		link = count(link, "traceFlags", int(l.SpanContext.TraceFlags()))
		link = nonEmpty(link, "traceState", l.SpanContext.TraceState().String())
		link = attributes(link, l.DroppedAttributeCount, l.Attributes)
		parts = unless(len(link) == 0, parts, "user_events.link", link)
	}
	return parts
}

// timeFormat is RFC 3339 with as many groups of three digits as the time has.
func timeFormat(t interface{ Nanosecond() int }) string {
	digits := 9
	for n := t.Nanosecond(); digits > 0 && n%1000 == 0; n /= 1000 {
		digits -= 3
	}
	return strings.TrimSuffix("2006-01-02T15:04:05."+strings.Repeat("0", digits), ".") + "Z"
}
