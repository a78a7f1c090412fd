package testscale

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience guards a test against hanging. No test may fail because a machine is slow, so that no test has a shorter limit.
const Patience = 5 * time.Minute

// Deadline returns the time at which a test that starts to wait now fails.
func Deadline() time.Time { return time.Now().Add(Patience) }

// Eventually waits until a condition holds, and fails the test after Patience. The condition is checked on the caller's
// goroutine, so it may use package require.
func Eventually(tb testing.TB, condition func() bool, format string, args ...any) {
	tb.Helper()
	for end := Deadline(); !condition(); time.Sleep(time.Millisecond) { //nolint:forbidigo // the poll interval
		if time.Now().After(end) {
			tb.Fatalf(format, args...)
		}
	}
}

// Waits reports whether a goroutine that runs a function waits, in one of the states of a stack trace, such as "IO wait" or
// "sync.Mutex.Lock". The function is named as in a stack trace, up to its arguments: "(*Pipe).Read".
func Waits(function string, states ...string) bool {
	buf := make([]byte, 1<<18)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		// "goroutine 7 [IO wait, 2 minutes]:", and a line for each function.
		header, frames, _ := strings.Cut(stack, "\n")
		_, state, _ := strings.Cut(header, "[")
		if slices.Contains(states, state[:strings.IndexAny(state+"]", ",]")]) && strings.Contains(frames, function+"(") {
			return true
		}
	}
	return false
}
