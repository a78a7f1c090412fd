package component

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// table has the fields of two events.
var table = []payload.Field{payload.TraceID, {Name: "u8", Type: payload.U8}, {Name: "u32", Type: payload.U32}, {Name: "u64", Type: payload.U64}, payload.TextField("text"), attrs.ScopeName, payload.Truncated}

// TestRecord: a record has the values of its event's fields, and is counted.
func TestRecord(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	c := Open("pkg", "app", Config{Options: eventset.Options{Provider: p, MaxPayload: 300}})
	all := c.RegisterTyped("all", payload.Subset(table, 0, 1, 2, 3, 4, 5, 6))
	few := c.RegisterTyped("few", payload.Subset(table, 3, 6))
	require.NoError(t, c.Err())
	tool, err := k.Attach(ueventstest.Ftrace, "app_all")
	require.NoError(t, err)
	for _, e := range []*Event{all, few} {
		var r Record
		e.Begin(&r)
		r.U64(3, 3)
		if e == all {
			r.U8(1, 1)
			r.U32(2, 2)
			r.ID(0, make([]byte, 16), true)
			r.Text(4, string(make([]byte, 300)))
			e.Origin.Put(&r.Builder, &instrumentation.Scope{Name: "scope"}, c.Resources.Describe(resource.Empty()))
		} else {
			r.Text(4, "") // which the event does not have
		}
		written, err := r.Write()
		require.NoError(t, err)
		assert.Equal(t, e == all, written, "the other event is disabled")
	}
	raw := tool.Records()
	require.Len(t, raw, 1)
	decoder, err := typed.NewDecoder(raw[0].Declaration, nil)
	require.NoError(t, err)
	record, err := decoder.Decode(raw[0].Payload)
	require.NoError(t, err)
	for name, want := range map[string]string{"u8": "1", "u32": "2", "u64": "3", "trace_id": "00000000000000000000000000000000", "scope_name": "scope", "truncated": "1"} {
		v, ok := record.Lookup(name)
		require.True(t, ok)
		assert.Equal(t, want, string(v.AppendTo(nil)), name)
	}
	assert.Equal(t, map[string]uevents.EventStats{"app_all": {Written: 1, Truncated: 1}, "app_few": {}}, c.Stats())
	require.NoError(t, c.Close())
}
