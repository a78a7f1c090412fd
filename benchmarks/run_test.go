package benchmarks

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// TestMain lets a run of benchmarks begin with what the figures depend on, in the form of
// lines that tools for the format of Go's benchmarks understand, as keys and values. The test
// binary is also the child process of the benchmark of attaching.
func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		os.Exit(childMain(name, os.Stdin, os.Stdout))
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
	// flush delivers what was logged and waits for it; nil if log does that itself.
	flush func()
}

// batch is how many records those that collect may have at most: what the queues of
// OpenTelemetry's processors hold without dropping any.
const batch = 512

// run measures a call. The first one is not counted: it fills pools and caches.
func run(b *testing.B, name string, c call) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		c.log()
		if c.flush != nil {
			c.flush()
			b.ResetTimer()
			for i := range b.N {
				c.log()
				if i%batch == batch-1 {
					c.flush()
				}
			}
			c.flush()
			return
		}
		b.ResetTimer()
		for range b.N {
			c.log()
		}
	})
}

func devNull(tb testing.TB) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}
