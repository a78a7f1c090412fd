package sys

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PerfRing is a perf event on one CPU with its ring buffer, which
// include/uapi/linux/perf_event.h describes. It is not safe for concurrent use.
type PerfRing struct {
	fd         int
	mem        []byte
	head, tail *atomic.Uint64
	data       []byte
	scratch    []byte
}

// OpenPerfTracepoint attaches to the tracepoint id for all processes on a CPU. Samples
// carry the time (CLOCK_MONOTONIC) and the raw record.
//
// A full ring loses records, unless overwrite lets new ones take the place of old ones; Read
// must not be called then. Its reader is then woken as seldom as perf record is.
func OpenPerfTracepoint(id uint64, cpu, pages int, overwrite bool) (*PerfRing, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_TRACEPOINT,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      id,
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
		Bits:        unix.PerfBitUseClockID,
		Wakeup:      1,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	prot := unix.PROT_READ | unix.PROT_WRITE
	if overwrite {
		prot = unix.PROT_READ
		attr.Bits |= unix.PerfBitWatermark
		attr.Wakeup = uint32(pages * os.Getpagesize() / 2)
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	mem, err := unix.Mmap(fd, 0, (pages+1)*os.Getpagesize(), prot, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("mmap", err), unix.Close(fd))
	}
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
	return &PerfRing{
		fd: fd, mem: mem,
		head: (*atomic.Uint64)(unsafe.Pointer(&page.Data_head)),
		tail: (*atomic.Uint64)(unsafe.Pointer(&page.Data_tail)),
		data: mem[os.Getpagesize():],
	}, nil
}

// Read hands every record that is in the buffer to f: its type and its body, without the
// header. The body is valid during the call.
func (r *PerfRing) Read(f func(kind uint32, body []byte)) {
	head, tail := r.head.Load(), r.tail.Load()
	for tail < head {
		r.scratch = r.copy(r.scratch[:0], tail, 8)
		kind := binary.NativeEndian.Uint32(r.scratch)
		size := uint64(binary.NativeEndian.Uint16(r.scratch[6:]))
		if size < 8 || size > head-tail {
			break // not a record: the kernel never writes one
		}
		r.scratch = r.copy(r.scratch[:0], tail+8, size-8)
		f(kind, r.scratch)
		tail += size
	}
	r.tail.Store(head)
}

// copy appends n bytes from a position that may wrap around.
func (r *PerfRing) copy(dst []byte, pos, n uint64) []byte {
	size := uint64(len(r.data))
	start := pos % size
	first := min(n, size-start)
	dst = append(dst, r.data[start:start+first]...)
	return append(dst, r.data[:n-first]...)
}

// Close detaches.
func (r *PerfRing) Close() error {
	return errors.Join(unix.Munmap(r.mem), unix.Close(r.fd))
}
