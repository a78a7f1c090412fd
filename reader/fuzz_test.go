package reader_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// FuzzTyped decodes any payload of any declaration.
func FuzzTyped(f *testing.F) {
	for i := range usual {
		rec := newRig(f).writeUsual(i)
		f.Add(rec.Declaration.String(), rec.Payload)
	}
	for _, rec := range newRig(f).writeMetrics(onePointOfEach()) {
		f.Add(rec.Declaration.String(), rec.Payload)
	}
	f.Add(everyType.String(), everyTypePayload(f))
	for _, attributes := range keptAttributes {
		f.Add(keptDeclaration, keptPayload(f, attributes.severity, attributes.json))
	}
	f.Fuzz(func(t *testing.T, declaration string, payload []byte) {
		d, err := tracepoint.Parse(declaration)
		if err != nil || eventheader.IsDeclaration(d) {
			return
		}
		decoder, err := reader.NewDecoder("user_events", formatOf(d))
		require.NoError(t, err)
		decodeAny(t, decoder, payload)
		compareKept(t, decoder, payload)
	})
}

// compareKept compares an event whose attributes stay JSON with one whose attributes are parsed.
func compareKept(t *testing.T, d *reader.Decoder, payload []byte) (kept bool) {
	t.Helper()
	var ev, parsed reader.Event
	err := d.Decode(rawOf(payload), &parsed, nil)
	keptErr := d.Decode(rawOf(payload), &ev, &reader.DecodeOptions{Mode: reader.DecodeJSON})
	if err != nil {
		require.EqualError(t, keptErr, err.Error())
		require.Empty(t, ev.FieldsJSON)
		return false
	}
	require.NoError(t, keptErr)
	require.Empty(t, parsed.FieldsJSON)
	if kept = ev.FieldsJSON != ""; kept {
		require.Empty(t, ev.Fields)
		require.Equal(t, string(reader.AppendJSON(nil, parsed.Fields)), ev.FieldsJSON)
		ev.FieldsJSON, ev.Fields = "", parsed.Fields
	}
	require.Equal(t, describe(&parsed), describe(&ev))
	return kept
}

// FuzzHeader decodes any EventHeader event.
func FuzzHeader(f *testing.F) {
	for i := range usual {
		rec := newRig(f).writeUsual(i)
		f.Add(rec.Event, rec.Payload)
	}
	for _, c := range foreignHeaders {
		f.Add(c.tracepoint, unhex(f, c.payload))
	}
	for _, c := range schemaLogs {
		var s schema
		c.build(&s)
		f.Add(c.tracepoint, s.end(f))
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte) {
		format := formatOf(tracepoint.MustParse("x" + headerFields))
		format.Name = name
		decoder, err := reader.NewDecoder("user_events", format)
		require.NoError(t, err)
		decodeAny(t, decoder, payload)
	})
}

// decodeAny decodes a record twice, with different bytes behind it, and checks the results.
func decodeAny(t *testing.T, d *reader.Decoder, payload []byte) {
	raw := rawOf(payload)
	var first, second reader.Event
	err := d.Decode(raw, &first, nil)
	longer := append(bytes.Clone(raw), bytes.Repeat([]byte{0x41}, 64)...)[:len(raw)]
	again := d.Decode(longer, &second, nil)
	if err != nil {
		require.ErrorIs(t, err, reader.ErrMalformed)
		require.EqualError(t, again, err.Error())
		assert.Equal(t, reader.KindOther, first.Kind)
		assert.Empty(t, first.Fields)
		return
	}
	require.NoError(t, again, "what is behind a record counts")
	check(t, &first)
	want := describe(&first)
	assert.Equal(t, want, describe(&second), "what is behind a record counts")
	for _, reuse := range []bool{false, true} {
		var ev reader.Event
		o := &reader.DecodeOptions{Reuse: reuse}
		for range 2 {
			require.NoError(t, d.Decode(raw, &ev, o))
			assert.Equal(t, want, describe(&ev), "what was in the event before counts")
		}
		if len(raw) > 0 {
			_ = d.Decode(raw[:len(raw)-1], &ev, o)
			require.NoError(t, d.Decode(raw, &ev, o))
			assert.Equal(t, want, describe(&ev), "what was in the event before counts")
		}
		if reuse {
			clone := ev.Clone()
			for i := range raw {
				raw[i] = '#'
			}
			_ = d.Decode(raw, &ev, o)
			assert.Equal(t, want, describe(clone), "a clone changes")
		}
	}
}

// check checks the invariants of every event.
func check(t *testing.T, ev *reader.Event) {
	t.Helper()
	for _, fields := range [][]reader.Field{ev.Fields, ev.Resource, ev.ScopeAttributes} {
		require.True(t, json.Valid(reader.AppendJSON(nil, fields)))
	}
	require.GreaterOrEqual(t, ev.Severity, reader.Severity(0))
	require.LessOrEqual(t, ev.Severity, reader.SeverityFatal+3)
	require.LessOrEqual(t, ev.SpanKind, reader.SpanKindConsumer)
	require.LessOrEqual(t, ev.Status, reader.StatusError)
	require.Equal(t, ev.Kind == reader.KindMetric, ev.Point != nil)
	require.GreaterOrEqual(t, ev.Truncated, 0)
	if ev.Kind != reader.KindOther {
		names := make([]string, 0, len(ev.Fields))
		for _, f := range ev.Fields {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		require.Len(t, slices.Compact(names), len(ev.Fields), "names are unique")
	}
}

// describe returns all results of Decode as a text.
func describe(ev *reader.Event) string {
	b := fmt.Appendf(nil, "%s:%s %s %s %q %q %s %q\n", ev.System, ev.Name, ev.Kind, ev.Severity, ev.SeverityText, ev.Message, ev.Body, ev.EventName)
	b = fmt.Appendf(b, "%x %x %x %t %x %x %x %q\n", ev.TraceID, ev.SpanID, ev.ParentSpanID, ev.ParentRemote, ev.LinkedTraceID, ev.LinkedSpanID, ev.TraceFlags, ev.TraceState)
	b = fmt.Appendf(b, "%s %s %q %s %d %d\n", ev.SpanKind, ev.Status, ev.StatusMessage, ev.Duration, ev.EventCount, ev.LinkCount)
	b = fmt.Appendf(b, "%+v %+v\n", ev.NestedEvents, ev.NestedLinks)
	if ev.Point != nil {
		b = fmt.Appendf(b, "%+v\n", *ev.Point)
	}
	b = fmt.Appendf(b, "%q %s %q %q %q %s\n", ev.ServiceName, reader.AppendJSON(nil, ev.Resource), ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL, reader.AppendJSON(nil, ev.ScopeAttributes))
	b = fmt.Appendf(b, "%s %s %d %d %d %d %t\n", ev.Timestamp, ev.Observed, ev.Truncated, ev.DroppedAttributes, ev.DroppedEvents, ev.DroppedLinks, ev.Duplicate)
	if ev.Header != nil {
		h := ev.Header
		b = fmt.Appendf(b, "%d %d %d %d %x %d %v %v\n", h.ID, h.Version, h.Level, h.Tracepoint.Keyword, h.Tag, h.Opcode, h.Activity, h.Related)
	}
	return string(reader.AppendJSON(b, ev.Fields))
}
