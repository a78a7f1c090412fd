package perfetto

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/userevents/userevents-go/reader"
)

// writeInstant writes an event without duration on the track of its thread.
func (p *Writer) writeInstant(ev *reader.Event) {
	at := p.recorded(ev)
	if ev.Kind == reader.KindLog {
		at = p.happened(ev, ev.Timestamp)
	}
	p.event(at, p.threadTrack(ev), instant, func(m *message) {
		p.describeEvent(m, ev)
		annotateIDs(m, ev)
	})
}

// describeEvent appends name, category, flow and fields of an event.
func (p *Writer) describeEvent(m *message, ev *reader.Event) {
	name := ev.Message
	if name == "" {
		name = ev.EventName
	}
	if name == "" {
		name = ev.Name
	}
	m.string(eventName, name)
	if ev.Severity != 0 {
		m.string(eventCategories, ev.Severity.String())
		annotate(m, "severity", reader.StringValue(ev.Severity.String()))
	}
	m.string(eventCategories, ev.Name)
	if ev.TraceID != (traceID{}) {
		m.fixed64(eventFlows, flowOf(ev.TraceID))
	}
	for i := range ev.Fields {
		annotate(m, ev.Fields[i].Name, ev.Fields[i].Value)
	}
	if ev.ScopeName != "" {
		annotate(m, "scope", reader.StringValue(ev.ScopeName))
	}
	if ev.ServiceName != "" {
		annotate(m, "service", reader.StringValue(ev.ServiceName))
	}
	if ev.EventName != "" && ev.EventName != name {
		annotate(m, "event_name", reader.StringValue(ev.EventName))
	}
	if ev.Truncated != 0 {
		annotate(m, "truncated", reader.Int64Value(int64(ev.Truncated)))
	}
}

// flowOf returns the flow of a trace, which connects its events. Flows have 64 bits: the last ones of a trace id are
// random.
func flowOf(id traceID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// annotateIDs appends the ids of an event.
func annotateIDs(m *message, ev *reader.Event) {
	annotateID(m, "trace_id", ev.TraceID[:])
	annotateID(m, "span_id", ev.SpanID[:])
	annotateID(m, "parent_span_id", ev.ParentSpanID[:])
}

// annotateID appends an id, unless it is zero.
func annotateID(m *message, name string, id []byte) {
	for _, b := range id {
		if b != 0 {
			annotate(m, name, reader.StringValue(hex.EncodeToString(id)))
			return
		}
	}
}

// annotate appends a field, which Perfetto shows with the event.
func annotate(m *message, name string, v reader.Value) {
	at := m.begin(eventAnnotations)
	m.string(annotationName, name)
	annotateValue(m, v, 0)
	m.end(at)
}

// maxDepth limits the nesting of lists and maps. Deeper ones become JSON texts.
const maxDepth = 32

func annotateValue(m *message, v reader.Value, depth int) {
	switch v.Type() {
	case reader.TypeString:
		m.string(annotationString, v.Text())
	case reader.TypeInt64:
		m.int(annotationInt, v.Int64())
	case reader.TypeUint64:
		m.uint(annotationUint, v.Uint64())
	case reader.TypeFloat64:
		m.double(annotationDouble, v.Float64())
	case reader.TypeBool:
		m.bool(annotationBool, v.Bool())
	case reader.TypeBytes:
		m.string(annotationString, hex.EncodeToString(v.Bytes()))
	case reader.TypeList, reader.TypeMap:
		annotateContainer(m, v, depth)
	default:
		m.string(annotationString, "null")
	}
}

func annotateContainer(m *message, v reader.Value, depth int) {
	if depth == maxDepth || len(v.Fields()) == 0 { // Perfetto drops empty ones
		m.string(annotationString, v.String())
		return
	}
	number := annotationArray
	if v.Type() == reader.TypeMap {
		number = annotationDict
	}
	for _, f := range v.Fields() {
		at := m.begin(number)
		if number == annotationDict {
			m.string(annotationName, f.Name)
		}
		annotateValue(m, f.Value, depth+1)
		m.end(at)
	}
}
