package ueventslog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/truncationotel"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestTruncation: a record that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for name, encoding := range map[string]ueventslog.Option{"typed": nil, "common schema": ueventslog.WithCommonSchema4()} {
		for _, limit := range []int{4064, 1024} {
			rig, tr := traced(t, encoding, ueventslog.WithMaxPayload(limit))
			provider := rig.newProvider(sdklog.WithAttributeCountLimit(-1), sdklog.WithAttributeValueLengthLimit(-1))
			for _, c := range truncationtest.Cases() {
				t.Run(fmt.Sprintf("%s/%s/%d", name, c.Name, limit), func(t *testing.T) {
					logger := provider.Logger("my/package", log.WithInstrumentationAttributes(truncationotel.KeyValues(c.Bound)...))
					logger.Emit(inSpan(t.Context()), record(log.SeverityInfo, c.Message, truncationotel.KeyValues(c.Attrs)...))
					records := tr.Records()
					require.Len(t, records, 1)
					got, err := truncationotel.Decode(records[0], "body")
					require.NoError(t, err)
					assert.NoError(t, c.Check(limit, got))
				})
			}
		}
	}
}
