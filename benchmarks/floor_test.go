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
