// Package systest has system calls for tests: of processor time, of the processor that a thread runs on, of files that are read without
// waiting.
package systest

import (
	"fmt"
	"io/fs"
	"runtime"
	"time"

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

// ProcessTime returns the processor time that a process has taken, the kernel's work for it included. 0 is this process.
func ProcessTime(pid int) (time.Duration, error) {
	clock := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != 0 {
		clock = int32(^pid)<<3 | 2 // as clock_getcpuclockid(3) makes it
	}
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// OpenNonblocking opens a file for reading by [Read], which then never waits.
func OpenNonblocking(path string) (fd int, err error) {
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR:
		default:
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Read performs one read system call. It returns 0 when a descriptor of [OpenNonblocking] has nothing to read now.
func Read(fd int, b []byte) (int, error) {
	n, err := unix.Read(fd, b)
	if err == unix.EAGAIN {
		return 0, nil
	}
	return n, err
}
