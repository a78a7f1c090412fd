package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfBitCgroup is attr.cgroup: records of new cgroups.
const perfBitCgroup = 1 << 32

// OpenPerf opens a disabled perf event on a CPU, of all processes, or of those in a cgroup if
// cgroup is a descriptor of its directory and not -1.
func OpenPerf(a PerfAttr, cpu, cgroup int) (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_ID,
		Bits:        unix.PerfBitDisabled | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll | unix.PerfBitWatermark,
		Wakeup:      a.Watermark,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	set := func(on bool, word *uint64, bits uint64) {
		if on {
			*word |= bits
		}
	}
	if a.Tracepoint != 0 {
		attr.Type, attr.Config = unix.PERF_TYPE_TRACEPOINT, a.Tracepoint
	}
	if a.Tracepoint != 0 && !a.CountOnly {
		attr.Sample = 1
		attr.Sample_type |= unix.PERF_SAMPLE_RAW
		attr.Bits |= unix.PerfBitExcludeCallchainKernel
		set(a.Callchain, &attr.Sample_type, unix.PERF_SAMPLE_CALLCHAIN)
		set(a.CgroupID, &attr.Sample_type, unix.PERF_SAMPLE_CGROUP)
	}
	set(a.Lost, &attr.Read_format, unix.PERF_FORMAT_LOST)
	set(a.Backward, &attr.Bits, unix.PerfBitWriteBackward)
	set(a.Tasks, &attr.Bits, unix.PerfBitComm|unix.PerfBitCommExec|unix.PerfBitTask)
	if a.Tasks && a.CgroupID {
		attr.Bits |= perfBitCgroup
		attr.Sample_type |= unix.PERF_SAMPLE_CGROUP // which the kernel refuses where samples would not have it either
	}
	pid, flags := -1, unix.PERF_FLAG_FD_CLOEXEC
	if cgroup >= 0 {
		pid, flags = cgroup, flags|unix.PERF_FLAG_PID_CGROUP
	}
	fd, err = unix.PerfEventOpen(&attr, pid, cpu, -1, flags)
	if err != nil {
		return -1, os.NewSyscallError("perf_event_open", err)
	}
	return fd, nil
}

// ReadPerf reads the counts of a perf event. They stay readable while it is disabled.
func ReadPerf(fd int) (PerfCounts, error) {
	var b [32]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return PerfCounts{}, os.NewSyscallError("read", err)
	}
	if n < 24 {
		return PerfCounts{}, fmt.Errorf("reading a perf event: %w", io.ErrUnexpectedEOF)
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return PerfCounts{Matched: word(0), Enabled: word(1), ID: word(2), Lost: word(3)}, nil
}

// EnablePerf enables or disables a perf event.
func EnablePerf(fd int, on bool) error {
	if on {
		return perfIoctl(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
	return perfIoctl(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
}

// SetPerfOutput makes an event write into the ring of another one on the same CPU.
func SetPerfOutput(fd, to int) error { return perfIoctl(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, to) }

// SetPerfFilter sets the filter of an event of a tracepoint. The event must not have one yet.
func SetPerfFilter(fd int, filter string) error {
	p, err := unix.BytePtrFromString(filter)
	if err != nil {
		return err
	}
	err = Ioctl(fd, unix.PERF_EVENT_IOC_SET_FILTER, unsafe.Pointer(p))
	runtime.KeepAlive(p)
	return os.NewSyscallError("ioctl", err)
}

func perfIoctl(fd int, request uint, arg int) error {
	return os.NewSyscallError("ioctl", unix.IoctlSetInt(fd, request, arg))
}

// PerfRing is the memory of a ring that a perf event owns: include/uapi/linux/perf_event.h,
// struct perf_event_mmap_page.
type PerfRing struct {
	Data       []byte
	Head, Tail *atomic.Uint64
	mem        []byte
}

// MapPerf maps a ring of size bytes, a power of two of pages. With overwrite, the kernel writes over old records, and the
// tail cannot be set.
func MapPerf(fd, size int, overwrite bool) (*PerfRing, error) {
	prot := unix.PROT_READ | unix.PROT_WRITE
	if overwrite {
		prot = unix.PROT_READ
	}
	mem, err := unix.Mmap(fd, 0, os.Getpagesize()+size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
	return &PerfRing{
		Data: mem[os.Getpagesize():],
		Head: (*atomic.Uint64)(unsafe.Pointer(&page.Data_head)),
		Tail: (*atomic.Uint64)(unsafe.Pointer(&page.Data_tail)),
		mem:  mem,
	}, nil
}

// Unmap unmaps the ring. Nothing may use it any more.
func (r *PerfRing) Unmap() error { return os.NewSyscallError("munmap", unix.Munmap(r.mem)) }

// Clocks returns the times of CLOCK_MONOTONIC of the machine, which perf events have, and of CLOCK_REALTIME at one moment, in nanoseconds.
func Clocks() (mono, wall int64) {
	mono, wall = clocks(unix.CLOCK_REALTIME)
	return mono - ownOffset(), wall
}

// Monotonic returns CLOCK_MONOTONIC of the machine in nanoseconds. That of this process is another one in a time namespace.
func Monotonic() int64 { return Nanotime() - ownOffset() }

var ownOffset = sync.OnceValue(func() int64 { return offsetIn("/proc/self") })

// MonotonicOffset returns by how many nanoseconds CLOCK_MONOTONIC of a process, whose directory in /proc is given, is ahead of that of the
// machine: time_namespaces(7).
func MonotonicOffset(process string) int64 {
	if SameNamespace(process, "time") { // the file tells the offsets of children
		return ownOffset()
	}
	return offsetIn(process)
}

func offsetIn(process string) int64 {
	text, _ := os.ReadFile(process + "/timens_offsets") // a kernel without time namespaces has none
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "monotonic" {
			s, _ := strconv.ParseInt(f[1], 10, 64)
			ns, _ := strconv.ParseInt(f[2], 10, 64)
			return s*int64(time.Second) + ns
		}
	}
	return 0
}

// BootClocks returns the times of CLOCK_MONOTONIC and CLOCK_BOOTTIME at one moment, in nanoseconds. They differ by how long the
// machine has slept.
func BootClocks() (mono, boot int64) { return clocks(unix.CLOCK_BOOTTIME) }

// clocks returns the times of CLOCK_MONOTONIC and another clock.
func clocks(id int32) (mono, other int64) {
	read := func(clock int32) int64 {
		var t unix.Timespec
		_ = unix.ClockGettime(clock, &t) // these clocks exist on every kernel
		return t.Nano()
	}
	// Preemption between two reads makes the result wrong by its length, so the fastest of five tries counts.
	for best, tries := int64(-1), 0; tries < 5 && (best < 0 || best > 2000); tries++ {
		m1, o, m2 := read(unix.CLOCK_MONOTONIC), read(id), read(unix.CLOCK_MONOTONIC)
		if took := m2 - m1; best < 0 || took < best {
			best, mono, other = took, m1+took/2, o
		}
	}
	return mono, other
}

// OpenDir opens a directory for reading.
func OpenDir(path string) (fd int, err error) {
	return open(path, unix.O_RDONLY|unix.O_DIRECTORY)
}

// Inode returns the inode number of a file, or 0 if there is none.
func Inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// MaxFiles returns how many descriptors the process may have: the soft limit of RLIMIT_NOFILE.
func MaxFiles() (int, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	return int(min(l.Cur, 1<<30)), nil
}

// Poller waits until one of many descriptors is readable, or until it is woken. Its methods may
// be called concurrently, except Close.
type Poller struct{ epoll, wake int }

// NewPoller returns a poller without descriptors.
func NewPoller() (*Poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd2", err), unix.Close(epoll))
	}
	p := &Poller{epoll, wake}
	if err := p.Add(wake); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Add adds a descriptor. Closing the descriptor removes it.
func (p *Poller) Add(fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
}

// Wait waits until a descriptor is readable, Wake was called, a signal came, or ms milliseconds passed.
func (p *Poller) Wait(ms int) error {
	var events [16]unix.EpollEvent
	n, err := unix.EpollWait(p.epoll, events[:], ms)
	if err != nil && err != unix.EINTR {
		return os.NewSyscallError("epoll_wait", err)
	}
	for i := range max(n, 0) {
		if int(events[i].Fd) == p.wake {
			var b [8]byte
			_, _ = unix.Read(p.wake, b[:]) // it does not block; EAGAIN means that another Wait was faster
		}
	}
	return nil
}

// Wake ends a Wait, or the next one.
func (p *Poller) Wake() error {
	b := [8]byte{1} // any number but 0 and the largest, in any byte order
	_, err := unix.Write(p.wake, b[:])
	if err == unix.EAGAIN {
		return nil // it was woken very often
	}
	return os.NewSyscallError("write", err)
}

// Close closes the poller.
func (p *Poller) Close() error { return errors.Join(unix.Close(p.wake), unix.Close(p.epoll)) }
