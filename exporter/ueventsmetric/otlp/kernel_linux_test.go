package otlp_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// onKernel returns an exporter on the machine's kernel.
func onKernel(tb testing.TB) *otlp.Exporter {
	e, err := otlp.NewExporter()
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Shutdown(context.Background())) })
	return e
}

// TestKernel: ftrace and perf keep every event, and so every point, once.
func TestKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	e := onKernel(t)
	require.NoError(t, e.Export(t.Context(), series(10)))
	require.Zero(t, e.Stats(), "no tool is attached")

	format, err := fs.Event(otlp.EventName).Format()
	require.NoError(t, err)
	d, err := format.Declaration()
	require.NoError(t, err)
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)

	instance := kerneltest.NewInstance(t, fs, 1024)
	instance.Attach(otlp.EventName)
	perf := kerneltest.AttachPerf(t, fs, otlp.EventName)
	const n = 200
	require.NoError(t, e.Export(t.Context(), series(n)))
	recorded := [][]kerneltest.Record{instance.Records(), perf.Records()}
	instance.Detach()
	perf.Detach()
	require.NoError(t, e.Export(t.Context(), series(10)))
	stats := e.Stats()
	assert.Equal(t, uint64(n), stats.Points)

	for _, records := range recorded {
		assert.Len(t, records, int(stats.Events))
		seen := map[int64]int{}
		for _, raw := range records {
			record, err := decoder.Decode(raw.Payload)
			require.NoError(t, err)
			buffer, _ := record.Lookup("buffer")
			req := new(collectorpb.ExportMetricsServiceRequest)
			require.NoError(t, proto.Unmarshal(buffer.Bytes(), req))
			for _, p := range req.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetSum().GetDataPoints() {
				seen[p.GetAsInt()]++
			}
		}
		assert.Len(t, seen, n)
		for v, times := range seen {
			assert.Equal(t, 1, times, v)
		}
	}
}

// TestSharedEvent: the event may be there already, as exporters for other languages spell it.
func TestSharedEvent(t *testing.T) {
	fs := kerneltest.Require(t)
	const command = "otlp_metrics u32 protocol;char[8] version;__rel_loc u8[] buffer;"
	file, err := os.OpenFile(fs.Path("dynamic_events"), os.O_WRONLY, 0) // truncating it would remove all events
	require.NoError(t, err)
	_, err = file.WriteString("u:" + command)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	t.Cleanup(func() { // when the exporters are closed, which takes the kernel a moment
		var err error
		if !assert.Eventually(t, func() bool {
			err = fs.Remove(otlp.EventName)
			return err == nil || errors.Is(err, os.ErrNotExist) // an earlier user's event, which went by itself
		}, 5*time.Second, 20*time.Millisecond) {
			t.Log(err)
		}
	})
	onKernel(t)
	onKernel(t)
}

// BenchmarkKernel exports points, 100 with each call, on a machine's kernel, with and without ftrace attached. The
// figures are per point.
func BenchmarkKernel(b *testing.B) {
	fs := kerneltest.Require(b)
	e := onKernel(b)
	ctx := b.Context()
	for _, state := range []string{"disabled", "ftrace"} {
		for kind, rm := range benchmarked() {
			b.Run(state+"/"+kind, func(b *testing.B) {
				event := fs.Event(otlp.EventName)
				if state == "ftrace" {
					require.NoError(b, event.Enable())
					defer func() { require.NoError(b, event.Disable()) }()
				}
				require.NoError(b, e.Export(ctx, rm)) // which makes buffers
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += 100 {
					_ = e.Export(ctx, rm)
				}
				b.StopTimer()
			})
		}
	}
}
