package benchmarks

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// TestMain lets a run of benchmarks begin with what the figures depend on, in the form of
// lines that tools for the format of Go's benchmarks understand, as keys and values. The test
// binary is also the child process of some of them.
func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(childMain(what))
	}
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		about(os.Stdout)
	}
	leakcheck.Main(m)
}

func about(w io.Writer) {
	kernel := runtime.GOOS
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = "Linux " + strings.TrimSpace(string(release))
	}
	fmt.Fprintf(w, "go: %s\nkernel: %s\nprocessors: %d\n", runtime.Version(), kernel, runtime.GOMAXPROCS(0))
	if err := unavailable(); err != nil {
		fmt.Fprintf(w, "user_events: this kernel has none, so no event is written (%v)\n", err)
	} else {
		fmt.Fprintln(w, "user_events: available")
	}
}

// call is a way to log the record, ready to be used.
type call struct {
	log func()
	// flush delivers what was logged and waits for it; nil if log does that itself. The figure is then the processor time of
	// the program, that of the goroutine which delivers included: it runs beside the caller where there are two processors,
	// and waits for a collector.
	flush func()
	// prepare is called before each batch, and does not belong to the figure; nil if log needs nothing.
	prepare func()
	// collector is the process to which flush delivers, if its processor time belongs to the figure.
	collector *collector
}

// deliver delivers what was logged.
func (c call) deliver() {
	if c.flush != nil {
		c.flush()
	}
}

// cpu returns the processor time of the program, and of the collector if it counts.
func (c call) cpu(tb testing.TB) time.Duration {
	total, err := cpuTime(0)
	require.NoError(tb, err)
	if c.collector != nil {
		theirs, err := cpuTime(c.collector.pid)
		require.NoError(tb, err)
		total += theirs
	}
	return total
}

// batch is how many records those that collect may have at most: what the queues of
// OpenTelemetry's processors hold without dropping any.
const batch = 512

// stopGC lets the runtime collect no garbage, unless there is much of it, until resume is called. Whether a short run falls into a
// collection depends on what ran before.
func stopGC() (resume func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(256<<20)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// run measures a call, without the work of the garbage collector. The first call is not counted: it fills pools and caches.
func run(b *testing.B, name string, c call) {
	b.Run(name, func(b *testing.B) {
		resume := stopGC()
		defer func() {
			b.StopTimer()
			resume()
		}()
		b.ReportAllocs()
		c.log()
		if c.flush != nil {
			c.flush()
			if c.collector != nil {
				c.collector.ask(b) // collects its garbage, as testing does here
			}
			before := c.cpu(b)
			b.ResetTimer()
			for i := range b.N {
				c.log()
				if i%batch == batch-1 {
					c.flush()
				}
			}
			c.flush()
			b.ReportMetric(float64(c.cpu(b)-before)/float64(b.N), "ns/op")
			return
		}
		b.ResetTimer()
		if c.prepare == nil {
			for range b.N {
				c.log()
			}
			return
		}
		for left := b.N; left > 0; left -= batch {
			b.StopTimer()
			c.prepare()
			b.StartTimer()
			for range min(left, batch) {
				c.log()
			}
		}
	})
}

func devNull(tb testing.TB) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}
