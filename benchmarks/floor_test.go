package benchmarks

import (
	"os"
	"sync/atomic"
	"testing"
)

var (
	word  atomic.Uint32
	count int
)

// payload is about what the record takes with five attributes.
var payload [180]byte

// BenchmarkFloor is what nothing can go below: the loop, the load that a status check is, the
// cheapest system call, a write that does nothing.
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
