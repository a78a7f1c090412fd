package benchmarks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
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

// The record that all contenders write: its first five attributes, and the other five of the
// largest one. Nearly all log calls have five at most.
const (
	message = "http request"

	method  = "GET"
	route   = "/users/{id}"
	status  = 200
	latency = 1500 * time.Microsecond
	cached  = false

	host    = "shop-7"
	size    = 5120
	attempt = 1
	load    = 0.25
	secure  = true

	// What a bound logger has in each of its records.
	service = "shop"
	shard   = 7
)

// What the logger of a request is bound to. Variables, since constants do not allocate when they become arguments.
var (
	requestID = "4bf92f3577b34da6"
	user      = "alice"
	tenant    = 4711
	errServe  = errors.New("connection reset by peer")
)

// scenario is what a log call carries.
type scenario struct {
	name  string
	attrs int  // 0, 5 or 10
	bound bool // the logger has two attributes of its own

	each bool // of spans only: the caller asks for the tracer of each span

	// Of slog's loggers only.
	request bool // binds a logger to three attributes, for this record
	failed  bool // binds a logger to an error, and writes no record
}

var (
	none      = scenario{name: "none"}
	five      = scenario{name: "five", attrs: 5}
	ten       = scenario{name: "ten", attrs: 10}
	bound     = scenario{name: "bound", attrs: 5, bound: true}
	scenarios = []scenario{none, five, ten, bound}

	request = scenario{name: "request", attrs: 5, request: true}
	failed  = scenario{name: "error", failed: true}
)

// parts are what the text of a record has to contain: keys and values.
func (s scenario) parts() []string {
	parts := []string{message}
	if s.attrs >= 5 {
		parts = append(parts, "method", method, "route", route, "status", "200", "latency", "cached", "false")
	}
	if s.attrs == 10 {
		parts = append(parts, "host", host, "size", "5120", "attempt", "load", "0.25", "secure", "true")
	}
	if s.bound {
		parts = append(parts, "service", service, "shard", "7")
	}
	if s.request {
		parts = append(parts, "request_id", requestID, "user", user, "tenant", "4711")
	}
	return parts
}

// slogCall makes the record with slog, in the form that allocates least.
func slogCall(h slog.Handler, s scenario) func() {
	if s.bound {
		h = h.WithAttrs([]slog.Attr{slog.String("service", service), slog.Int("shard", shard)})
	}
	logger, ctx := slog.New(h), context.Background()
	switch {
	case s.failed:
		return func() { logger.With("err", errServe) }
	case s.request:
		return func() {
			logger.With("request_id", requestID, "user", user, "tenant", tenant).LogAttrs(ctx, slog.LevelInfo, message,
				slog.String("method", method), slog.String("route", route), slog.Int("status", status),
				slog.Duration("latency", latency), slog.Bool("cached", cached))
		}
	case s.attrs == 0:
		return func() { logger.LogAttrs(ctx, slog.LevelInfo, message) }
	case s.attrs == 5:
		return func() {
			logger.LogAttrs(ctx, slog.LevelInfo, message,
				slog.String("method", method), slog.String("route", route), slog.Int("status", status),
				slog.Duration("latency", latency), slog.Bool("cached", cached))
		}
	}
	return func() {
		logger.LogAttrs(ctx, slog.LevelInfo, message,
			slog.String("method", method), slog.String("route", route), slog.Int("status", status),
			slog.Duration("latency", latency), slog.Bool("cached", cached),
			slog.String("host", host), slog.Int("size", size), slog.Int("attempt", attempt),
			slog.Float64("load", load), slog.Bool("secure", secure))
	}
}
