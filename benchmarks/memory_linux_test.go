package benchmarks

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	tool "github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkMemory is the call while a tool reads the event from shared memory.
func BenchmarkMemory(b *testing.B) {
	b.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	for _, o := range owns {
		log, event := o.open(b, uniqueName(), five)
		memory(b, o.name, []string{event}, log)
	}
	for _, o := range ownSpanList {
		name := uniqueName()
		log := spanCall(o.open(b, name), spanScenarios[1])
		var patterns []string
		for _, suffix := range o.events {
			patterns = append(patterns, name+suffix)
		}
		memory(b, o.name, patterns, log)
	}
}

// memory runs a benchmark with a tool attached that has emptied its rings.
func memory(b *testing.B, name string, patterns []string, log func()) {
	p, err := tool.Open(os.Getpid())
	require.NoError(b, err)
	s, err := p.Attach(tool.Options{RingSize: 256 << 10, Patterns: patterns})
	require.NoError(b, err)
	for range 4096 { // so that all pages are mapped
		log()
	}
	require.NotEmpty(b, s.Read())
	run(b, name, call{log: log})
	require.NotEmpty(b, s.Read())
	require.NoError(b, s.Detach())
	require.NoError(b, p.Close())
}
