package output

import (
	"slices"

	"github.com/userevents/userevents-go/reader"
)

// part is a part that many events lack. The writer then skips all columns of the part at once.
type part uint8

const (
	spanPart   part = 1 << iota // of spans, and of their events and links
	tracePart                   // ids
	originPart                  // resource and scope
	rarePart                    // everything else that most events lack

	allParts = 1<<iota - 1
)

// columnsOf has the columns of the events that have parts, in order.
var columnsOf = func() (lists [allParts + 1][]int) {
	parts := make([]part, len(columns)) // 0 if the column belongs to none
	for p, names := range map[part][]string{
		spanPart: {
			"parent_span_id", "linked_trace_id", "linked_span_id", "trace_state", "parent_remote", "span_kind", "status",
			"status_message", "duration_ns", "duration", "event_count", "link_count", "dropped_events", "dropped_links", "events", "links",
		},
		tracePart: {"trace_id", "span_id", "trace_flags"},
		rarePart: {
			"body", "event_name", "cgroup_id", "dropped_attributes", "truncated", "duplicate", "undecodable", "observed", "metric",
			"header", "callchain",
		},
		originPart: {"service", "scope", "scope_version", "scope_schema_url", "scope_attributes", "resource"},
	} {
		for _, name := range names {
			parts[indexOf(name)] = p
		}
	}
	for have := range lists {
		for i, p := range parts {
			if p&^part(have) == 0 {
				lists[have] = append(lists[have], i)
			}
		}
	}
	return lists
}()

// indexOf returns the index of a column.
func indexOf(name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
}

// partsOf returns the parts of an event.
func partsOf(ev *reader.Event) (p part) {
	if ev.Kind == reader.KindSpan || ev.ParentSpanID != [8]byte{} || ev.LinkedTraceID != [16]byte{} || ev.LinkedSpanID != [8]byte{} ||
		ev.TraceState != "" || ev.ParentRemote || ev.SpanKind != 0 || ev.Status != 0 || ev.StatusMessage != "" || ev.Duration != 0 ||
		ev.EventCount|ev.LinkCount|ev.DroppedEvents|ev.DroppedLinks != 0 || len(ev.NestedEvents) > 0 || len(ev.NestedLinks) > 0 {
		p |= spanPart
	}
	if ev.TraceID != [16]byte{} || ev.SpanID != [8]byte{} || ev.TraceFlags != 0 {
		p |= tracePart
	}
	if ev.ServiceName != "" || ev.ScopeName != "" || ev.ScopeVersion != "" || ev.ScopeSchemaURL != "" || len(ev.Resource) > 0 || len(ev.ScopeAttributes) > 0 {
		p |= originPart
	}
	if hasOtherBody(ev) || ev.EventName != "" || ev.CgroupID != 0 ||
		ev.DroppedAttributes != 0 || ev.Truncated != 0 || ev.Duplicate || ev.Undecodable || !ev.Observed.IsZero() || ev.Point != nil || ev.Header != nil ||
		len(ev.Callchain) > 0 {
		p |= rarePart
	}
	return p
}
