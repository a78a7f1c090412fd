// Package report limits the rate of errors that OpenTelemetry's error handler gets.
package report

import (
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

// Interval is the shortest time between two errors that are reported. A kernel that refuses one
// record refuses many; Stats counts all.
const Interval = 10 * time.Second

// Reporter decides which errors are reported. OpenTelemetry gives them to the error
// handler of the program, which may log them through the same pipeline: a failure
// to log one is within the interval, so it is only counted.
type Reporter struct {
	name       string
	start      time.Time
	next       atomic.Int64 // when the next error may be reported, in nanoseconds since start
	suppressed atomic.Uint64
}

// New returns a Reporter that puts the name of a package before errors.
func New(name string) *Reporter { return &Reporter{name: name, start: time.Now()} }

// Report returns the error that the caller returns to the SDK, or nil.
func (r *Reporter) Report(err error) error {
	if err == nil {
		return nil
	}
	now := time.Since(r.start)
	next := r.next.Load()
	if int64(now) < next || !r.next.CompareAndSwap(next, int64(now+Interval)) {
		r.suppressed.Add(1)
		return nil
	}
	if n := r.suppressed.Swap(0); n > 0 {
		err = fmt.Errorf("%w (and %d more since the last report)", err, n)
	}
	return r.Prefix(err)
}

// Handle gives an error to OpenTelemetry's handler, at most one in an interval. The compiler inlines the case of nil.
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

// Prefix puts the package's name before an error.
func (r *Reporter) Prefix(err error) error { return fmt.Errorf("%s: %w", r.name, err) }
