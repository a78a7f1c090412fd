package reader_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// FuzzTyped decodes any payload of any declaration.
func FuzzTyped(f *testing.F) {
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
		recordtest.CompareKept(t, decoder, payload)
	})
}

// FuzzHeader decodes any EventHeader event.
func FuzzHeader(f *testing.F) {
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
	want := recordtest.Describe(&first)
	assert.Equal(t, want, recordtest.Describe(&second), "what is behind a record counts")
	for _, reuse := range []bool{false, true} {
		var ev reader.Event
		o := &reader.DecodeOptions{Reuse: reuse}
		for range 2 {
			require.NoError(t, d.Decode(raw, &ev, o))
			assert.Equal(t, want, recordtest.Describe(&ev), "what was in the event before counts")
		}
		if len(raw) > 0 {
			_ = d.Decode(raw[:len(raw)-1], &ev, o)
			require.NoError(t, d.Decode(raw, &ev, o))
			assert.Equal(t, want, recordtest.Describe(&ev), "what was in the event before counts")
		}
		kept := ev
		if reuse {
			kept = *ev.Clone()
		}
		other := bytes.Clone(raw)
		copy(raw, bytes.Repeat([]byte{'#'}, len(raw)))
		_ = d.Decode(raw, &ev, o)
		assert.Equal(t, want, recordtest.Describe(&kept), "an event changes that does not use memory of the record again")
		raw = other
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
