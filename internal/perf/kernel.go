package perf

import "github.com/userevents/userevents-go/internal/sys"

// kernel is the interface of a session to the operating system. Tests have their own.
type kernel interface {
	// online returns the CPUs that are online, in ascending order.
	online() ([]cpu, error)
	// files returns how many descriptors the process may still open.
	files() (free int, err error)
	// memory returns how many bytes the machine can allocate without writing to swap or ending a process.
	memory() (uint64, error)
	// open opens a disabled event on a CPU. The error wraps ENODEV if the CPU is offline.
	open(a sys.PerfAttr, cpu int) (event, error)
	// wait waits until a watched ring reaches its watermark, wake is called, or ms milliseconds have passed.
	wait(ms int) error
	wake() error
	// clocks returns CLOCK_MONOTONIC and the time since 1970, in nanoseconds.
	clocks() (mono, wall int64)
	// close releases the resources of open and wait. The caller closes all events first.
	close() error
}

// event is an open perf event.
type event interface {
	read() (sys.PerfCounts, error)
	enable(on bool) error
	setFilter(filter string) error
	// setOutput makes the event write into the ring of another event.
	setOutput(to event) error
	// mapRing gives the event a ring of size bytes. With overwrite, new records replace old ones; without, wait watches the ring.
	mapRing(size int, overwrite bool) (*ring, error)
	// close closes the event and unmaps its ring.
	close() error
}
