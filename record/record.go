package record

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/text"
)

// Record is one decoded record of any program, language and encoding. The zero Record is ready to be decoded into. Decoding
// never changes what a Record referred to before: a copy of the struct stays as it is, but for [Decoder.DecodeReuse].
//
// The texts of a Record are those that the program logged, without escapes, and are not safe to print: see
// [Value.AppendText].
type Record struct {
	// Time and place of the record, as the kernel recorded them. [Decoder.Decode] leaves them unchanged.
	Time      time.Time // the machine's clock
	Monotonic uint64    // CLOCK_MONOTONIC in nanoseconds, which orders records
	CPU       int       // -1 if unknown, as of records in shared memory
	PID, TID  int32     // process and thread; 0 if the reader's PID namespace does not have them. Records in shared memory have no thread
	CgroupID  uint64    // inode number of the cgroup's directory; 0 if unknown
	Callchain []uint64  // return addresses of the user's stack, innermost first
	Process   *Process  // process that wrote the record, at that time; nil unless a [Reader] read the record
	Raw       []byte    // the encoded record, common fields included; nil of a recording without it
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
	HasTraceFlags bool  // the record has TraceFlags, which may be 0
	TraceState    string

	// Set for KindSpan; for KindSpanStart as far as they are known at the start.
	SpanKind      SpanKind
	Status        Status
	StatusMessage string
	Duration      time.Duration // negative if the span ended before it started
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

	fields []Field
	// attributes is the JSON object of attributes that are not yet among fields. They come in front of fields[attributesAt].
	attributes   string
	attributesAt int
	isPlain      bool // attributes are as AppendJSON writes them

	leveled bool // other records of the tracepoint may be copies of declared records
	scratch *scratch
}

// Fields returns all other fields, in the order of the record: attributes, and the fields of declared and foreign events. Names are unique:
// the last value of a key counts. In events of KindOther the second field of a name gets the name NAME_2, and so on, and so does an attribute
// of a declared record that has the name of a declared field, which cannot hold it. The caller must not change them.
//
// The first call decodes the attributes: a Record of [Decoder.DecodeReuse] must not be used by several goroutines.
func (rec *Record) Fields() []Field {
	if rec.attributes != "" {
		rec.resolve(false)
	}
	return rec.fields
}

// SetFields sets the fields of a record that no Decoder has decoded.
func (rec *Record) SetFields(fields []Field) { rec.fields, rec.attributes = fields, "" }

// FieldsJSON returns the JSON object of Fields, as [AppendJSON] would append it, if the record has it in this form and no call of Fields has
// decoded it; else "". Most attributes need neither be decoded nor encoded for JSON. It is safe to print: its texts are printable ASCII
// without escapes.
func (rec *Record) FieldsJSON() string {
	if rec.attributes == "" || rec.isPlain {
		return rec.attributes
	}
	if rec.isPlain = len(rec.fields) == 0 && isPlain(rec.attributes); !rec.isPlain {
		rec.resolve(false)
	}
	return rec.attributes
}

// resolve decodes the attributes. It lifts those with reserved names, if there may be any.
func (rec *Record) resolve(reserved bool) {
	s, json, at := rec.scratch, rec.attributes, rec.attributesAt
	rec.attributes, rec.isPlain = "", false
	json, _, _ = strings.Cut(json, "\x00") // see setAttributes
	behind := append(s.top[:0], rec.fields[at:]...)
	s.top = behind
	fields, ok := s.object(json, rec.fields[:at])
	if !ok {
		s.declared = append(s.declared, at)
		fields = append(fields, Field{"attributes", StringValue(text.Unescape(json))})
	}
	if len(behind) > 0 {
		for i := range s.declared {
			if s.declared[i] >= at && (ok || i < len(s.declared)-1) {
				s.declared[i] += len(fields) - at
			}
		}
		fields = append(fields, behind...)
	}
	rec.fields = fields
	if len(s.declared) > 0 && len(rec.fields) > len(s.declared) {
		rec.separate()
	}
	if reserved {
		lift(rec)
	}
	if len(rec.fields) > 1 {
		rec.fields = s.unique(rec.fields, 0)
	}
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
func (rec *Record) Lookup(name string) (Value, bool) { return find(rec.Fields(), name) }

// begin resets rec to an empty record of a decoder's tracepoint. It keeps what the kernel recorded, and memory.
func (rec *Record) begin(d *Decoder) {
	s := rec.scratch
	if s == nil {
		s = new(scratch)
		rec.fields, rec.Resource, rec.NestedEvents, rec.NestedLinks = nil, nil, nil, nil // they may belong to copies
	}
	if len(s.arena)|len(s.stack)|len(s.top)|len(s.declared) != 0 { // seldom
		s.begin()
	}
	// Not as one composite literal, which would be made elsewhere and copied: a Record is large.
	fields, resource, events, links := room(rec.fields), room(rec.Resource), room(rec.NestedEvents), room(rec.NestedLinks)
	at, monotonic, cpu, pid, tid := rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID
	cgroup, callchain, process := rec.CgroupID, rec.Callchain, rec.Process
	*rec = Record{}
	rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID = at, monotonic, cpu, pid, tid
	rec.CgroupID, rec.Callchain, rec.Process = cgroup, callchain, process
	rec.fields, rec.Resource, rec.NestedEvents, rec.NestedLinks = fields, resource, events, links
	rec.System, rec.Name, rec.leveled, rec.scratch = d.system, d.name, d.leveled, s
	rec.Decoder = d
}

// Kind is the kind of a [Record]. The fields of the record determine it, never the name of the tracepoint: see
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
		lifts:   true,
	}
	spanEnd = &layout{
		kind:    KindSpan,
		numbers: []string{"start_time_unix_nano", "duration_ns"},
		texts:   []string{"trace_id", "span_id", "parent_span_id", "name"},
		fields: with(spanFields(map[string]setter{
			"duration_ns":    number64(func(rec *Record, n uint64) { rec.Duration = time.Duration(n) }),
			"status_code":    upTo(uint64(StatusError), func(rec *Record, n uint64) { rec.Status = Status(n) }),
			"status_message": words(func(rec *Record, s string) { rec.StatusMessage = s }),
			"events":         number64(func(rec *Record, n uint64) { rec.EventCount = count(n) }),
			"links":          number64(func(rec *Record, n uint64) { rec.LinkCount = count(n) }),
		}), append(origin, "dropped_attributes_count")...),
		lifts: true,
	}
	spanEvent = &layout{
		kind:    KindSpanEvent,
		numbers: []string{"time_unix_nano", "dropped_attributes_count"},
		texts:   []string{"trace_id", "span_id", "name", "attributes"},
		fields:  with(map[string]setter{}, append(origin, "time_unix_nano", "trace_id", "span_id", "dropped_attributes_count", "name")...),
		lifts:   true,
	}
	spanLink = &layout{
		kind:  KindSpanLink,
		texts: []string{"trace_id", "span_id", "linked_trace_id", "linked_span_id"},
		fields: with(map[string]setter{
			"linked_trace_id": id(func(rec *Record) []byte { return rec.LinkedTraceID[:] }),
			"linked_span_id":  id(func(rec *Record) []byte { return rec.LinkedSpanID[:] }),
		}, append(origin, "trace_id", "span_id", "trace_flags", "dropped_attributes_count")...),
		lifts: true,
	}
)

func spanFields(own map[string]setter) map[string]setter {
	own["start_time_unix_nano"] = commonFields["time_unix_nano"]
	own["parent_span_id"] = id(func(rec *Record) []byte { return rec.ParentSpanID[:] })
	own["parent_is_remote"] = number64(func(rec *Record, n uint64) { rec.ParentRemote = n != 0 })
	own["kind"] = upTo(uint64(SpanKindConsumer), func(rec *Record, n uint64) { rec.SpanKind = SpanKind(n) })
	return with(own, "trace_id", "span_id", "trace_flags", "name")
}

// Clone returns a copy of the event that shares no memory with it but Process and Decoder, which never change. It stays valid
// where [Decoder.DecodeReuse] limits how long rec does.
func (rec *Record) Clone() *Record {
	rec.Fields() // else the attributes are decoded twice
	c := *rec
	c.scratch = nil
	c.Callchain, c.Raw = slices.Clone(rec.Callchain), bytes.Clone(rec.Raw)
	for _, s := range []*string{
		&c.System, &c.Name, &c.SeverityText, &c.Message, &c.EventName, &c.TraceState, &c.StatusMessage,
		&c.ServiceName, &c.ScopeName, &c.ScopeVersion, &c.ScopeSchemaURL,
	} {
		*s = strings.Clone(*s)
	}
	c.Body = rec.Body.clone()
	c.fields, c.Resource, c.ScopeAttributes = cloneFields(rec.fields), cloneFields(rec.Resource), cloneFields(rec.ScopeAttributes)
	c.NestedEvents, c.NestedLinks = slices.Clone(rec.NestedEvents), slices.Clone(rec.NestedLinks)
	for i := range c.NestedEvents {
		e := &c.NestedEvents[i]
		e.Name, e.Attributes = strings.Clone(e.Name), cloneFields(e.Attributes)
	}
	for i := range c.NestedLinks {
		l := &c.NestedLinks[i]
		l.TraceState, l.Attributes = strings.Clone(l.TraceState), cloneFields(l.Attributes)
	}
	if rec.Point != nil {
		c.Point = rec.Point.clone()
	}
	if rec.Header != nil {
		h := *rec.Header
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
