package ueventstrace_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/truncationotel"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestTruncation: a span that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for event, encoding := range map[string]ueventstrace.Option{"app_span": nil, "app_L4K4": ueventstrace.WithCommonSchema4()} {
		for _, limit := range []int{4064, 1024} {
			rig := newRig(t, encoding, ueventstrace.WithMaxPayload(limit))
			rig.provider = rig.newProvider(sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeCountLimit: -1, AttributeValueLengthLimit: -1}))
			tr := rig.attach(t, event)
			for _, c := range truncationtest.Cases() {
				t.Run(fmt.Sprintf("%s/%s/%d", event, c.Name, limit), func(t *testing.T) {
					scope := trace.WithInstrumentationAttributes(truncationotel.KeyValues(c.Bound)...)
					_, s := rig.provider.Tracer("my/package", scope).Start(t.Context(), c.Message, trace.WithAttributes(truncationotel.KeyValues(c.Attrs)...))
					s.End()
					records := tr.Records()
					require.Len(t, records, 1)
					got, err := truncationotel.Decode(records[0], "name")
					require.NoError(t, err)
					assert.NoError(t, c.Check(limit, got))
				})
			}
		}
	}
}
