package sys

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

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
