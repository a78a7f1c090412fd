package events

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The Collector that docs/operating.md configures knows no patterns: its list must have the names that the processors register.
func TestCollectorConfiguration(t *testing.T) {
	testscale.UsesCheckout()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "operating.md"))
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile(`tracepoint: (\w+), format: \{type: event_header\}`).FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}

	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	logs, err := ueventslog.NewProcessor("myapp", ueventslog.WithEventProvider(p), ueventslog.WithCommonSchema4())
	require.NoError(t, err)
	spans, err := ueventstrace.NewProcessor("myapp", ueventstrace.WithEventProvider(p), ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	var registered []string
	for _, e := range kernel.Events() {
		registered = append(registered, e.Name)
	}
	require.NoError(t, logs.Shutdown(t.Context()))
	require.NoError(t, spans.Shutdown(t.Context()))
	require.NoError(t, p.Close())

	slices.Sort(listed)
	slices.Sort(registered)
	assert.Equal(t, slices.Compact(registered), listed)
}
