package sys

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Pin makes the calling thread run on one CPU, the nth of those that it may run on, counted from 0 and again from the first one.
func Pin(n int) error {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	runtime.LockOSThread() // until the goroutine ends, and the thread with it
	cpu := -1
	for n %= all.Count(); n >= 0; n-- {
		for cpu++; !all.IsSet(cpu); cpu++ {
		}
	}
	one.Set(cpu)
	return unix.SchedSetaffinity(0, &one)
}
