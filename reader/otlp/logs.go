package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// Names of attributes that the converter adds.
const (
	keyThread    = "thread.id"
	keyName      = "user_events.name"
	keyTruncated = "user_events.truncated"
	keyRaw       = "user_events.raw"
	keyPrefix    = "user_events."

	logSize = len(`{"timeUnixNano":"","observedTimeUnixNano":"","severityNumber":24,"severityText":"","body":{"stringValue":},"attributes":[],`+
		`"droppedAttributesCount":4294967295,"flags":255,"traceId":"","spanId":"","eventName":""},`) + 2*numberSize + 2*(16+8)
)

// logs are the log records since the last Take.
type logs struct {
	data    plog.Logs
	records int
	groups[plog.ResourceLogs, plog.ScopeLogs, plog.LogRecordSlice]
}

func (l *logs) reset() {
	data := plog.NewLogs()
	scope := func(r plog.ResourceLogs) plog.ScopeLogs { return r.ScopeLogs().AppendEmpty() }
	*l = logs{data: data, groups: newGroups(data.ResourceLogs().AppendEmpty, scope, plog.ScopeLogs.LogRecords)}
}

// appendLog adds an empty log record.
func (c *Converter) appendLog(o origin) plog.LogRecord {
	c.logs.records++
	c.logs.bytes += logSize
	c.stats.LogRecords++
	return c.logs.group(o).AppendEmpty()
}

// addLog adds a log record, or an event of KindOther.
func (c *Converter) addLog(ev *record.Record) {
	lr := c.appendLog(c.originOf(ev))
	c.describe(lr, ev)
	if ev.Undecodable {
		putMissing(lr.Attributes(), keyRaw, func(v pcommon.Value) {
			c.logs.bytes += c.set(v, record.BytesValue(ev.Raw), 0) + len(keyRaw) + memberSize
		})
	}
	name := ev.EventName
	if ev.Kind == record.KindLog {
		lr.SetTimestamp(timestamp(ev.Timestamp))
		if ev.Body.Type() == record.TypeNull && ev.Message != "" {
			c.logs.bytes += c.set(lr.Body(), record.StringValue(ev.Message), 0)
		} else {
			c.logs.bytes += c.set(lr.Body(), ev.Body, 0)
		}
	} else {
		lr.SetTimestamp(timestamp(ev.Time))
		if name == "" {
			name = ev.Name
		}
	}
	if lr.Timestamp() == 0 && ev.Observed.IsZero() {
		lr.SetTimestamp(timestamp(ev.Time))
	}
	name, nameSize := c.texts.keepName(name)
	severity, severitySize := c.texts.keepName(ev.SeverityText)
	lr.SetEventName(name)
	lr.SetSeverityNumber(plog.SeverityNumber(ev.Severity))
	lr.SetSeverityText(severity)
	c.logs.bytes += nameSize + severitySize
}

func (c *Converter) addStart(ev *record.Record) {
	lr := c.appendLog(c.originOf(ev))
	c.describe(lr, ev)
	lr.SetEventName("span.start")
	lr.SetTimestamp(timestampOr(ev.Timestamp, ev.Time))
	lr.SetSeverityNumber(plog.SeverityNumberInfo)
	lr.Body().SetStr(c.texts.keep(ev.Message))
	put := func(name, value string) {
		putMissing(lr.Attributes(), name, func(v pcommon.Value) { v.SetStr(value) })
		c.logs.bytes += len(name) + jsonSize(value) + memberSize
	}
	if ev.ParentSpanID != [8]byte{} {
		put("span.parent_id", hex.EncodeToString(ev.ParentSpanID[:]))
	}
	put("span.kind", ev.SpanKind.String())
	if ev.TraceState != "" {
		put("span.trace_state", c.texts.keep(ev.TraceState))
	}
	c.logs.bytes += jsonSize(ev.Message) + len("span.start")
}

func (c *Converter) describe(lr plog.LogRecord, ev *record.Record) {
	lr.SetObservedTimestamp(timestampOr(ev.Observed, ev.Time))
	lr.SetTraceID(ev.TraceID)
	lr.SetSpanID(ev.SpanID)
	lr.SetFlags(plog.LogRecordFlags(ev.TraceFlags))
	lr.SetDroppedAttributesCount(ev.DroppedAttributes)
	c.logs.bytes += c.putAttributes(lr.Attributes(), ev)
}

// putAttributes puts the attributes of a log record or a span, and returns their approximate size in JSON.
func (c *Converter) putAttributes(to pcommon.Map, ev *record.Record) (size int) {
	c.reserve(to, len(ev.Fields()))
	size = c.putAll(to, ev.Fields(), 0) + c.putOrigin(to, ev) + putTruncated(to, ev)
	if ev.Kind == record.KindOther && ev.Header != nil {
		size += c.putHeader(to, ev.Header)
	}
	return size
}

// reserve makes room for n attributes of a program, and for those of putOrigin.
func (c *Converter) reserve(to pcommon.Map, n int) {
	if n <= searchable { // putMany makes room itself
		to.EnsureCapacity(n + 2)
	}
}

// putTruncated puts the number of values that the program cut or dropped, and returns its approximate size.
func putTruncated(to pcommon.Map, ev *record.Record) (size int) {
	if ev.Truncated == 0 {
		return 0
	}
	putMissing(to, keyTruncated, func(v pcommon.Value) { v.SetInt(int64(ev.Truncated)) })
	return memberSize + len(keyTruncated) + numberSize
}

// putOrigin puts attributes for the origin of a record, and returns their approximate size.
func (c *Converter) putOrigin(to pcommon.Map, ev *record.Record) (size int) {
	if ev.TID != 0 && !c.o.OmitThread {
		putMissing(to, keyThread, func(v pcommon.Value) { v.SetInt(int64(ev.TID)) })
		size = memberSize + len(keyThread) + numberSize
	}
	if c.o.OmitName {
		return size
	}
	name, nameSize := c.texts.keepName(ev.Name)
	putMissing(to, keyName, func(v pcommon.Value) { v.SetStr(name) })
	return size + memberSize + len(keyName) + nameSize
}

// putHeader puts the values that only the header of an EventHeader event has.
func (c *Converter) putHeader(to pcommon.Map, h *record.Header) (size int) {
	put := func(name string, v record.Value) {
		name = keyPrefix + name
		putMissing(to, name, func(to pcommon.Value) { size += c.set(to, v, 0) + len(name) + memberSize })
	}
	number := func(name string, n uint64) {
		if n != 0 {
			put(name, record.Uint64Value(n))
		}
	}
	id := func(name string, id [16]byte) {
		if id != [16]byte{} {
			put(name, record.StringValue(eventheader.UUID(id).String()))
		}
	}
	if h.Provider != "" {
		put("provider", record.StringValue(h.Provider))
	}
	number("keyword", h.Keyword)
	number("opcode", uint64(h.Opcode))
	number("id", uint64(h.ID))
	number("version", uint64(h.Version))
	number("tag", uint64(h.Tag))
	id("activity_id", h.ActivityID)
	id("related_activity_id", h.RelatedID)
	return size
}

// Names of attributes in the raw mapping.
const (
	keyRawPID     = "linux.user_events.process.pid"
	keyRawThread  = "linux.user_events.thread.id"
	keyRawPayload = "linux.user_events.payload_base64"

	rawOwnSize = 2*(memberSize+numberSize) + len(keyRawPID+keyRawThread)

	// maxFlatNames limits the bytes of the names that flat makes for a record. A struct beyond the limit stays a map.
	maxFlatNames = 256 << 10
)

// addRaw adds a log record that has the fields of a plain event as they are.
func (c *Converter) addRaw(ev *record.Record) error {
	if ev.Kind != record.KindOther {
		return fmt.Errorf("%s of process %d: the raw mapping needs plain records, see record.Decoder.Plain: %w", ev.Name, ev.PID, fs.ErrInvalid)
	}
	lr := c.appendLog(c.originOf(ev))
	lr.SetTimestamp(timestamp(ev.Time))
	lr.SetObservedTimestamp(timestamp(ev.Time))
	name, nameSize := c.texts.keepName(ev.System + ":" + ev.Name)
	lr.SetEventName(name)
	to := lr.Attributes()
	c.names = 0
	c.flat = c.appendFlat(c.flat[:0], "", ev.Fields())
	c.reserve(to, len(c.flat))
	size := c.putAll(to, c.flat, 0) + nameSize + rawOwnSize
	clear(c.flat)
	if ev.Undecodable && len(ev.Raw) > tracepoint.CommonSize {
		payload := base64.StdEncoding.EncodeToString(ev.Raw[tracepoint.CommonSize:])
		putMissing(to, keyRawPayload, func(v pcommon.Value) { v.SetStr(payload) })
		size += len(payload) + len(keyRawPayload) + memberSize
	}
	if ev.PID != 0 {
		putMissing(to, keyRawPID, func(v pcommon.Value) { v.SetInt(int64(ev.PID)) })
	}
	if ev.TID != 0 {
		putMissing(to, keyRawThread, func(v pcommon.Value) { v.SetInt(int64(ev.TID)) })
	}
	c.logs.bytes += size
	return nil
}

// appendFlat appends fields with the members of structs in place of the structs, whose names come before theirs.
func (c *Converter) appendFlat(dst []record.Field, prefix string, fields []record.Field) []record.Field {
	for i := range fields {
		f := fields[i]
		if prefix != "" {
			f.Name = prefix + "." + f.Name
		}
		members := f.Value.Fields()
		names := len(members) * (len(f.Name) + 1)
		if f.Value.Type() != record.TypeMap || c.names+names > maxFlatNames {
			dst = append(dst, f)
			continue
		}
		c.names += names
		dst = c.appendFlat(dst, f.Name, members)
	}
	return dst
}
