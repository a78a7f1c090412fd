package jsonlines

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/reader"
)

// setter stores the value of an object's member in an event.
type setter func(ev *reader.Event, v reader.Value) error

func text(set func(ev *reader.Event, s string)) setter {
	return func(ev *reader.Event, v reader.Value) error {
		set(ev, v.Text())
		return nil
	}
}

func number(set func(ev *reader.Event, n int64)) setter {
	return func(ev *reader.Event, v reader.Value) error {
		set(ev, v.Int64())
		return nil
	}
}

func moment(set func(ev *reader.Event, t time.Time)) setter {
	return func(ev *reader.Event, v reader.Value) error {
		t, err := parseTime(v)
		set(ev, t)
		return err
	}
}

func id(of func(ev *reader.Event) []byte) setter {
	return func(ev *reader.Event, v reader.Value) error { return parseID(of(ev), v) }
}

func fields(set func(ev *reader.Event, list []reader.Field)) setter {
	return func(ev *reader.Event, v reader.Value) error {
		set(ev, v.Fields())
		return nil
	}
}

// named returns the setter of a number that JSON has as a name.
func named[T ~uint8](count T, name func(T) string, set func(ev *reader.Event, n T)) setter {
	return func(ev *reader.Event, v reader.Value) error {
		n, err := parseName(count, name, v)
		set(ev, n)
		return err
	}
}

func parseName[T ~uint8](count T, name func(T) string, v reader.Value) (T, error) {
	for n := range count {
		if name(n) == v.Text() {
			return n, nil
		}
	}
	return 0, fmt.Errorf("unknown: %s", v)
}

func parseTime(v reader.Value) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil {
		return time.Time{}, fmt.Errorf("no time: %s", v)
	}
	return t.UTC(), nil
}

func parseID(to []byte, v reader.Value) error {
	id, err := hex.DecodeString(v.Text())
	if err != nil || copy(to, id) != len(id) || len(id) != len(to) {
		return fmt.Errorf("no id of %d bytes: %s", len(to), v)
	}
	return nil
}

// members are the setters of an object's members, except those of the process.
var members = map[string]setter{
	"time":               moment(func(ev *reader.Event, t time.Time) { ev.Time = t }),
	"monotonic_ns":       number(func(ev *reader.Event, n int64) { ev.Monotonic = uint64(n) }),
	"system":             text(func(ev *reader.Event, s string) { ev.System = s }),
	"event":              text(func(ev *reader.Event, s string) { ev.Name = s }),
	"kind":               named(reader.KindMetric+1, reader.Kind.String, func(ev *reader.Event, k reader.Kind) { ev.Kind = k }),
	"severity_number":    setSeverity,
	"severity_text":      text(func(ev *reader.Event, s string) { ev.SeverityText = s }),
	"message":            setMessage,
	"body":               func(ev *reader.Event, v reader.Value) error { ev.Body = v; return nil },
	"event_name":         text(func(ev *reader.Event, s string) { ev.EventName = s }),
	"pid":                number(func(ev *reader.Event, n int64) { ev.PID = int32(n) }),
	"tid":                number(func(ev *reader.Event, n int64) { ev.TID = int32(n) }),
	"cpu":                number(func(ev *reader.Event, n int64) { ev.CPU = int(n) }),
	"cgroup_id":          number(func(ev *reader.Event, n int64) { ev.CgroupID = uint64(n) }),
	"trace_id":           id(func(ev *reader.Event) []byte { return ev.TraceID[:] }),
	"span_id":            id(func(ev *reader.Event) []byte { return ev.SpanID[:] }),
	"parent_span_id":     id(func(ev *reader.Event) []byte { return ev.ParentSpanID[:] }),
	"linked_trace_id":    id(func(ev *reader.Event) []byte { return ev.LinkedTraceID[:] }),
	"linked_span_id":     id(func(ev *reader.Event) []byte { return ev.LinkedSpanID[:] }),
	"trace_flags":        number(func(ev *reader.Event, n int64) { ev.TraceFlags = uint8(n) }),
	"trace_state":        text(func(ev *reader.Event, s string) { ev.TraceState = s }),
	"parent_remote":      func(ev *reader.Event, v reader.Value) error { ev.ParentRemote = v.Bool(); return nil },
	"span_kind":          named(reader.SpanKindConsumer+1, reader.SpanKind.String, func(ev *reader.Event, k reader.SpanKind) { ev.SpanKind = k }),
	"status":             named(reader.StatusError+1, reader.Status.String, func(ev *reader.Event, s reader.Status) { ev.Status = s }),
	"status_message":     text(func(ev *reader.Event, s string) { ev.StatusMessage = s }),
	"duration_ns":        number(func(ev *reader.Event, n int64) { ev.Duration = time.Duration(n) }),
	"event_count":        number(func(ev *reader.Event, n int64) { ev.EventCount = uint32(n) }),
	"link_count":         number(func(ev *reader.Event, n int64) { ev.LinkCount = uint32(n) }),
	"dropped_events":     number(func(ev *reader.Event, n int64) { ev.DroppedEvents = uint32(n) }),
	"dropped_links":      number(func(ev *reader.Event, n int64) { ev.DroppedLinks = uint32(n) }),
	"dropped_attributes": number(func(ev *reader.Event, n int64) { ev.DroppedAttributes = uint32(n) }),
	"truncated":          number(func(ev *reader.Event, n int64) { ev.Truncated = int(n) }),
	"duplicate":          func(ev *reader.Event, v reader.Value) error { ev.Duplicate = v.Bool(); return nil },
	"undecodable":        setUndecodable,
	"timestamp":          moment(func(ev *reader.Event, t time.Time) { ev.Timestamp = t }),
	"observed":           moment(func(ev *reader.Event, t time.Time) { ev.Observed = t }),
	"service":            text(func(ev *reader.Event, s string) { ev.ServiceName = s }),
	"scope":              text(func(ev *reader.Event, s string) { ev.ScopeName = s }),
	"scope_version":      text(func(ev *reader.Event, s string) { ev.ScopeVersion = s }),
	"scope_schema_url":   text(func(ev *reader.Event, s string) { ev.ScopeSchemaURL = s }),
	"scope_attributes":   fields(func(ev *reader.Event, list []reader.Field) { ev.ScopeAttributes = list }),
	"resource":           fields(func(ev *reader.Event, list []reader.Field) { ev.Resource = list }),
	"metric":             setPoint,
	"events":             setEvents,
	"links":              setLinks,
	"header":             setHeader,
	"callchain":          setCallchain,
	"fields":             fields(func(ev *reader.Event, list []reader.Field) { ev.Fields = list }),
}

// set sets an event from an object. It ignores unknown members: later versions may add some.
func (r *Reader) set(ev *reader.Event, v reader.Value) error {
	var p reader.Process
	known := false
	for _, f := range v.Fields() {
		switch f.Name {
		case "program":
			p.Comm = f.Value.Text()
		case "exe":
			p.Exe = f.Value.Text()
		case "cgroup":
			p.Cgroup = f.Value.Text()
		case "unit":
			p.Unit = f.Value.Text()
		case "container_id":
			p.ContainerID = f.Value.Text()
		case "pod_uid":
			p.PodUID = f.Value.Text()
		case "process_service":
			p.ServiceName = f.Value.Text()
		}
		if set := members[f.Name]; set != nil {
			if err := set(ev, f.Value); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			known = true
		}
	}
	if !known {
		return fmt.Errorf("no member is one of a record")
	}
	if ev.Kind == reader.KindMetric && ev.Point == nil {
		return fmt.Errorf("a metric without a point")
	}
	if p != (reader.Process{}) {
		p.PID = ev.PID
		ev.Process = r.processes[p]
		if ev.Process == nil {
			if len(r.processes) >= maxProcesses {
				clear(r.processes)
			}
			process := p
			ev.Process = &process
			r.processes[p] = ev.Process
		}
	}
	return nil
}

func setSeverity(ev *reader.Event, v reader.Value) error {
	n := v.Int64()
	if n < int64(reader.SeverityTrace) || n > int64(reader.SeverityFatal)+3 {
		return fmt.Errorf("not from 1 to 24: %s", v)
	}
	ev.Severity = reader.Severity(n)
	return nil
}

// setMessage sets the message. For a log record it is the body, too, unless a member with the typed body follows.
func setMessage(ev *reader.Event, v reader.Value) error {
	ev.Message = v.Text()
	if ev.Kind == reader.KindLog {
		ev.Body = v
	}
	return nil
}

// setUndecodable sets the bytes of a record that does not fit the format of its event.
func setUndecodable(ev *reader.Event, v reader.Value) (err error) {
	ev.Undecodable = true
	ev.Raw, err = base64.StdEncoding.DecodeString(v.Text())
	return err
}

func setEvents(ev *reader.Event, v reader.Value) error {
	for _, f := range v.Fields() {
		var e reader.NestedEvent
		for _, m := range f.Value.Fields() {
			var err error
			switch m.Name {
			case "name":
				e.Name = m.Value.Text()
			case "timestamp":
				e.Time, err = parseTime(m.Value)
			case "dropped_attributes":
				e.DroppedAttributes = uint32(m.Value.Uint64())
			case "fields":
				e.Attributes = m.Value.Fields()
			}
			if err != nil {
				return err
			}
		}
		ev.NestedEvents = append(ev.NestedEvents, e)
	}
	return nil
}

func setLinks(ev *reader.Event, v reader.Value) error {
	for _, f := range v.Fields() {
		var l reader.NestedLink
		for _, m := range f.Value.Fields() {
			var err error
			switch m.Name {
			case "trace_id":
				err = parseID(l.TraceID[:], m.Value)
			case "span_id":
				err = parseID(l.SpanID[:], m.Value)
			case "trace_flags":
				l.TraceFlags = uint8(m.Value.Uint64())
			case "trace_state":
				l.TraceState = m.Value.Text()
			case "dropped_attributes":
				l.DroppedAttributes = uint32(m.Value.Uint64())
			case "fields":
				l.Attributes = m.Value.Fields()
			}
			if err != nil {
				return err
			}
		}
		ev.NestedLinks = append(ev.NestedLinks, l)
	}
	return nil
}

// setHeader sets the header of an EventHeader event. The rest of it is in the name of the tracepoint, an earlier
// member.
func setHeader(ev *reader.Event, v reader.Value) error {
	h := &eventheader.Event{}
	if name, err := eventheader.ParseName(ev.Name); err == nil {
		h.Tracepoint = name
	}
	for _, m := range v.Fields() {
		var err error
		n := m.Value.Uint64()
		switch m.Name {
		case "name":
			h.Name = m.Value.Text()
		case "id":
			h.ID = uint16(n)
		case "version":
			h.Version = uint8(n)
		case "tag":
			h.Tag = uint16(n)
		case "opcode":
			h.Opcode = eventheader.Opcode(n)
		case "level":
			h.Level = eventheader.Level(n)
		case "activity_id":
			err = parseID(h.Activity[:], m.Value)
		case "related_activity_id":
			err = parseID(h.Related[:], m.Value)
		}
		if err != nil {
			return err
		}
	}
	ev.Header = h
	return nil
}

func setCallchain(ev *reader.Event, v reader.Value) error {
	for _, f := range v.Fields() {
		digits, ok := strings.CutPrefix(f.Value.Text(), "0x")
		address, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || !ok {
			return fmt.Errorf("no address: %s", f.Value)
		}
		ev.Callchain = append(ev.Callchain, address)
	}
	return nil
}
