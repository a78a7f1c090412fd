package ueventsmetric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestAllocations: an export does not allocate, disabled or enabled.
func TestAllocations(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	k := ueventstest.New(t, &ueventstest.Options{BufferSize: 1}) // whose tools keep no record, which takes no memory
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	tr, err := k.Attach(ueventstest.Perf, "app_metric_*")
	require.NoError(t, err)
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), tr.Lost())
}

// BenchmarkExport exports 100 points, disabled and to a tool on a simulated kernel.
func BenchmarkExport(b *testing.B) {
	for name, rm := range testmetrics.Series(100) {
		r := newRig(b)
		b.Run(name+"/disabled", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, r.Export(b.Context(), rm))
			}
		})
		tr := r.attach(b)
		b.Run(name+"/traced", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, r.Export(b.Context(), rm))
				tr.Records()
			}
		})
	}
}
