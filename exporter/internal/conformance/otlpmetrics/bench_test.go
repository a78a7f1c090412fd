package otlpmetrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
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
	e, err := otlp.NewExporter(ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	_, err = k.Attach(ueventstest.Perf, otlp.EventName)
	require.NoError(t, err)
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), e.Stats()[otlp.EventName].Written)
}
