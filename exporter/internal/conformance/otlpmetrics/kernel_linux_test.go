package otlpmetrics

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
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
	require.Zero(t, e.Stats()[otlp.EventName], "no tool is attached")

	decoder, err := typed.NewDecoder(declaration(t, fs), nil)
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
	assert.Equal(t, uint64(n), e.Stats()[otlp.EventName].Written)

	for _, records := range recorded {
		assert.Len(t, records, len(recorded[0]))
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

// TestKernelFields: each field of each kind of point, of what the SDK collected and of random data, arrives in the
// kernel's raw buffers.
func TestKernelFields(t *testing.T) {
	fs := kerneltest.Require(t)
	e := onKernel(t)
	instance := kerneltest.NewInstance(t, fs, 1024)
	instance.Attach(otlp.EventName)
	rm, err := testmetrics.Collected(t.Context())
	require.NoError(t, err)
	list := []*metricdata.ResourceMetrics{rm}
	for seed := range uint64(50) {
		list = append(list, testmetrics.Random(rand.New(rand.NewPCG(seed, 0))))
	}
	for i, rm := range list {
		require.NoError(t, e.Export(t.Context(), rm))
		var got []*requestOf
		for _, raw := range instance.Records() {
			got = append(got, request(t, ueventstest.Record{Declaration: declaration(t, fs), Payload: raw.Payload}))
		}
		if want := witness(t, rm); len(want.GetScopeMetrics()) > 0 {
			require.True(t, proto.Equal(want, merge(t, got)), i)
		} else {
			require.Empty(t, got)
		}
	}
}

// declaration returns the event's declaration as the kernel has it.
func declaration(t *testing.T, fs *tracefs.Dir) tracepoint.Declaration {
	format, err := fs.Event(otlp.EventName).Format()
	require.NoError(t, err)
	d, err := format.Declaration()
	require.NoError(t, err)
	return d
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
		testscale.Eventually(t, func() bool {
			err := fs.Remove(otlp.EventName)
			return err == nil || errors.Is(err, os.ErrNotExist) // an earlier user's event, which went by itself
		}, "the kernel does not remove the event")
	})
	onKernel(t)
	onKernel(t)
}
