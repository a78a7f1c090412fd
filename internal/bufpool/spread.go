package bufpool

import "unsafe"

// Spread returns a number whose upper bits tell the buffers of a process apart, by where they are in memory. The pool
// keeps a buffer for each CPU, and a goroutine that has a buffer of its own seldom changes the CPU: what is counted
// apart for each buffer is mostly counted apart for each CPU, which a Go program cannot ask for. Two buffers may have
// the same upper bits.
func Spread(b []byte) uint64 {
	// 2^64 divided by pi: of the usual factors it spreads neighbours in memory of all sizes that Go allocates best.
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) * 0x517CC1B727220A95
}
