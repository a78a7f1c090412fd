package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/reader"
)

// nestedEvents are the members of an event of a span.
var nestedEvents = objects([]member[reader.NestedEvent]{
	str("name", "", func(e *reader.NestedEvent) *string { return &e.Name }),
	moment("timestamp", "", func(e *reader.NestedEvent) *time.Time { return &e.Time }),
	number("dropped_attributes", "", func(e *reader.NestedEvent) *uint32 { return &e.DroppedAttributes }),
	fields("fields", "", func(e *reader.NestedEvent) *[]reader.Field { return &e.Attributes }),
})

// nestedLinks are the members of a link of a span.
var nestedLinks = objects([]member[reader.NestedLink]{
	id("trace_id", "", func(l *reader.NestedLink) []byte { return l.TraceID[:] }),
	id("span_id", "", func(l *reader.NestedLink) []byte { return l.SpanID[:] }),
	number("trace_flags", "", func(l *reader.NestedLink) *uint8 { return &l.TraceFlags }),
	str("trace_state", "", func(l *reader.NestedLink) *string { return &l.TraceState }),
	number("dropped_attributes", "", func(l *reader.NestedLink) *uint32 { return &l.DroppedAttributes }),
	fields("fields", "", func(l *reader.NestedLink) *[]reader.Field { return &l.Attributes }),
})

// headerMembers are the members of the header of an EventHeader event.
var headerMembers = []member[eventheader.Event]{
	str("name", "", func(h *eventheader.Event) *string { return &h.Name }),
	number("id", "", func(h *eventheader.Event) *uint16 { return &h.ID }),
	number("version", "", func(h *eventheader.Event) *uint8 { return &h.Version }),
	number("tag", "", func(h *eventheader.Event) *uint16 { return &h.Tag }),
	number("opcode", "", func(h *eventheader.Event) *eventheader.Opcode { return &h.Opcode }),
	number("level", "", func(h *eventheader.Event) *eventheader.Level { return &h.Level }),
	id("activity_id", "", func(h *eventheader.Event) []byte { return h.Activity[:] }),
	id("related_activity_id", "", func(h *eventheader.Event) []byte { return h.Related[:] }),
}

func appendHeader(b []byte, ev *reader.Event, c *clock, _ bool) []byte {
	if ev.Header == nil {
		return b
	}
	return appendObject(b, headerMembers, ev.Header, c)
}

// parseHeader reads the header. The rest of it is in the name of the tracepoint, an earlier member.
func parseHeader(ev *reader.Event, v reader.Value) error {
	ev.Header = &eventheader.Event{}
	if name, err := eventheader.ParseName(ev.Name); err == nil {
		ev.Header.Tracepoint = name
	}
	return parseObject(headerMembers, ev.Header, v)
}

// addresses are the elements of a stack.
var addresses = element[uint64]{
	append: func(b []byte, e *uint64, _ *clock) []byte {
		return append(strconv.AppendUint(append(b, `"0x`...), *e, 16), '"')
	},
	parse: func(v reader.Value) (uint64, error) {
		digits, ok := strings.CutPrefix(v.Text(), "0x")
		address, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || !ok {
			return 0, fmt.Errorf("no address: %s", v)
		}
		return address, nil
	},
}
