// Package recordtest makes records of events for tests, on a simulated kernel.
package recordtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Program registers its events, and returns a function that writes records.
type Program func(t testing.TB, p *uevents.Provider) (write func())

// Sample is a record, with a decoder of its event.
type Sample struct {
	Event       string // name of the tracepoint
	Declaration tracepoint.Declaration
	Decoder     *record.Decoder
	Raw         []byte
}

// Payload returns what the program wrote.
func (s *Sample) Payload() []byte { return s.Raw[tracepoint.CommonSize:] }

// Kernel returns a simulated kernel, and a provider of it that is closed with the test.
func Kernel(t testing.TB) (*ueventstest.Kernel, *uevents.Provider) {
	t.Helper()
	kernel := ueventstest.New(t, nil)
	provider := kernel.Provider()
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	return kernel, provider
}

// Attach attaches a tool to events.
func Attach(t testing.TB, kernel *ueventstest.Kernel, kind ueventstest.Kind, events ...string) *ueventstest.Tool {
	t.Helper()
	tool, err := kernel.Attach(kind, events...)
	require.NoError(t, err)
	return tool
}

// Decode decodes the payload of a typed event.
func Decode(t testing.TB, d tracepoint.Declaration, payload []byte) typed.Record {
	t.Helper()
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	r, err := decoder.Decode(payload)
	require.NoError(t, err)
	return r
}

// RequireAccepted checks what the kernel checks when a payload is written
// (user_events_write_core and user_event_validate in kernel/trace/trace_events_user.c).
func RequireAccepted(t testing.TB, d tracepoint.Declaration, payload []byte) {
	t.Helper()
	require.GreaterOrEqual(t, len(payload), d.FixedSize(), "EINVAL")
	at := 0
	for _, f := range d.Fields {
		if f.Type.Location != tracepoint.Fixed {
			word := binary.NativeEndian.Uint32(payload[at:])
			end := int(word&0xFFFF) + int(word>>16)
			if f.Type.Location == tracepoint.RelLoc {
				end += at + 4
			} else {
				end -= tracepoint.CommonSize
			}
			require.LessOrEqual(t, end, len(payload), "EFAULT: field %s", f.Name)
			if f.Type.Kind == tracepoint.Char || f.Type.Kind == tracepoint.UChar {
				require.Positive(t, end, f.Name)
				require.Zero(t, payload[end-1], "EFAULT: field %s does not end in NUL", f.Name)
			}
		}
		at += f.Type.FixedSize()
	}
}

// Samples returns the records that a program writes on a simulated kernel, in their order.
func Samples(t testing.TB, run Program) (list []Sample) {
	t.Helper()
	kernel, provider := Kernel(t)
	write := run(t, provider)
	tool := Attach(t, kernel, ueventstest.Perf, "*")
	write()
	for _, rec := range tool.Records() {
		text, err := kernel.Format(rec.Event)
		require.NoError(t, err)
		format, err := tracepoint.ParseFormat(text)
		require.NoError(t, err)
		s := NewSample(t, tracepoint.System, format, rec.Payload)
		s.Declaration = rec.Declaration
		list = append(list, s)
	}
	return list
}

// NewSample returns a record of an event with a payload.
func NewSample(t testing.TB, system string, format tracepoint.Format, payload []byte) Sample {
	t.Helper()
	d, err := record.NewDecoder(system, format)
	require.NoError(t, err)
	return Sample{Event: format.Name, Decoder: d, Raw: append(make([]byte, tracepoint.CommonSize), payload...)}
}

// Equal reports whether values are the same. NaN equals NaN, and empty lists are equal.
func Equal(a, b record.Value) bool {
	if a.Type() == record.TypeFloat64 && b.Type() == record.TypeFloat64 {
		return math.Float64bits(a.Float64()) == math.Float64bits(b.Float64())
	}
	return a.Type() == b.Type() && a.Text() == b.Text() && string(a.Bytes()) == string(b.Bytes()) && a.Uint64() == b.Uint64() && a.Bool() == b.Bool() &&
		equalFields(a.Fields(), b.Fields())
}

func equalFields(a, b []record.Field) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !Equal(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

// AssertFields checks that fields are the same.
func AssertFields(t testing.TB, want, got []record.Field, context ...any) {
	t.Helper()
	if !equalFields(want, got) {
		assert.Fail(t, "fields differ", "want %s\n got %s\n%s", record.AppendJSON(nil, want), record.AppendJSON(nil, got), fmt.Sprint(context...))
	}
}

// CompareKept compares the JSON that a record has of its fields with the decoded fields, and reports whether it has one.
func CompareKept(t testing.TB, d *record.Decoder, payload []byte) bool {
	t.Helper()
	raw := append(make([]byte, tracepoint.CommonSize), payload...)
	var rec, decoded record.Record
	err := d.Decode(raw, &decoded)
	keptErr := d.DecodeReuse(raw, &rec)
	json := rec.FieldsJSON()
	if err != nil {
		require.EqualError(t, keptErr, err.Error())
		require.Empty(t, json)
		return false
	}
	require.NoError(t, keptErr)
	require.Empty(t, decoded.FieldsJSON())
	if json != "" {
		require.Equal(t, string(record.AppendJSON(nil, decoded.Fields())), json)
	}
	require.Equal(t, Describe(&decoded), Describe(&rec))
	return json != ""
}

// Describe returns all results of Decode as a text.
func Describe(ev *record.Record) string {
	b := fmt.Appendf(nil, "%s:%s %s %s %q %q %s %q\n", ev.System, ev.Name, ev.Kind, ev.Severity, ev.SeverityText, ev.Message, ev.Body, ev.EventName)
	b = fmt.Appendf(b, "%x %x %x %t %x %x %x %q\n", ev.TraceID, ev.SpanID, ev.ParentSpanID, ev.ParentRemote, ev.LinkedTraceID, ev.LinkedSpanID, ev.TraceFlags, ev.TraceState)
	b = fmt.Appendf(b, "%s %s %q %s %d %d\n", ev.SpanKind, ev.Status, ev.StatusMessage, ev.Duration, ev.EventCount, ev.LinkCount)
	b = fmt.Appendf(b, "%+v %+v\n", ev.NestedEvents, ev.NestedLinks)
	if ev.Point != nil {
		b = fmt.Appendf(b, "%+v\n", *ev.Point)
	}
	b = fmt.Appendf(b, "%q %s %q %q %q %s\n", ev.ServiceName, record.AppendJSON(nil, ev.Resource), ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL, record.AppendJSON(nil, ev.ScopeAttributes))
	b = fmt.Appendf(b, "%s %s %d %d %d %d %t\n", ev.Timestamp, ev.Observed, ev.Truncated, ev.DroppedAttributes, ev.DroppedEvents, ev.DroppedLinks, ev.Duplicate)
	if ev.Header != nil {
		h := ev.Header
		b = fmt.Appendf(b, "%d %d %d %d %x %d %v %v\n", h.ID, h.Version, h.Level, h.Keyword, h.Tag, h.Opcode, h.ActivityID, h.RelatedID)
	}
	return string(record.AppendJSON(b, ev.Fields()))
}
