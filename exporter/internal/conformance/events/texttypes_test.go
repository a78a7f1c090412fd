package events

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
)

// everyText has every type that becomes a text in a struct event.
type everyText struct {
	Text   string
	Bytes  []byte
	Raw    []byte `uevent:",text"`
	Trace  [16]byte
	UUID   [16]byte `uevent:",uuid"`
	Float  float64
	Addr   netip.Addr
	Peer   netip.AddrPort
	Net    netip.Prefix
	At     time.Time
	Number uint16
}

// TestTextsAreStrings: every text of every typed event is a field that all tracing tools read as one. Perfetto takes the location
// of __rel_loc for a number, and drops fixed arrays of char. (The event otlp_metrics has the format of another project.)
func TestTextsAreStrings(t *testing.T) {
	k, p := recordtest.Kernel(t)
	_, err := sloghandler.New("slog", &sloghandler.Options{
		Provider: p, AddSource: true,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[everyText]("declared", nil)},
	})
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("log", ueventslog.WithProvider(p), ueventslog.WithDeclarations(ueventslog.Declare[struct {
		Text  string
		Float float64
	}]("declared", nil)))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("trace", ueventstrace.WithProvider(p), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("metric", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	_, err = structevent.Define[everyText](p, "struct_event", nil)
	require.NoError(t, err)

	events := k.Events()
	require.Len(t, events, 5+5+5+10+1, "a new event must be registered here")
	for _, e := range events {
		texts := 0
		for _, f := range e.Declaration.Fields {
			assert.NotEqual(t, tracepoint.RelLoc, f.Type.Location, "%s of %s", f.Name, e.Declaration.Name)
			assert.Zero(t, f.Type.Len, "%s of %s is a fixed array", f.Name, e.Declaration.Name)
			if f.Type == tracepoint.Dynamic(tracepoint.Char) {
				texts++
			}
		}
		assert.Positive(t, texts, e.Declaration.Name)
	}
}
