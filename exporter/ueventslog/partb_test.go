package ueventslog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/eventheader"
)

// TestPartBSurvives: attributes are dropped before what all records of the Common Schema have, under each limit.
func TestPartBSurvives(t *testing.T) {
	for limit := 350; limit < 1000; limit += 10 {
		rig, tr := traced(t, ueventslog.WithCommonSchema4(), ueventslog.WithMaxPayload(limit))
		provider := rig.newProvider(sdklog.WithAttributeCountLimit(-1))
		r := record(log.SeverityInfo, "message")
		for i := range 40 {
			r.AddAttributes(attribute.String(fmt.Sprint("k", i), strings.Repeat("x", 60)), attribute.Int(fmt.Sprint("n", i), i))
		}
		r.SetSeverityText("INFO")
		provider.Logger("scope").Emit(inSpan(t.Context()), r)
		records := tr.Records()
		require.Len(t, records, 1)
		ev, err := eventheader.Decode(records[0].Declaration.Name, records[0].Payload)
		require.NoError(t, err)
		fields, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		for _, want := range []string{`"_typeName":"Log"`, `"body":"message"`, `"severityText":"INFO"`, `"severityNumber":9`} {
			assert.Contains(t, string(fields), want, limit)
		}
	}
}
