package testscale

import (
	"testing"
	"time"
)

// Patience guards a test against hanging. No test may fail because a machine is slow, so that no test has a shorter limit.
const Patience = 5 * time.Minute

// Deadline returns the time at which a test that starts to wait now fails.
func Deadline() time.Time { return time.Now().Add(Patience) }

// Wait waits until a condition holds, and reports whether it does within Patience. It is for the programs that tests start;
// tests call Eventually.
func Wait(condition func() bool) bool {
	for end := Deadline(); !condition(); time.Sleep(time.Millisecond) { //nolint:forbidigo // the poll interval
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Eventually waits until a condition holds, and fails the test after Patience. The condition is checked on the caller's
// goroutine, so it may use package require.
func Eventually(tb testing.TB, condition func() bool, format string, args ...any) {
	tb.Helper()
	if !Wait(condition) {
		tb.Fatalf(format, args...)
	}
}
