package flight

import "github.com/userevents/userevents-go/internal/sys"

// monotonic returns the time of CLOCK_MONOTONIC in nanoseconds, as events have it.
func monotonic() uint64 {
	mono, _ := sys.Clocks()
	return uint64(mono)
}
