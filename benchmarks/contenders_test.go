package benchmarks

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// contender is a way to log, set up as its documentation recommends for production.
type contender struct {
	name      string
	scenarios []scenario
	// off is the disabled call: its level is disabled, or no tracing tool is attached. nil if it is that of another contender.
	off func(tb testing.TB, s scenario) call
	// on is the enabled call: the record is written to the null device, to a collector on this
	// machine, or to a tracing tool. nil if this machine cannot do that.
	on func(tb testing.TB, s scenario) call
}

// disabled is the disabled call, after which there is nothing to deliver.
func (c contender) disabled(tb testing.TB, s scenario) call {
	return call{log: c.off(tb, s).log}
}

// contenders returns all that run on this machine.
func contenders() []contender {
	list := make([]contender, 0, len(loggers))
	for _, l := range loggers {
		list = append(list, contender{
			name: l.name, scenarios: scenarios,
			off: func(tb testing.TB, s scenario) call { return l.open(tb, io.Discard, s, false) },
			on:  func(tb testing.TB, s scenario) call { return l.open(tb, devNull(tb), s, true) },
		})
	}
	return slices.Concat(list, collected, ownContenders())
}

// BenchmarkOff is the disabled call.
func BenchmarkOff(b *testing.B) {
	for _, s := range scenarios {
		run(b, "slog-discard/"+s.name, call{log: slogCall(slog.DiscardHandler, s)})
	}
	for _, c := range contenders() {
		for _, s := range c.scenarios {
			if c.off != nil {
				run(b, c.name+"/"+s.name, c.disabled(b, s))
			}
		}
	}
}

// BenchmarkOn is the enabled call.
func BenchmarkOn(b *testing.B) {
	for _, c := range contenders() {
		for _, s := range c.scenarios {
			if c.on != nil {
				run(b, c.name+"/"+s.name, c.on(b, s))
			}
		}
	}
}

var (
	word  atomic.Uint32
	count int
)

// payload has about the size of the record with five attributes.
var payload [180]byte

// BenchmarkFloor has the least costs: of the loop, of a load with a test and a branch, of the
// cheapest system call, of a write that does nothing.
func BenchmarkFloor(b *testing.B) {
	run(b, "empty", call{log: func() {}})
	run(b, "load", call{log: func() {
		if word.Load() != 0 {
			count++
		}
	}})
	run(b, "getppid", call{log: func() { os.Getppid() }})
	null := devNull(b)
	run(b, "write-null", call{log: func() { _, _ = null.Write(payload[:]) }})
}

// BenchmarkParallel is the call with five attributes from several goroutines at once: the time
// that passes for each call of any of them.
func BenchmarkParallel(b *testing.B) {
	for _, c := range contenders() {
		if c.off != nil {
			parallel(b, "off/"+c.name, c.disabled(b, five))
		}
		if c.on != nil {
			parallel(b, "on/"+c.name, c.on(b, five))
		}
	}
}

func parallel(b *testing.B, name string, c call) {
	if c.flush != nil {
		return // it would measure its queue
	}
	for _, goroutines := range []int{1, 2, 8, 64} {
		b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) {
			c.log()
			b.ResetTimer()
			var wg sync.WaitGroup
			for g := range goroutines {
				calls := b.N / goroutines
				if g < b.N%goroutines {
					calls++
				}
				wg.Go(func() {
					for range calls {
						c.log()
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkRequest is the logger of a request: bound to three attributes and used once, while its level is disabled (off) and enabled
// (on), and bound to an error while its level is disabled (error). slog.JSONHandler writes to io.Discard: no system call is in its figures.
func BenchmarkRequest(b *testing.B) {
	run(b, "slog-discard/error", call{log: slogCall(slog.DiscardHandler, failed)})
	run(b, "slog-discard/off", call{log: slogCall(slog.DiscardHandler, request)})
	off, on := slog.NewJSONHandler(io.Discard, slogOptions(false)), slog.NewJSONHandler(io.Discard, slogOptions(true))
	run(b, "slog-json/error", call{log: slogCall(off, failed)})
	run(b, "slog-json/off", call{log: slogCall(off, request)})
	run(b, "slog-json/on", call{log: slogCall(on, request)})
	ownRequests(b)
}

// TestRequestJSON: the record is whole, and not written while its level is disabled.
func TestRequestJSON(t *testing.T) {
	var out bytes.Buffer
	slogCall(slog.NewJSONHandler(&out, slogOptions(false)), request)()
	assert.Empty(t, out.String())
	slogCall(slog.NewJSONHandler(&out, slogOptions(true)), request)()
	for _, part := range request.parts() {
		assert.Contains(t, out.String(), part)
	}
}
