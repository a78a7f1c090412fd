package abi

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/userevents/userevents-go/internal/sys"
)

// What runs in a forked child of a Go program may neither allocate nor grow the stack nor
// call into the runtime: the child has one thread, and copies of locks that nobody will ever
// release. So it consists of raw system calls.

// ForkWriting forks the process. The child clears its copy of the word, writes a byte to ready, waits until the word and
// attached, which is in shared memory, are not 0, and writes a record. It exits with 0, with the errno of the write, or with 255
// after five minutes. The word is not enough: the kernel sets it before it marks the event of an instance of ftrace as
// enabled, and discards records that are written between the two.
func ForkWriting(f *File, word, attached *atomic.Uintptr, ready int, rec []byte) (pid int, err error) {
	pause := syscall.NsecToTimespec(250_000_000)
	child, errno := forkWriting((*uintptr)(unsafe.Pointer(word)), (*uintptr)(unsafe.Pointer(attached)), &pause, uintptr(ready), uintptr(f.fd), &rec[0], uintptr(len(rec)), cloneArgs())
	runtime.KeepAlive(f)
	return forked(child, errno)
}

//go:norace
//go:nosplit
func forkWriting(word, attached *uintptr, pause *syscall.Timespec, ready, fd uintptr, rec *byte, n uintptr, args [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, args[0], args[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	*word = 0
	syscall.RawSyscall(syscall.SYS_WRITE, ready, uintptr(unsafe.Pointer(rec)), 1)
	for range 1200 {
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
		if *word != 0 && *attached != 0 {
			_, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(rec)), n)
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 255, 0, 0)
	return 0, 0 // not reached
}

// ForkUnregister forks the process. The child unregisters the bit and exits with the errno.
func ForkUnregister(f *File, word *atomic.Uintptr, bit uint8) (pid int, err error) {
	unreg := userUnreg(bit, address(word))
	child, errno := forkUnregister(uintptr(f.fd), &unreg, cloneArgs())
	runtime.KeepAlive(f)
	return forked(child, errno)
}

//go:norace
//go:nosplit
func forkUnregister(fd uintptr, unreg *[unregSize]byte, args [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, args[0], args[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, fd, uintptr(sys.IocUnreg), uintptr(unsafe.Pointer(unreg)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	return 0, 0 // not reached
}

// cloneArgs returns the first two arguments of clone(2), which s390x has the other way round.
func cloneArgs() [2]uintptr {
	if runtime.GOARCH == "s390x" {
		return [2]uintptr{0, uintptr(syscall.SIGCHLD)}
	}
	return [2]uintptr{uintptr(syscall.SIGCHLD), 0}
}

func forked(pid uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(pid), nil
}
