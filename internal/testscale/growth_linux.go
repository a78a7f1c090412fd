package testscale

import (
	"math"
	"testing"
	"time"

	"github.com/userevents/userevents-go/internal/sys/systest"
)

// Linear fails a test if the cost of a function grows with the square of the amount. It compares the processor time of n with that of
// 32 n, the least of three means each: that grows 32 times, and the square 1024 times. prepare returns the function for an amount.
func Linear(tb testing.TB, n int, prepare func(n int) (run func())) {
	tb.Helper()
	least := func(n int) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			used, runs := time.Duration(0), time.Duration(0)
			for used < 50*time.Millisecond { // some kernels count it in ticks
				run := prepare(n)
				before, err := systest.ProcessTime(0)
				run()
				after, err2 := systest.ProcessTime(0)
				if err != nil || err2 != nil {
					tb.Fatal(err, err2)
				}
				used += after - before
				runs++
			}
			best = min(best, used/runs)
		}
		return best
	}
	if few, many := least(n), least(32*n); many > 256*few {
		tb.Errorf("the processor time of %d is %v, and of %d %v", n, few, 32*n, many)
	}
}
