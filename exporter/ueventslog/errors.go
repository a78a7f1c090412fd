package ueventslog

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

// errorInterval is the least time between two errors that are reported. A kernel that refuses one
// record refuses many, and every one counts in Stats.
const errorInterval = 10 * time.Second

// reporter says which errors are reported. OpenTelemetry hands what it gets to the error
// handler of the program, which may well log them through the same pipeline: a failure
// that comes of reporting one is within the interval, so it is counted and goes no further.
type reporter struct {
	start      time.Time
	next       atomic.Int64 // when the next error may be reported, in nanoseconds since start
	suppressed atomic.Uint64
}

// report returns the error that the SDK is to hear of, or nil.
func (r *reporter) report(err error) error {
	if err == nil {
		return nil
	}
	now := time.Since(r.start)
	next := r.next.Load()
	if int64(now) < next || !r.next.CompareAndSwap(next, int64(now+errorInterval)) {
		r.suppressed.Add(1)
		return nil
	}
	if n := r.suppressed.Swap(0); n > 0 {
		return fmt.Errorf("ueventslog: %w (and %d more since the last report)", err, n)
	}
	return fmt.Errorf("ueventslog: %w", err)
}

// quiet returns nil for what is no failure: nobody listens any more.
func quiet(err error) error {
	if err == nil || errors.Is(err, uevents.ErrNotTraced) || errors.Is(err, uevents.ErrClosed) {
		return nil
	}
	return err
}
