package reader

import (
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// Event is one record, decoded: what a program said at one moment, whatever its language and its encoding. The zero
// Event is ready to be decoded into, and meant to be used for many records.
//
// The texts of an Event are those that the program logged: escapes are reversed, and nothing in them is safe to print as
// it is; see [Value.AppendText]. Texts and bytes may be part of the record: they are good for as long as its bytes do not
// change. Slices, Point and Header are good until the next call that decodes into the Event. A copy of the struct refers to
// the same memory.
type Event struct {
	// Where and when the record was written, as the kernel says. [Decoder.Decode] leaves these fields as they are.
	Time      time.Time // the machine's clock
	Monotonic uint64    // CLOCK_MONOTONIC in nanoseconds, which orders records
	CPU       int
	PID, TID  int32    // the process and the thread; 0 if they are in no PID namespace of the reader
	CgroupID  uint64   // the inode number of the cgroup's directory; 0 if it is not known
	Callchain []uint64 // return addresses of the user's stack, innermost first
	Process   *Process // that wrote the record, as it was then; nil if the record was not read by a [Reader]
	Raw       []byte   // the record that was decoded, common fields included, if a [Reader] read it

	System, Name string // of the tracepoint
	Kind         Kind

	// Severity is that of a log record, and what the level of an EventHeader event stands for; else 0. SeverityText is
	// the program's own name for it, such as INFO+1, and empty if the program does not say.
	Severity     Severity
	SeverityText string

	// Message is the text that names the event for people: the body of a log record (of a body that is not a text, its
	// JSON), and the name of a span, of a span's event or of a metric. It is empty for events that have only fields.
	Message string
	// Body is the body of a log record with its type.
	Body Value
	// EventName is what the program calls the kind of event: the event name of a log record, the name in an EventHeader
	// event, or the tracepoint's of a declared record, which has no message. It is empty if no name tells
	// one record from others of its Kind.
	EventName string

	// Ids are zero if the record has none. Of a SpanEvent and a SpanLink, SpanID is the span that they belong to.
	TraceID      [16]byte
	SpanID       [8]byte
	ParentSpanID [8]byte
	ParentRemote bool // the parent span is in another program
	// LinkedTraceID and LinkedSpanID are the span that a SpanLink leads to.
	LinkedTraceID [16]byte
	LinkedSpanID  [8]byte
	TraceFlags    uint8 // 1: sampled; of a SpanLink those of the linked span
	TraceState    string

	// Of a Span, and as far as they are known then, of a SpanStart.
	SpanKind      SpanKind
	Status        Status
	StatusMessage string
	Duration      time.Duration
	// EventCount and LinkCount say how many events and links the span has, in its record or in records of their own.
	// NestedEvents and NestedLinks are those in the record.
	EventCount, LinkCount uint32
	NestedEvents          []NestedEvent
	NestedLinks           []NestedLink

	Point *Point // nil unless the event is a Metric

	ServiceName     string  // service.name of the resource
	Resource        []Field // the other attributes of the resource
	ScopeName       string  // of the instrumentation scope
	ScopeVersion    string
	ScopeSchemaURL  string
	ScopeAttributes []Field

	// Timestamp is the time that the program gave the record: when it happened, or, of a Span and a SpanStart, when the
	// span started. Observed is when the program's logger took the record. Both are in UTC, and zero if the record does
	// not say.
	Timestamp, Observed time.Time

	Truncated int // how many texts and attributes the program cut or dropped to make the record fit
	// Counts of what the program's OpenTelemetry SDK dropped because of its limits.
	DroppedAttributes, DroppedEvents, DroppedLinks uint32
	// Duplicate is set if the same record was also written to the event of its declaration, right before.
	Duplicate bool

	// Header is the header of an event in the format EventHeader: provider, level, keyword, opcode, activity ids. It is
	// nil for typed events.
	Header *eventheader.Event

	// Fields are all that has no place above, in the order of the record: the fields of foreign and declared events,
	// and attributes. In an event that is not of Kind Other, names are unique: the last value of a key counts.
	Fields []Field

	scratch *scratch
}

// NestedEvent is an event of a span within the record of the span.
type NestedEvent struct {
	Name              string
	Time              time.Time
	Attributes        []Field
	DroppedAttributes uint32
}

// NestedLink is a link of a span within the record of the span.
type NestedLink struct {
	TraceID           [16]byte
	SpanID            [8]byte
	TraceFlags        uint8
	TraceState        string
	Attributes        []Field
	DroppedAttributes uint32
}

// Lookup returns the value of the field with the name, and whether there is one. Of several it is the last.
func (ev *Event) Lookup(name string) (Value, bool) { return lookup(ev.Fields, name) }

// begin makes ev an event of a decoder's tracepoint that says nothing yet. It keeps what the kernel says, and memory.
func (ev *Event) begin(d *Decoder) {
	s := ev.scratch
	if s == nil {
		s = new(scratch)
	}
	s.begin()
	*ev = Event{
		Time: ev.Time, Monotonic: ev.Monotonic, CPU: ev.CPU, PID: ev.PID, TID: ev.TID,
		CgroupID: ev.CgroupID, Callchain: ev.Callchain, Process: ev.Process, Raw: ev.Raw,
		System: d.system, Name: d.name,
		Fields:   room(ev.Fields),
		Resource: room(ev.Resource),

		NestedEvents: room(ev.NestedEvents), NestedLinks: room(ev.NestedLinks),
		scratch: s,
	}
}
