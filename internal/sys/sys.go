// Package sys is the only package that imports golang.org/x/sys/unix. It holds the system calls
// of the library, under names that say what they are for, so that the packages above it are
// portable and easy to audit.
//
// OpenNonblocking and Read are called by internal/kerneltest only, which reads ftrace's ring
// buffers with them, and ProcessTime by benchmarks and tests.
package sys

import (
	"os"
	"strings"
	_ "unsafe" // for linkname
)

// Executable returns the path of a process's program, also if its file was replaced or removed since, which the kernel adds to the
// path. process is a directory such as /proc/1. Reading it needs permission to trace the process.
func Executable(process string) (string, error) {
	path, err := os.Readlink(process + "/exe")
	return strings.TrimSuffix(path, " (deleted)"), err
}

// InitialNamespace reports whether this process is in the first namespace of a kind, "cgroup", "pid", "user" or "uts": its inode number is part of the
// kernel's interface (include/uapi/linux/nsfs.h). A process that sees no /proc, such as on another system than Linux, is
// taken for one.
func InitialNamespace(kind string) bool {
	first := map[string]string{"cgroup": "cgroup:[4026531835]", "pid": "pid:[4026531836]", "user": "user:[4026531837]", "uts": "uts:[4026531838]"}[kind]
	is, err := os.Readlink("/proc/self/ns/" + kind)
	return err != nil || is == first
}

// SameNamespace reports whether a process, whose directory in /proc is given, is known to be in the namespace of a kind that this process is in.
func SameNamespace(process, kind string) bool {
	of, err := os.Readlink(process + "/ns/" + kind)
	own, ownErr := os.Readlink("/proc/self/ns/" + kind)
	return err == nil && ownErr == nil && of == own
}

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

// PerfAttr selects what a perf event counts and what its records have. Records of all events
// have the same layout, so that one ring can hold those of many:
//
//	sample  u64 id; u32 pid, tid; u64 time; [u64 n; u64 ips[n];] u32 size; char raw[size]; [u64 cgroup]
//	other   ...; u32 pid, tid; u64 time; u64 id
//
// after a struct perf_event_header. The brackets are those of Callchain and CgroupID. The time
// is CLOCK_MONOTONIC in nanoseconds. The CPU is that of the ring.
type PerfAttr struct {
	Tracepoint uint64 // its id; 0 is the software event that counts nothing and owns a ring
	CountOnly  bool   // no records
	Lost       bool   // reading returns the lost samples (Linux 6.0 and later, else EINVAL)
	Callchain  bool   // samples have the return addresses of the user's stack
	CgroupID   bool   // samples have the id of the cgroup (CONFIG_CGROUP_PERF, else EINVAL)
	Tasks      bool   // records of names, forks and exits of threads, and with CgroupID of new cgroups
	Backward   bool   // from the end of the ring, for rings that are overwritten
	Watermark  uint32 // bytes in a ring that wake its reader
}

// PerfCounts is what reading a perf event returns.
type PerfCounts struct {
	Matched uint64 // how often the tracepoint was hit and its filter held
	Enabled uint64 // ns
	ID      uint64 // as in the records
	Lost    uint64 // of the records, for lack of room; 0 without PerfAttr.Lost
}
