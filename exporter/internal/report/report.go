// Package report limits the rate of errors that are passed to OpenTelemetry's error handler.
package report

import (
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

// interval is the minimum time between two reported errors. A kernel that rejects one record rejects many; Stats counts
// all of them.
const interval = 10 * time.Second

// Reporter decides which errors are reported. OpenTelemetry passes them to the program's error handler, which may log
// them through the same pipeline. If that fails, the new error is within the interval, and only counted.
type Reporter struct {
	name       string
	start      time.Time
	next       atomic.Int64 // when the next error may be reported, in nanoseconds since start
	suppressed atomic.Uint64
}

// New returns a Reporter that prefixes errors with the name of a package.
func New(name string) *Reporter { return &Reporter{name: name, start: time.Now()} }

// Report returns the error to return to the SDK, or nil within the interval.
func (r *Reporter) Report(err error) error {
	if err == nil {
		return nil
	}
	now := time.Since(r.start)
	next := r.next.Load()
	if int64(now) < next || !r.next.CompareAndSwap(next, int64(now+interval)) {
		r.suppressed.Add(1)
		return nil
	}
	if n := r.suppressed.Swap(0); n > 0 {
		err = fmt.Errorf("%w (and %d more since the last report)", err, n)
	}
	return r.Prefix(err)
}

// Handle passes an error to OpenTelemetry's handler, at most one in an interval. The compiler inlines the case of nil.
func (r *Reporter) Handle(err error) {
	if err != nil {
		r.handle(err)
	}
}

func (r *Reporter) handle(err error) {
	if err = r.Report(err); err != nil {
		otel.Handle(err)
	}
}

// Prefix prefixes an error with the package's name.
func (r *Reporter) Prefix(err error) error { return fmt.Errorf("%s: %w", r.name, err) }
