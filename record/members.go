package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/eventheader"
)

// Member is a member of the JSON object of a record: a part of all records. Columns, templates and conditions have the same names.
type Member struct {
	Name string
	Type string // of its value in JSON: text, time, id, number, true, bytes, any, array or object; empty if it is of text only
	Doc  string // what it is; empty if that of an earlier member says it, too

	of    *member[Record]
	index int // in recordMembers
}

// Members returns all members, in the order of the JSON object. Their names and types never change.
func Members() []*Member { return slices.Clone(listedMembers) }

// MemberOf returns the member with a name, or nil. metric.NAME is a member of the member metric.
func MemberOf(name string) *Member { return memberOf[name] }

// Value returns the value: null if the record lacks it, and for times, arrays and objects. An id is its bytes, which are part of rec.
func (m *Member) Value(rec *Record) Value { return m.of.value(rec) }

// in makes members those of a part; 0 is none.
func in(p part, list ...*member[Record]) []*member[Record] {
	for _, m := range list {
		m.part = p
	}
	return list
}

// recordMembers are all members of a record. A new one has its line here, and in partsOf if it belongs to a part. Encoder and Parser keep the
// members of a process and of a thread as one text: between these, a member needs a value that changes with them alone.
var recordMembers = slices.Concat(
	in(0,
		special("time", aTime, "when the kernel took the record",
			func(b []byte, rec *Record, c *times) []byte { return c.kernel.append(b, rec.Time) },
			func(rec *Record, v *Value, c *times) (err error) {
				rec.Time, err = c.kernel.parse(v)
				return err
			}),
		integer("monotonic_ns", "CLOCK_MONOTONIC of the kernel, which orders records", func(rec *Record) *uint64 { return &rec.Monotonic }),
		str("system", "of the tracepoint, such as user_events", func(rec *Record) *string { return &rec.System }),
		str("event", "the name of the tracepoint", func(rec *Record) *string { return &rec.Name }),
		named("kind", "log, span, span start, span event, span link, metric, other, or lost: see below", kindNames[:], 0,
			func(rec *Record) *Kind { return &rec.Kind }),
		value("severity", aText, "OpenTelemetry's name, such as INFO", func(rec *Record) Value {
			if rec.Severity == 0 {
				return Value{}
			}
			return StringValue(rec.Severity.String())
		}, told),
		value("severity_number", aNumber, "OpenTelemetry's number, such as 9",
			func(rec *Record) Value { return knownNumber(int64(rec.Severity), rec.Severity != 0) }, setSeverityNumber),
		str("severity_text", "the program's own name for it", func(rec *Record) *string { return &rec.SeverityText }),
		setBy(func(rec *Record, v *Value) error {
			rec.Message = v.Text()
			if rec.Kind == KindLog { // also its body, unless a member with the typed body follows
				rec.Body = *v
			}
			return nil
		}, str("message", "the text of a log record, the name of a span or a metric; declared records have none",
			func(rec *Record) *string { return &rec.Message }))),
	in(rarePart,
		value("body", "any", "of a log record, if it is not a text",
			func(rec *Record) Value {
				if !rec.hasOtherBody() {
					return Value{}
				}
				return rec.Body
			},
			func(rec *Record, v *Value) error {
				rec.Body = *v
				return nil
			}),
		str("event_name", "of a log record, or of an EventHeader event; of a declared record its event",
			func(rec *Record) *string { return &rec.EventName })),
	in(0,
		ofProcess("program", "the name of the process that wrote the record, as the process was then", func(p *Process) *string { return &p.Comm }),
		integer("pid", "the process", func(rec *Record) *int32 { return &rec.PID }),
		ofProcess("exe", "the path of its file", func(p *Process) *string { return &p.Exe }),
		ofProcess("cgroup", "the path in the cgroup file system", func(p *Process) *string { return &p.Cgroup }),
		ofProcess("unit", "the systemd unit, the innermost one: of a user's service the user's", func(p *Process) *string { return &p.Unit }),
		ofProcess("container_id", "of docker, containerd, CRI-O and podman", func(p *Process) *string { return &p.ContainerID }),
		ofProcess("pod_uid", "of Kubernetes", func(p *Process) *string { return &p.PodUID }),
		ofProcess("process_service", "the service.name that the process publishes as OpenTelemetry's process context",
			func(p *Process) *string { return &p.ServiceName }),
		value("tid", aNumber, "the thread; records in shared memory do not tell",
			func(rec *Record) Value { return knownNumber(int64(rec.TID), rec.TID != 0) },
			func(rec *Record, v *Value) error {
				rec.TID = int32(v.Int64())
				return nil
			}),
		value("cpu", aNumber, "the CPU that it ran on; records in shared memory do not tell",
			func(rec *Record) Value { return knownNumber(int64(rec.CPU), rec.CPU >= 0) },
			func(rec *Record, v *Value) error {
				rec.CPU = int(v.Int64())
				return nil
			})),
	in(rarePart,
		integer("cgroup_id", "the inode number of the cgroup's directory", func(rec *Record) *uint64 { return &rec.CgroupID })),
	in(tracePart,
		identifier("trace_id", "of the record's span", func(rec *Record) []byte { return rec.TraceID[:] }),
		identifier("span_id", "of a span's event or link: the span that it belongs to", func(rec *Record) []byte { return rec.SpanID[:] })),
	in(spanPart,
		identifier("parent_span_id", "", func(rec *Record) []byte { return rec.ParentSpanID[:] }),
		identifier("linked_trace_id", "where a span link leads to", func(rec *Record) []byte { return rec.LinkedTraceID[:] }),
		identifier("linked_span_id", "", func(rec *Record) []byte { return rec.LinkedSpanID[:] })),
	in(tracePart,
		value("trace_flags", aNumber, "1: sampled",
			func(rec *Record) Value { return knownNumber(int64(rec.TraceFlags), rec.HasTraceFlags) },
			func(rec *Record, v *Value) error {
				rec.TraceFlags, rec.HasTraceFlags = uint8(v.Uint64()), true
				return nil
			})),
	in(spanPart,
		str("trace_state", "of the W3C's trace context", func(rec *Record) *string { return &rec.TraceState }),
		truth("parent_remote", "the parent span is another program's", func(rec *Record) *bool { return &rec.ParentRemote }),
		named("span_kind", "internal, server, client, producer or consumer", spanKindNames[:], 1, func(rec *Record) *SpanKind { return &rec.SpanKind }),
		named("status", "ok or error", statusNames[:], 1, func(rec *Record) *Status { return &rec.Status }),
		str("status_message", "", func(rec *Record) *string { return &rec.StatusMessage }),
		integer("duration_ns", "of a span", func(rec *Record) *time.Duration { return &rec.Duration }),
		duration,
		integer("event_count", "of a span, in its record or in their own", func(rec *Record) *uint32 { return &rec.EventCount }),
		integer("link_count", "", func(rec *Record) *uint32 { return &rec.LinkCount }),
		integer("dropped_events", "what the program's OpenTelemetry SDK dropped", func(rec *Record) *uint32 { return &rec.DroppedEvents }),
		integer("dropped_links", "", func(rec *Record) *uint32 { return &rec.DroppedLinks })),
	in(rarePart,
		integer("dropped_attributes", "", func(rec *Record) *uint32 { return &rec.DroppedAttributes }),
		integer("truncated", "how many values the program cut or dropped because the record was too long",
			func(rec *Record) *int { return &rec.Truncated }),
		truth("duplicate", "the record was also written to the event of its declaration", func(rec *Record) *bool { return &rec.Duplicate }),
		value("undecodable", "bytes", "a record that does not fit the format of its event: it has no fields",
			func(rec *Record) Value {
				if !rec.Undecodable {
					return Value{}
				}
				return BytesValue(rec.Raw)
			},
			func(rec *Record, v *Value) error {
				rec.Undecodable = true
				return setBytes(&rec.Raw, v)
			})),
	in(0,
		moment("timestamp", "when the program says that it was; the start of a span", func(rec *Record) *time.Time { return &rec.Timestamp })),
	in(rarePart,
		moment("observed", "when the program's logger received the record", func(rec *Record) *time.Time { return &rec.Observed })),
	in(originPart,
		str("service", "service.name of OpenTelemetry's resource", func(rec *Record) *string { return &rec.ServiceName }),
		str("scope", "the name of OpenTelemetry's instrumentation scope", func(rec *Record) *string { return &rec.ScopeName }),
		str("scope_version", "", func(rec *Record) *string { return &rec.ScopeVersion }),
		str("scope_schema_url", "", func(rec *Record) *string { return &rec.ScopeSchemaURL }),
		list("scope_attributes", "", func(rec *Record) *[]Field { return &rec.ScopeAttributes }),
		list("resource", "the other attributes of the resource", func(rec *Record) *[]Field { return &rec.Resource })),
	in(rarePart,
		object("metric", "a data point: type, unit, temporality, value, count, sum, bounds, bucket_counts, ...", pointMembers,
			func(rec *Record) *Point { return rec.Point },
			func(rec *Record) *Point {
				rec.Point = new(Point)
				return rec.Point
			})),
	in(spanPart,
		array("events", "objects: those in the record of the span", objects(eventMembers), func(rec *Record) *[]NestedEvent { return &rec.NestedEvents }),
		array("links", "", objects(linkMembers), func(rec *Record) *[]NestedLink { return &rec.NestedLinks })),
	in(rarePart,
		object("header", "of an EventHeader event", headerMembers, func(rec *Record) *Header { return rec.Header }, newHeader),
		array("callchain", "with --stack: texts of addresses, innermost first", addresses, func(rec *Record) *[]uint64 { return &rec.Callchain })),
	in(0,
		special("fields", anObject, "everything else; the second field of one name is NAME_2, and so on", appendFields, keepFields)),
)

// told sets nothing: another member tells the same.
func told(*Record, *Value) error { return nil }

// duration is written as text only. JSON has duration_ns.
var duration = setBy(told, of("duration", "", "",
	func(rec *Record) Value { return knownNumber(int64(rec.Duration), rec.Kind == KindSpan) },
	func(b []byte, _ *Record, _ *times) []byte { return b }, nil))

func setSeverityNumber(rec *Record, v *Value) error {
	n := v.Int64()
	if n < int64(SeverityTrace) || n > int64(maxSeverity) {
		return fmt.Errorf("not from 1 to %d: %s", maxSeverity, v)
	}
	rec.Severity = Severity(n)
	return nil
}

// hasOtherBody reports whether the body of a log record is not its message. Bytes and NaN are texts in JSON, which are read
// back as such.
func (rec *Record) hasOtherBody() bool {
	t := rec.Body.typ
	return t != TypeNull && (t != TypeString || rec.Body.str != rec.Message)
}

// newHeader returns a header with what the name of the tracepoint has, an earlier member.
func newHeader(rec *Record) *Header {
	rec.Header = &Header{}
	if name, err := eventheader.ParseName(rec.Name); err == nil {
		rec.Header.Provider, rec.Header.Keyword = name.Provider, name.Keyword
	}
	return rec.Header
}

func appendFields(b []byte, rec *Record, _ *times) []byte {
	if json := rec.FieldsJSON(); json != "" {
		return append(b, json...)
	}
	if fields := rec.Fields(); len(fields) > 0 {
		return AppendJSON(b, fields)
	}
	return b
}

// keepFields keeps fields that are JSON still until their first use.
func keepFields(rec *Record, v *Value, _ *times) error {
	if v.typ == typeJSON {
		rec.fields, rec.attributes, rec.isPlain = nil, v.str, true
	} else {
		rec.fields, rec.attributes = v.list, ""
	}
	return nil
}

// ofProcess returns a member of the process that wrote the record. A parser sets that of a record with a process.
func ofProcess(name, doc string, at func(*Process) *string) *member[Record] {
	return str(name, doc, func(rec *Record) *string {
		if rec.Process == nil {
			return at(&noProcess)
		}
		return at(rec.Process)
	})
}

var noProcess Process

var pointMembers = []*member[Point]{
	named("type", "", pointNames[:], 0, func(p *Point) *PointType { return &p.Type }),
	str("unit", "", func(p *Point) *string { return &p.Unit }),
	named("temporality", "", temporalityNames[:], 1, func(p *Point) *Temporality { return &p.Temporality }),
	truth("monotonic", "", func(p *Point) *bool { return &p.Monotonic }),
	moment("start_time", "", func(p *Point) *time.Time { return &p.StartTime }),
	numeric("value", func(p *Point) *Value { return &p.Value }),
	counter("count", func(p *Point) *uint64 { return &p.Count }),
	numeric("sum", func(p *Point) *Value { return &p.Sum }),
	numeric("min", func(p *Point) *Value { return &p.Min }),
	numeric("max", func(p *Point) *Value { return &p.Max }),
	array("bounds", "", floats, func(p *Point) *[]float64 { return &p.Bounds }),
	array("bucket_counts", "", counts, func(p *Point) *[]uint64 { return &p.BucketCounts }),
	exponential(always(integer("scale", "", func(p *Point) *int32 { return &p.Scale }))),
	exponential(counter("zero_count", func(p *Point) *uint64 { return &p.ZeroCount })),
	exponential(fraction("zero_threshold", func(p *Point) *float64 { return &p.ZeroThreshold })),
	exponential(object("positive", "", bucketMembers,
		func(p *Point) *Buckets { return p.Positive.ifAny() }, func(p *Point) *Buckets { return &p.Positive })),
	exponential(object("negative", "", bucketMembers,
		func(p *Point) *Buckets { return p.Negative.ifAny() }, func(p *Point) *Buckets { return &p.Negative })),
	array("quantiles", "", quantiles, func(p *Point) *[]Quantile { return &p.Quantiles }),
	list("filtered_attributes", "", func(p *Point) *[]Field { return &p.FilteredAttributes }),
	value("request", "bytes", "",
		func(p *Point) Value {
			if len(p.Request) == 0 {
				return Value{}
			}
			return BytesValue(p.Request)
		},
		func(p *Point, v *Value) error { return setBytes(&p.Request, v) }),
}

// exponential leaves a member out of other points than exponential histograms.
func exponential(m *member[Point]) *member[Point] {
	put := m.put
	m.put = func(b []byte, p *Point, c *times) []byte {
		if p.Type != PointExponentialHistogram {
			return b
		}
		return put(b, p, c)
	}
	return m
}

// ifAny returns nil if there are no buckets.
func (s *Buckets) ifAny() *Buckets {
	if len(s.Counts) == 0 {
		return nil
	}
	return s
}

var bucketMembers = []*member[Buckets]{
	always(integer("offset", "", func(s *Buckets) *int32 { return &s.Offset })),
	array("counts", "", counts, func(s *Buckets) *[]uint64 { return &s.Counts }),
}

var quantileMembers = []*member[Quantile]{
	always(fraction("quantile", func(q *Quantile) *float64 { return &q.Quantile })),
	always(fraction("value", func(q *Quantile) *float64 { return &q.Value })),
}

var eventMembers = []*member[NestedEvent]{
	str("name", "", func(e *NestedEvent) *string { return &e.Name }),
	moment("timestamp", "", func(e *NestedEvent) *time.Time { return &e.Time }),
	integer("dropped_attributes", "", func(e *NestedEvent) *uint32 { return &e.DroppedAttributes }),
	list("fields", "", func(e *NestedEvent) *[]Field { return &e.Attributes }),
}

var linkMembers = []*member[NestedLink]{
	identifier("trace_id", "", func(l *NestedLink) []byte { return l.TraceID[:] }),
	identifier("span_id", "", func(l *NestedLink) []byte { return l.SpanID[:] }),
	integer("trace_flags", "", func(l *NestedLink) *uint8 { return &l.TraceFlags }),
	str("trace_state", "", func(l *NestedLink) *string { return &l.TraceState }),
	integer("dropped_attributes", "", func(l *NestedLink) *uint32 { return &l.DroppedAttributes }),
	list("fields", "", func(l *NestedLink) *[]Field { return &l.Attributes }),
}

var headerMembers = []*member[Header]{
	str("name", "", func(h *Header) *string { return &h.Name }),
	integer("id", "", func(h *Header) *uint16 { return &h.ID }),
	integer("version", "", func(h *Header) *uint8 { return &h.Version }),
	integer("tag", "", func(h *Header) *uint16 { return &h.Tag }),
	integer("opcode", "", func(h *Header) *uint8 { return &h.Opcode }),
	integer("level", "", func(h *Header) *uint8 { return &h.Level }),
	identifier("activity_id", "", func(h *Header) []byte { return h.ActivityID[:] }),
	identifier("related_activity_id", "", func(h *Header) []byte { return h.RelatedID[:] }),
}

// listedMembers are the members of a record, memberOf has those of its data point, too.
var listedMembers, memberOf = func() (list []*Member, byName map[string]*Member) {
	byName = map[string]*Member{}
	for i, m := range recordMembers {
		list = append(list, &Member{m.name, m.kind, m.doc, m, i})
		byName[m.name] = list[i]
	}
	for _, m := range pointMembers {
		name := "metric." + m.name
		byName[name] = &Member{name, m.kind, m.doc, value(name, m.kind, m.doc, func(rec *Record) Value {
			if rec.Point == nil {
				return Value{}
			}
			return m.value(rec.Point)
		}, told), len(recordMembers)}
	}
	return list, byName
}()

// part is a part that many records lack. The encoder then skips all members of the part at once. 0 is none.
type part uint8

const (
	spanPart   part = 1 << iota // of spans, and of their events and links
	tracePart                   // ids
	originPart                  // resource and scope
	rarePart                    // everything else that most records lack

	allParts = 1<<iota - 1
)

// partsOf returns the parts of a record. It looks at most fields of each record: adding up numbers and lengths takes one instruction for a
// field, a comparison two.
func partsOf(rec *Record) (p part) {
	if rec.Kind == KindSpan || rec.ParentSpanID != [8]byte{} || rec.LinkedTraceID != [16]byte{} || rec.LinkedSpanID != [8]byte{} ||
		uint32(rec.SpanKind)|uint32(rec.Status)|rec.EventCount|rec.LinkCount|rec.DroppedEvents|rec.DroppedLinks != 0 || rec.Duration != 0 ||
		rec.ParentRemote || len(rec.TraceState)|len(rec.StatusMessage)|len(rec.NestedEvents)|len(rec.NestedLinks) != 0 {
		p |= spanPart
	}
	if rec.TraceID != [16]byte{} || rec.SpanID != [8]byte{} || rec.HasTraceFlags {
		p |= tracePart
	}
	if len(rec.ServiceName)|len(rec.ScopeName)|len(rec.ScopeVersion)|len(rec.ScopeSchemaURL)|len(rec.Resource)|len(rec.ScopeAttributes) != 0 {
		p |= originPart
	}
	if len(rec.EventName)|len(rec.Callchain)|int(rec.DroppedAttributes)|rec.Truncated != 0 || rec.CgroupID != 0 || rec.Duplicate ||
		rec.Undecodable || rec.Point != nil || rec.Header != nil || !rec.Observed.IsZero() || rec.hasOtherBody() {
		p |= rarePart
	}
	return p
}
