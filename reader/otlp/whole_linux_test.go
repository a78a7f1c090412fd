package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/uevents"
)

// TestSpansArriveWholeKernel: spans with an event and a link each arrive whole, though two threads write their
// records in turn, each on a CPU of its own.
func TestSpansArriveWholeKernel(t *testing.T) {
	dir := kerneltest.Require(t)
	n := 1_000
	if testing.Short() {
		n = 200
	}
	samples := recordtest.Samples(t, func(t testing.TB, p *uevents.Provider) func() {
		x, err := ueventstrace.NewExporter("whole", ueventstrace.WithProvider(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
		return func() { require.NoError(t, x.ExportSpans(context.Background(), wholeSpans(n))) }
	})
	require.Equal(t, 3*n, len(samples))

	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	events := map[string]*uevents.Event{}
	for _, s := range samples[:3] {
		events[s.Event], err = p.Register(s.Declaration, nil)
		require.NoError(t, err)
	}
	r, err := reader.Open(&reader.Options{Tracefs: dir.Path(), Selection: reader.Selection{Events: []string{"whole"}}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })

	var next, read atomic.Int64 // numbers of records that are written, and read
	var writers sync.WaitGroup
	for thread := range int64(2) {
		writers.Go(func() {
			if !assert.NoError(t, systest.Pin(int(thread))) {
				next.Store(int64(len(samples)))
			}
			for i := next.Load(); i < int64(len(samples)); i = next.Load() {
				if i%2 != thread || i-read.Load() > 600 { // a ring has room for these
					runtime.Gosched()
					continue
				}
				s := &samples[i]
				logged := append(make([]byte, uevents.IndexSize), s.Payload()...)
				if written, err := events[s.Event].WriteRecord(logged); !assert.NoError(t, err) || !assert.True(t, written) {
					break
				}
				next.Add(1)
			}
			next.Store(int64(len(samples)))
		})
	}
	go func() {
		writers.Wait()
		assert.NoError(t, r.Stop())
	}()

	c := NewConverter(nil)
	cpus := map[[8]byte]int{} // of the first record of a span
	apart := map[[8]byte]bool{}
	r.SetDeadline(testscale.Deadline())
	for ev := (record.Record{}); ; {
		err := r.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, int32(os.Getpid()), ev.PID)
		read.Add(1)
		require.NoError(t, c.Add(&ev))
		if cpu, ok := cpus[ev.SpanID]; ok && cpu != ev.CPU {
			apart[ev.SpanID] = true
		}
		cpus[ev.SpanID] = ev.CPU
	}
	c.Flush()
	st, err := r.Stats()
	require.NoError(t, err)
	total := st.Total
	require.Zero(t, total.Lost)
	require.EqualValues(t, len(samples), total.Matched)
	t.Logf("records of %d of %d spans are from several CPUs, %d of %d records were read late", len(apart), n, st.Late, len(samples))
	if runtime.NumCPU() > 1 {
		assert.Len(t, apart, n)
	}
	assert.Equal(t, Stats{Spans: uint64(n)}, c.Stats())
	spans := c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	require.Equal(t, n, spans.Len())
	seen := map[[8]byte]bool{}
	for _, s := range spans.All() {
		checkWhole(t, s, 1, 1)
		seen[s.SpanID()] = true
	}
	assert.Len(t, seen, n)
}

// wholeSpans returns n spans like those of recordsOf, with one event and one link.
func wholeSpans(n int) []sdktrace.ReadOnlySpan {
	stubs := make(tracetest.SpanStubs, n)
	for i := range stubs {
		id, linked := spanID(i), spanID(1000*i)
		stubs[i] = tracetest.SpanStub{
			Name: fmt.Sprintf("span %d", i), SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: id}), StartTime: happened, EndTime: happened,
			Events: []sdktrace.Event{{Name: fmt.Sprintf("event 0 of %d", i), Time: happened}},
			Links:  []sdktrace.Link{{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: linked})}},
		}
	}
	return stubs.Snapshots()
}
