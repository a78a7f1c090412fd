package events

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestReservedNames: the table of reserved names has the typed events of all adapters for OpenTelemetry, and no others.
// Names of tracepoints for EventHeader are reserved for all adapters.
func TestReservedNames(t *testing.T) {
	registered := map[string]bool{}
	for _, a := range adapters {
		pkg, typed := a.pkg, a.encoding == "typed"
		if !typed {
			pkg = "eventheader"
		} else if pkg == "sloghandler" {
			continue
		}
		t.Run(a.pkg+" "+a.encoding, func(t *testing.T) {
			k := ueventstest.New(t, nil)
			p := k.Provider()
			t.Cleanup(func() { assert.NoError(t, p.Close()) })
			a.open(t, p)
			require.NotEmpty(t, k.Events())
			for _, e := range k.Events() {
				suffix := strings.TrimPrefix(e.Declaration.Name, program+"_")
				registered[suffix] = typed
				err := eventset.CheckSuffix(suffix)
				require.ErrorIs(t, err, tracepoint.ErrInvalid, suffix)
				assert.ErrorContains(t, err, "package "+pkg+" has events whose names end in _"+suffix+": give the declaration another name")
			}
		})
	}
	for suffix := range eventset.ReservedNames {
		assert.True(t, registered[suffix], "no adapter registers %s", suffix)
	}
	for _, free := range []string{"", "log", "logs", "http_request", "spans", "metric_", "info", "L4", "LK", "L4K2x", "l4k1", "http_L4K1"} {
		assert.NoError(t, eventset.CheckSuffix(free), free)
	}
}
