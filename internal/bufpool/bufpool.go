// Package bufpool lends buffers for one event each, so that writing an event does not
// allocate.
package bufpool

import (
	"sync"
	"unsafe"
)

const (
	// newSize holds an ordinary event: most are well below 1 KiB. A larger one grows its buffer, which the pool keeps.
	newSize = 1 << 10
	// maxSize keeps the few large buffers that grew for large events from staying in memory
	// for ever (https://go.dev/issue/23199). It has room for the largest payload that any
	// tracer keeps.
	maxSize = 16 << 10
)

// Pointers, since a slice in an interface would allocate.
var pool = sync.Pool{New: func() any { b := make([]byte, 0, newSize); return &b }}

// Get returns an empty buffer. The caller owns it until [Put].
func Get() *[]byte { return pool.Get().(*[]byte) }

// Put gives a buffer back, which must not be used any more.
func Put(b *[]byte) {
	if cap(*b) > maxSize {
		return
	}
	*b = (*b)[:0]
	pool.Put(b)
}

// Spread returns a number whose upper bits tell the buffers of a process apart, by where they are in memory. The pool
// keeps a buffer for each CPU, and a goroutine that has a buffer of its own seldom changes the CPU: what is counted
// apart for each buffer is mostly counted apart for each CPU, which a Go program cannot ask for. Two buffers may have
// the same upper bits.
func Spread(b []byte) uint64 {
	// 2^64 divided by pi: of the usual factors it spreads neighbours in memory of all sizes that Go allocates best.
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) * 0x517CC1B727220A95
}
