package ueventslog_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestCommonSchemaFields: every field says what the SDK hands to an exporter in memory, also if the SDK has no part in
// it.
func TestCommonSchemaFields(t *testing.T) {
	for name, fill := range records {
		t.Run(name, func(t *testing.T) {
			rig, tool := commonSchema(t)
			var r log.Record
			fill(&r)
			rig.logger().Emit(inSpan(t.Context()), r)
			require.Len(t, rig.memory.records, 1)
			want := &rig.memory.records[0]
			assertSame := func() {
				events := tool.Records()
				require.Len(t, events, 1)
				assertSameCommonSchema(t, want, events[0].Event, events[0].Payload)
			}
			assertSame()

			require.NoError(t, rig.Shutdown(t.Context()))
			r.SetObservedTimestamp(want.ObservedTimestamp())
			own := rig.newOwn(t, ueventslog.WithCommonSchema4())
			own.Logger("my/package", log.WithInstrumentationVersion("v1.2.3")).Emit(inSpan(t.Context()), r)
			assertSame()
		})
	}
}

// assertSameCommonSchema compares all fields of an event with the record that the SDK made, whose resource is that of
// all tests.
func assertSameCommonSchema(t *testing.T, want *sdklog.Record, name string, payload []byte) {
	t.Helper()
	ev, err := eventheader.Decode(name, payload)
	require.NoError(t, err)
	got, err := truncationtest.Fields(ev)
	require.NoError(t, err)

	partA := map[string]any{"ext_cloud_role": "shop", "ext_cloud_roleInstance": "shop-7"}
	at := want.Timestamp()
	if at.IsZero() {
		at = want.ObservedTimestamp()
	}
	written, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["PartA"].(map[string]any)["time"]))
	require.NoError(t, err)
	assert.True(t, at.Equal(written), "%s is not %s", written, at)
	partA["time"] = got["PartA"].(map[string]any)["time"]
	if id := want.TraceID(); id.IsValid() {
		partA["ext_dt_traceId"] = id.String()
	}
	if id := want.SpanID(); id.IsValid() {
		partA["ext_dt_spanId"] = id.String()
	}
	if flags := want.TraceFlags(); flags != 0 {
		partA["ext_dt_traceFlags"] = int(flags)
	}

	partB := map[string]any{"_typeName": "Log", "severityNumber": int16(min(want.Severity(), math.MaxInt32))}
	switch body := want.Body(); body.Type() {
	case attribute.EMPTY:
	case attribute.BOOL, attribute.INT64, attribute.FLOAT64:
		partB["body"] = body.AsInterface()
	default:
		partB["body"] = body.String()
	}
	if text := want.SeverityText(); text != "" {
		partB["severityText"] = text
	}
	if name := want.EventName(); name != "" {
		partB["name"] = name
	}

	scope := want.InstrumentationScope()
	partC := map[string]any{"otel.scope.name": scope.Name}
	if scope.Version != "" {
		partC["otel.scope.version"] = scope.Version
	}
	if n := want.DroppedAttributes(); n > 0 {
		partC["otel.dropped_attributes_count"] = n
	}
	want.WalkAttributes(func(kv attribute.KeyValue) bool {
		partC[string(kv.Key)] = commonSchemaValue(kv.Value)
		return true
	})
	expected := map[string]any{"__csver__": 0x400, "PartA": partA, "PartB": partB, "PartC": partC}
	assert.Equal(t, fmt.Sprint(expected), fmt.Sprint(got)) // as texts, since NaN equals nothing
}

// commonSchemaValue returns the value that a field has for an attribute.
func commonSchemaValue(v attribute.Value) any {
	switch v.Type() {
	case attribute.SLICE:
		return v.String()
	case attribute.MAP:
		m := map[string]any{}
		for _, kv := range v.AsMap() {
			m[string(kv.Key)] = commonSchemaValue(kv.Value)
		}
		return m
	case attribute.EMPTY:
		return nil
	default:
		return v.AsInterface()
	}
}
