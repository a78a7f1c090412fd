package otlpmetrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
)

// FuzzPack: however large names and points are, every event keeps the limit, every point is in
// one event or counted as failed, and what was not cut is as OpenTelemetry's own exporter has it.
func FuzzPack(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 0, 5}, 4064)
	f.Add([]byte{255, 255, 128, 127, 126, 1, 0, 0, 90, 255, 3}, 512)
	f.Fuzz(func(t *testing.T, sizes []byte, limit int) {
		limit = 512 + int(uint(limit)%3600)
		sizes = sizes[:min(len(sizes), 100)]
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		rm := series(0)
		metrics := &rm.ScopeMetrics[0].Metrics
		*metrics = nil
		for i, size := range sizes {
			if i == 0 || size%5 == 0 {
				*metrics = append(*metrics, metricdata.Metrics{
					Name: fmt.Sprintf("m%d%s", i, strings.Repeat("n", int(size))), Description: strings.Repeat("d", 2*int(size)), Data: metricdata.Gauge[int64]{},
				})
			}
			m := &(*metrics)[len(*metrics)-1]
			g := m.Data.(metricdata.Gauge[int64])
			set := attribute.NewSet(attribute.String("k", strings.Repeat("v", 4*int(size))))
			g.DataPoints = append(g.DataPoints, metricdata.DataPoint[int64]{Attributes: set, Time: end, Value: int64(i)})
			m.Data = g
		}
		err := r.Export(t.Context(), rm)
		stats := r.stats()
		require.Equal(t, stats.Refused > 0, err != nil, "%v", err)
		require.Equal(t, uint64(len(sizes)), stats.Written+stats.Refused)
		seen := 0
		for _, rec := range tr.Records() {
			require.LessOrEqual(t, len(rec.Payload), limit)
			for _, m := range request(t, rec).GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
				seen += len(m.GetGauge().GetDataPoints())
			}
		}
		require.Equal(t, stats.Written, uint64(seen))
		if stats.Truncated+stats.Refused == 0 && len(sizes) > 0 {
			require.True(t, proto.Equal(witness(t, rm), merge(t, all(t, r, rm))))
		}
	})
}
