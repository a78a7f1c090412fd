package output

import (
	"slices"

	"github.com/userevents/userevents-go/reader"
)

// part is a part that many events lack. The writer then skips all columns of the part at once. 0 is none.
type part uint8

const (
	spanPart   part = 1 << iota // of spans, and of their events and links
	tracePart                   // ids
	originPart                  // resource and scope
	rarePart                    // everything else that most events lack

	allParts = 1<<iota - 1
)

// indexOf returns the index of a column.
func indexOf(name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
}

// partsOf returns the parts of an event. It looks at most fields of each event: adding up numbers and lengths takes one instruction for a
// field, a comparison two.
func partsOf(ev *reader.Event) (p part) {
	if ev.Kind == reader.KindSpan || ev.ParentSpanID != [8]byte{} || ev.LinkedTraceID != [16]byte{} || ev.LinkedSpanID != [8]byte{} ||
		uint32(ev.SpanKind)|uint32(ev.Status)|ev.EventCount|ev.LinkCount|ev.DroppedEvents|ev.DroppedLinks != 0 || ev.Duration != 0 || ev.ParentRemote ||
		len(ev.TraceState)|len(ev.StatusMessage)|len(ev.NestedEvents)|len(ev.NestedLinks) != 0 {
		p |= spanPart
	}
	if ev.TraceID != [16]byte{} || ev.SpanID != [8]byte{} || ev.TraceFlags != 0 {
		p |= tracePart
	}
	if len(ev.ServiceName)|len(ev.ScopeName)|len(ev.ScopeVersion)|len(ev.ScopeSchemaURL)|len(ev.Resource)|len(ev.ScopeAttributes) != 0 {
		p |= originPart
	}
	if len(ev.EventName)|len(ev.Callchain)|int(ev.DroppedAttributes)|ev.Truncated != 0 || ev.CgroupID != 0 || ev.Duplicate || ev.Undecodable ||
		ev.Point != nil || ev.Header != nil || !ev.Observed.IsZero() || hasOtherBody(ev) {
		p |= rarePart
	}
	return p
}
