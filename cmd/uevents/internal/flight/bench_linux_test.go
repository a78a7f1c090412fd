package flight

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkWrite measures the overhead of a waiting recorder for the writing program: of a record that only goes into
// the rings, and of one that the trigger's filter also checks.
func BenchmarkWrite(b *testing.B) {
	kerneltest.Require(b)
	p, err := uevents.Open(nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.Close()) })
	for _, c := range []struct {
		name    string
		trigger *reader.Condition
	}{{"Kept", nil}, {"KeptWithTrigger", condition("duration_ns > 100ms")}} {
		b.Run(c.name, func(b *testing.B) {
			ev, err := p.Register(tracepoint.MustParse("flightbench s64 duration_ns; u64 seq"), nil)
			require.NoError(b, err)
			r, err := Arm(Options{Reader: reader.Options{Events: []string{"flightbench"}}, Trigger: c.trigger})
			require.NoError(b, err)
			rec := make([]byte, 20)
			written, err := ev.WriteRecord(rec)
			require.NoError(b, err)
			require.True(b, written)
			for b.Loop() {
				_, _ = ev.WriteRecord(rec) // the check before has succeeded
			}
			b.StopTimer()
			require.NoError(b, r.Close())
			require.NoError(b, ev.Close())
		})
	}
}
