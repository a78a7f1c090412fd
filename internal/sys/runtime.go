package sys

import _ "unsafe" // for linkname

// PinProcessor keeps the goroutine on its processor, whose number is below GOMAXPROCS, until UnpinProcessor: no other goroutine comes between.
// The code
// between the two calls must be short, and must not block, allocate or panic.
//
//go:linkname PinProcessor runtime.procPin
func PinProcessor() int

// UnpinProcessor ends PinProcessor.
//
//go:linkname UnpinProcessor runtime.procUnpin
func UnpinProcessor()

// Nanotime is CLOCK_MONOTONIC in nanoseconds, also in a bubble of testing/synctest.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64
