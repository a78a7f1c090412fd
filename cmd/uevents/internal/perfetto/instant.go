package perfetto

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/userevents/userevents-go/record"
)

// writeInstant writes an event without duration on the track of its thread.
func (p *Writer) writeInstant(ev *record.Record) {
	at := p.recorded(ev)
	if ev.Kind == record.KindLog {
		at = p.happened(ev, ev.Timestamp)
	}
	p.event(at, p.threadTrack(ev), instant, func(m *message) {
		p.describeEvent(m, ev)
		annotateIDs(m, ev)
	})
}

// describeEvent appends name, category, flow and fields of an event.
func (p *Writer) describeEvent(m *message, ev *record.Record) {
	name := cmp.Or(ev.Message, ev.EventName, ev.Name)
	m.string(eventName, name)
	if ev.Severity != 0 {
		m.string(eventCategories, ev.Severity.String())
		annotate(m, "severity", record.StringValue(ev.Severity.String()))
	}
	m.string(eventCategories, ev.Name)
	if ev.TraceID != (traceID{}) {
		m.fixed64(eventFlows, flowOf(ev.TraceID))
	}
	for i := range ev.Fields() {
		annotate(m, ev.Fields()[i].Name, ev.Fields()[i].Value)
	}
	if ev.ScopeName != "" {
		annotate(m, "scope", record.StringValue(ev.ScopeName))
	}
	if ev.ServiceName != "" {
		annotate(m, "service", record.StringValue(ev.ServiceName))
	}
	if ev.EventName != "" && ev.EventName != name {
		annotate(m, "event_name", record.StringValue(ev.EventName))
	}
	if ev.Truncated != 0 {
		annotate(m, "truncated", record.Int64Value(int64(ev.Truncated)))
	}
}

// flowOf returns the flow of a trace, which connects its events. Flows have 64 bits: the last ones of a trace id are
// random.
func flowOf(id traceID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// annotateIDs appends the ids of an event.
func annotateIDs(m *message, ev *record.Record) {
	annotateID(m, "trace_id", ev.TraceID[:])
	annotateID(m, "span_id", ev.SpanID[:])
	annotateID(m, "parent_span_id", ev.ParentSpanID[:])
}

// annotateID appends an id, unless it is zero.
func annotateID(m *message, name string, id []byte) {
	if len(bytes.Trim(id, "\x00")) > 0 {
		annotate(m, name, record.StringValue(hex.EncodeToString(id)))
	}
}

// annotate appends a field, which Perfetto shows with the event.
func annotate(m *message, name string, v record.Value) {
	at := m.begin(eventAnnotations)
	m.string(annotationName, name)
	annotateValue(m, v, 0)
	m.end(at)
}

// maxDepth limits the nesting of lists and maps. Deeper ones become JSON texts.
const maxDepth = 32

func annotateValue(m *message, v record.Value, depth int) {
	switch v.Type() {
	case record.TypeString:
		m.string(annotationString, v.Text())
	case record.TypeInt64:
		m.int(annotationInt, v.Int64())
	case record.TypeUint64:
		m.uint(annotationUint, v.Uint64())
	case record.TypeFloat64:
		m.double(annotationDouble, v.Float64())
	case record.TypeBool:
		m.bool(annotationBool, v.Bool())
	case record.TypeBytes:
		m.string(annotationString, hex.EncodeToString(v.Bytes()))
	case record.TypeList, record.TypeMap:
		annotateContainer(m, v, depth)
	default:
		m.string(annotationString, "null")
	}
}

func annotateContainer(m *message, v record.Value, depth int) {
	if depth == maxDepth || len(v.Fields()) == 0 { // Perfetto drops empty ones
		m.string(annotationString, v.String())
		return
	}
	number := annotationArray
	if v.Type() == record.TypeMap {
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

// writeCounter writes the value of a gauge or a sum on a track of its series. It returns false for points without a
// single number.
func (p *Writer) writeCounter(ev *record.Record) bool {
	if ev.Point.Type != record.PointGauge && ev.Point.Type != record.PointSum {
		return false
	}
	name := append(p.name[:0], ev.Message...)
	if len(ev.Fields()) > 0 {
		name = record.AppendJSON(append(name, ' '), ev.Fields())
	}
	p.name = name
	track := p.counterTrack(counterKey{p.processTrack(ev), string(name)}, ev.Point.Unit, 0)
	p.event(p.happened(ev, ev.Timestamp), track, counter, func(m *message) { m.double(eventCounterDouble, ev.Point.Value.Float64()) })
	return true
}

const (
	schedSystem = "sched"
	switchName  = "sched_switch"

	// Switch is the kernel's event of context switches.
	Switch = schedSystem + ":" + switchName
)

// IsSwitch reports whether an event is a context switch. The writer draws it as the scheduler's, not as an event of the
// process.
func IsSwitch(ev *record.Record) bool { return ev.System == schedSystem && ev.Name == switchName }

// switchFields are the fields of the kernel's sched_switch, and their numbers in Perfetto's message.
var switchFields = [...]struct {
	name   string
	number protowire.Number
}{
	{"prev_comm", 1},
	{"prev_pid", 2},
	{"prev_prio", 3},
	{"prev_state", 4},
	{"next_comm", 5},
	{"next_pid", 6},
	{"next_prio", 7},
}

// writeSwitch writes a context switch. Kernel events have times in CLOCK_BOOTTIME, the clock of a bundle that names
// none.
func (p *Writer) writeSwitch(ev *record.Record) {
	begin := p.m.begin(tracePacket)
	p.m.uint(packetSequence, sequence)
	bundle := p.m.begin(packetFtraceEvents)
	p.m.uint(bundleCPU, uint64(ev.CPU))
	at := p.m.begin(bundleEvent)
	p.m.uint(ftraceTimestamp, p.recorded(ev)+p.clocks.Boottime-p.clocks.Monotonic)
	p.m.uint(ftracePID, uint64(uint32(ev.TID)))
	fields := p.m.begin(ftraceSchedSwitch)
	for _, f := range switchFields {
		v, ok := ev.Lookup(f.name)
		switch {
		case !ok: // the record is of another kernel
		case v.Type() == record.TypeString:
			p.m.string(f.number, v.Text())
		default:
			p.m.int(f.number, v.Int64())
		}
	}
	p.m.end(fields)
	p.m.end(at)
	p.m.end(bundle)
	p.m.end(begin)
}
