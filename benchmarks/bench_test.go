package benchmarks

import (
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// run measures a call. The first one is not counted: it fills pools and caches.
func run(b *testing.B, name string, call func()) {
	b.Run(name, func(b *testing.B) {
		call()
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			call()
		}
	})
}

var (
	word  atomic.Uint32
	count int
)

// BenchmarkFloor is what nothing can go below: the loop, and the load that a status check is.
func BenchmarkFloor(b *testing.B) {
	run(b, "empty", func() {})
	run(b, "load", func() {
		if word.Load() != 0 {
			count++
		}
	})
	null := devNull(b)
	payload := make([]byte, 180) // about what the record takes
	run(b, "write-null", func() { _, _ = null.Write(payload) })
}

// BenchmarkOff is the call while its level is off.
func BenchmarkOff(b *testing.B) {
	run(b, "slog-discard", slogCall(slog.DiscardHandler))
	for _, l := range loggers {
		run(b, l.name, l.call(io.Discard, false))
	}
}

// BenchmarkOn is the call while its level is on, to the null device.
func BenchmarkOn(b *testing.B) {
	null := devNull(b)
	for _, l := range loggers {
		run(b, l.name, l.call(null, true))
	}
}

func devNull(b *testing.B) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	b.Cleanup(func() { _ = f.Close() })
	return f
}
