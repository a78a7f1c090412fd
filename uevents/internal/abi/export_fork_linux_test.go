//go:build amd64 || arm64

package abi

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/userevents/userevents-go/internal/sys"
)

// What runs in a forked child of a Go program may neither allocate nor grow the stack nor
// call into the runtime: the child has one thread, and copies of locks that nobody will
// ever release. So these functions consist of raw system calls.

// fork forks the process.
//
//go:nosplit
//go:norace
func fork() (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	return pid, errno
}

// ForkAndWatch forks a child that exits with 0 as soon as its copy of the word is not zero, and
// with 1 after two seconds.
//
//go:nosplit
//go:norace
func ForkAndWatch(word *atomic.Uint32) (pid uintptr, errno syscall.Errno) {
	pause := syscall.Timespec{Nsec: 10_000_000}
	pid, errno = fork()
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	for range 200 {
		if word.Load() != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 1, 0, 0)
	return 0, 0
}

// ForkAndUnregister forks a child that unregisters bit 0 of the word and exits with the
// errno.
func ForkAndUnregister(f *File, word *atomic.Uint32) (pid uintptr, errno syscall.Errno) {
	var unreg [unregSize]byte
	order.PutUint32(unreg[0:], unregSize)
	order.PutUint64(unreg[8:], address(word))
	return forkIoctl(uintptr(f.fd), uintptr(sys.IocUnreg), unsafe.Pointer(&unreg))
}

//go:nosplit
//go:norace
func forkIoctl(fd, request uintptr, arg unsafe.Pointer) (pid uintptr, errno syscall.Errno) {
	pid, errno = fork()
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	_, _, result := syscall.RawSyscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(result), 0, 0)
	return 0, 0
}
