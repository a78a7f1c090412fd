package reader

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"
)

// Event is one decoded record of any program, language and encoding. The zero Event is ready to be decoded into. Decoding
// never changes what an Event referred to before: a copy of the struct stays as it is, unless [DecodeOptions].Reuse is set.
//
// The texts of an Event are those that the program logged, without escapes, and are not safe to print: see
// [Value.AppendText].
type Event struct {
	// Time and place of the record, as the kernel recorded them. [Decoder.Decode] leaves these fields unchanged.
	Time      time.Time // the machine's clock
	Monotonic uint64    // CLOCK_MONOTONIC in nanoseconds, which orders records
	CPU       int       // -1 if unknown, as of records in shared memory
	PID, TID  int32     // process and thread; 0 if the reader's PID namespace does not have them. Records in shared memory have no thread
	CgroupID  uint64    // inode number of the cgroup's directory; 0 if unknown
	Callchain []uint64  // return addresses of the user's stack, innermost first
	Process   *Process  // process that wrote the record, at that time; nil unless a [Reader] read the record
	Raw       []byte    // the encoded record, common fields included; nil unless a [Reader] read the record
	Decoder   *Decoder  // decodes Raw, and has its format

	// Undecodable reports that the record does not fit the format of its event: only Raw has what the program wrote.
	Undecodable bool

	System, Name string // of the tracepoint
	Kind         Kind

	// Severity is the severity of a log record, or of the level of an EventHeader event; else 0. SeverityText is the
	// program's own name for it, such as INFO+1, or empty.
	Severity     Severity
	SeverityText string

	// Message is the body of a log record (as JSON if the body is not a text), or the name of a span, span event or
	// metric. It is empty for events that have only fields.
	Message string
	// Body is the body of a log record with its type.
	Body Value
	// EventName is the program's name for this kind of event: the event name of a log record, the name in an
	// EventHeader event, or the tracepoint's name for a declared record, which has no message. It is empty if no name
	// distinguishes the record from others of its Kind.
	EventName string

	// Ids are zero if the record has none. For KindSpanEvent and KindSpanLink, SpanID is the span that it belongs to.
	TraceID      [16]byte
	SpanID       [8]byte
	ParentSpanID [8]byte
	ParentRemote bool // the parent span belongs to another program
	// LinkedTraceID and LinkedSpanID identify the target of a link.
	LinkedTraceID [16]byte
	LinkedSpanID  [8]byte
	TraceFlags    uint8 // 1: sampled; for KindSpanLink, the flags of the linked span
	TraceState    string

	// Set for KindSpan; for KindSpanStart as far as they are known at the start.
	SpanKind      SpanKind
	Status        Status
	StatusMessage string
	Duration      time.Duration
	// EventCount and LinkCount are the numbers of the span's events and links, in its record or in separate records.
	// NestedEvents and NestedLinks are those in the record.
	EventCount, LinkCount uint32
	NestedEvents          []NestedEvent
	NestedLinks           []NestedLink

	Point *Point // nil unless Kind is KindMetric

	ServiceName     string  // service.name of the resource
	Resource        []Field // the other attributes of the resource
	ScopeName       string  // name of the instrumentation scope
	ScopeVersion    string
	ScopeSchemaURL  string
	ScopeAttributes []Field

	// Timestamp is the program's own time of the record; for KindSpan and KindSpanStart, the start of the span. Observed is
	// the time at which the program's logger received the record. Both are in UTC, and zero if the record lacks them.
	Timestamp, Observed time.Time

	Truncated int // number of texts and attributes that the program cut or dropped to make the record fit
	// Counts of data that the program's OpenTelemetry SDK dropped because of its limits.
	DroppedAttributes, DroppedEvents, DroppedLinks uint32
	// Duplicate is set if the program wrote the same record to the event of its declaration immediately before.
	Duplicate bool

	Header *Header // of an event in the format EventHeader; else nil

	// Fields has all other fields, in the order of the record: attributes, and the fields of declared and foreign
	// events. Names are unique: the last value of a key counts. In events of KindOther the second field of a name gets the name
	// NAME_2, and so on, and so does an attribute of a declared record that has the name of a declared field, which cannot hold it.
	Fields []Field
	// FieldsJSON is the JSON object of Fields, as [AppendJSON] would append it, where [DecodeJSON] has left it as the program
	// wrote it. Fields is then empty. It is safe to print: its texts are printable ASCII without escapes.
	FieldsJSON string

	leveled bool // other records of the tracepoint may be copies of declared records
	scratch *scratch
}

// Header is the header of an event in the format EventHeader, with the provider and the keyword that the tracepoint's name has.
type Header struct {
	Name, Provider        string // Name may have attributes after a semicolon
	Keyword               uint64
	ID, Tag               uint16
	Level, Opcode         uint8
	Version               uint8
	ActivityID, RelatedID [16]byte // zero if the event has none
}

// NestedEvent is an event of a span, stored in the span's record.
type NestedEvent struct {
	Name              string
	Time              time.Time
	Attributes        []Field
	DroppedAttributes uint32
}

// NestedLink is a link of a span, stored in the span's record.
type NestedLink struct {
	TraceID           [16]byte
	SpanID            [8]byte
	TraceFlags        uint8
	TraceState        string
	Attributes        []Field
	DroppedAttributes uint32
}

// Lookup returns the value of a field, and whether there is one. db.table is the field of that name, or else the member table of the
// group db. Where a program declared a field, the name has _ for characters other than letters and digits: http.route finds http_route,
// and the other way round.
func (ev *Event) Lookup(name string) (Value, bool) { return find(ev.Fields, name) }

// begin resets ev to an empty event of a decoder's tracepoint. It keeps the kernel's fields, and memory.
func (ev *Event) begin(d *Decoder) {
	at, monotonic, cpu, pid, tid := ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID
	cgroup, callchain, process, raw := ev.CgroupID, ev.Callchain, ev.Process, ev.Raw
	ev.reset(d)
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = at, monotonic, cpu, pid, tid
	ev.CgroupID, ev.Callchain, ev.Process, ev.Raw = cgroup, callchain, process, raw
}

// reset is begin, but resets the kernel's fields as well.
func (ev *Event) reset(d *Decoder) {
	s := ev.scratch
	if s == nil {
		s = new(scratch)
		ev.Fields, ev.Resource, ev.NestedEvents, ev.NestedLinks = nil, nil, nil, nil // they may belong to copies
	}
	s.begin()
	// Not as one composite literal, which would be made elsewhere and copied: an Event is large.
	fields, resource, events, links := room(ev.Fields), room(ev.Resource), room(ev.NestedEvents), room(ev.NestedLinks)
	*ev = Event{}
	ev.Fields, ev.Resource, ev.NestedEvents, ev.NestedLinks = fields, resource, events, links
	ev.System, ev.Name, ev.leveled, ev.scratch = d.system, d.name, d.leveled, s
	ev.Decoder = d
}

// Kind is the kind of an [Event]. The fields of the record determine it, never the name of the tracepoint: see
// docs/wire-formats.md.
type Kind uint8

// The kinds of events.
const (
	KindOther     Kind = iota // none of the others, such as the kernel's own tracepoints
	KindLog                   // a log record
	KindSpan                  // an ended span
	KindSpanStart             // a started span
	KindSpanEvent             // an event of a span, in a record of its own
	KindSpanLink              // a link of a span, in a record of its own
	KindMetric                // a data point, an exemplar, or an OTLP request with several points
)

var kindNames = [...]string{"other", "log", "span", "span start", "span event", "span link", "metric"}

// String returns the name of the kind, such as "span start".
func (k Kind) String() string { return name(kindNames[:], k) }

// SpanKind is OpenTelemetry's kind of a span, with the numbers of its protocol.
type SpanKind uint8

// The kinds of spans.
const (
	SpanKindUnspecified SpanKind = iota
	SpanKindInternal
	SpanKindServer
	SpanKindClient
	SpanKindProducer
	SpanKindConsumer
)

var spanKindNames = [...]string{"unspecified", "internal", "server", "client", "producer", "consumer"}

// String returns the name of the kind, such as "server".
func (k SpanKind) String() string { return name(spanKindNames[:], k) }

// Status is the status of a span, with the numbers of OpenTelemetry's protocol.
type Status uint8

// The statuses of spans.
const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

var statusNames = [...]string{"unset", "ok", "error"}

// String returns the name of the status, such as "error".
func (s Status) String() string { return name(statusNames[:], s) }

// name returns the name of a number that a program wrote. The first name is the one for unknown numbers.
func name[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return names[0]
}

// The layouts of spans and of their parts.
var (
	spanStart = &layout{
		kind:    KindSpanStart,
		numbers: []string{"start_time_unix_nano", "kind"},
		texts:   []string{"trace_id", "span_id", "parent_span_id", "name"},
		fields:  with(spanFields(map[string]setter{}), origin...),
		finish:  finishOtel,
	}
	spanEnd = &layout{
		kind:    KindSpan,
		numbers: []string{"start_time_unix_nano", "duration_ns"},
		texts:   []string{"trace_id", "span_id", "parent_span_id", "name"},
		fields: with(spanFields(map[string]setter{
			"duration_ns":    number64(func(ev *Event, n uint64) { ev.Duration = time.Duration(min(n, math.MaxInt64)) }),
			"status_code":    upTo(uint64(StatusError), func(ev *Event, n uint64) { ev.Status = Status(n) }),
			"status_message": words(func(ev *Event, s string) { ev.StatusMessage = s }),
			"events":         number64(func(ev *Event, n uint64) { ev.EventCount = count(n) }),
			"links":          number64(func(ev *Event, n uint64) { ev.LinkCount = count(n) }),
		}), append(origin, "dropped_attributes_count")...),
		finish: finishOtel,
	}
	spanEvent = &layout{
		kind:    KindSpanEvent,
		numbers: []string{"time_unix_nano", "dropped_attributes_count"},
		texts:   []string{"trace_id", "span_id", "name", "attributes"},
		fields:  with(map[string]setter{}, append(origin, "time_unix_nano", "trace_id", "span_id", "dropped_attributes_count", "name")...),
		finish:  finishOtel,
	}
	spanLink = &layout{
		kind:  KindSpanLink,
		texts: []string{"trace_id", "span_id", "linked_trace_id", "linked_span_id"},
		fields: with(map[string]setter{
			"linked_trace_id": id(func(ev *Event) []byte { return ev.LinkedTraceID[:] }),
			"linked_span_id":  id(func(ev *Event) []byte { return ev.LinkedSpanID[:] }),
		}, append(origin, "trace_id", "span_id", "trace_flags", "dropped_attributes_count")...),
		finish: finishOtel,
	}
)

func spanFields(own map[string]setter) map[string]setter {
	own["start_time_unix_nano"] = commonFields["time_unix_nano"]
	own["parent_span_id"] = id(func(ev *Event) []byte { return ev.ParentSpanID[:] })
	own["parent_is_remote"] = number64(func(ev *Event, n uint64) { ev.ParentRemote = n != 0 })
	own["kind"] = upTo(uint64(SpanKindConsumer), func(ev *Event, n uint64) { ev.SpanKind = SpanKind(n) })
	return with(own, "trace_id", "span_id", "trace_flags", "name")
}

// Clone returns a copy of the event that shares no memory with it but Process and Decoder, which never change. It stays valid
// where [DecodeOptions].Reuse limits how long ev does.
func (ev *Event) Clone() *Event {
	c := *ev
	c.scratch = nil
	c.Callchain, c.Raw = slices.Clone(ev.Callchain), bytes.Clone(ev.Raw)
	for _, s := range []*string{
		&c.System, &c.Name, &c.SeverityText, &c.Message, &c.EventName, &c.TraceState, &c.StatusMessage,
		&c.ServiceName, &c.ScopeName, &c.ScopeVersion, &c.ScopeSchemaURL, &c.FieldsJSON,
	} {
		*s = strings.Clone(*s)
	}
	c.Body = ev.Body.clone()
	c.Fields, c.Resource, c.ScopeAttributes = cloneFields(ev.Fields), cloneFields(ev.Resource), cloneFields(ev.ScopeAttributes)
	c.NestedEvents, c.NestedLinks = slices.Clone(ev.NestedEvents), slices.Clone(ev.NestedLinks)
	for i := range c.NestedEvents {
		e := &c.NestedEvents[i]
		e.Name, e.Attributes = strings.Clone(e.Name), cloneFields(e.Attributes)
	}
	for i := range c.NestedLinks {
		l := &c.NestedLinks[i]
		l.TraceState, l.Attributes = strings.Clone(l.TraceState), cloneFields(l.Attributes)
	}
	if ev.Point != nil {
		c.Point = ev.Point.clone()
	}
	if ev.Header != nil {
		h := *ev.Header
		h.Name, h.Provider = strings.Clone(h.Name), strings.Clone(h.Provider)
		c.Header = &h
	}
	return &c
}

func (p *Point) clone() *Point {
	c := *p
	c.Unit, c.Request = strings.Clone(p.Unit), bytes.Clone(p.Request)
	c.Value, c.Sum, c.Min, c.Max = p.Value.clone(), p.Sum.clone(), p.Min.clone(), p.Max.clone()
	c.Bounds, c.BucketCounts, c.Quantiles = slices.Clone(p.Bounds), slices.Clone(p.BucketCounts), slices.Clone(p.Quantiles)
	c.Positive.Counts, c.Negative.Counts = slices.Clone(p.Positive.Counts), slices.Clone(p.Negative.Counts)
	c.FilteredAttributes = cloneFields(p.FilteredAttributes)
	return &c
}

func (v Value) clone() Value {
	v.str, v.list = strings.Clone(v.str), cloneFields(v.list)
	return v
}

func cloneFields(fields []Field) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		f.Name, f.Value = strings.Clone(f.Name), f.Value.clone()
	}
	return fields
}
