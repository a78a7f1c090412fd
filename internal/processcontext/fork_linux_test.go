package processcontext

import (
	"runtime"
	"syscall"
)

// fork forks the process. The child exits once the parent has closed both ends of a pipe.
func fork(r, w uintptr) (pid int, err error) {
	flags := [2]uintptr{uintptr(syscall.SIGCHLD), 0}
	if runtime.GOARCH == "s390x" {
		flags[0], flags[1] = flags[1], flags[0]
	}
	child, errno := forkWaiting(r, w, flags)
	if errno != 0 {
		return 0, errno
	}
	return int(child), nil
}

// forkWaiting consists of raw system calls: the child has one thread of a Go program.
//
//go:norace
//go:nosplit
func forkWaiting(r, w uintptr, flags [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags[0], flags[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	syscall.RawSyscall(syscall.SYS_CLOSE, w, 0, 0)
	syscall.RawSyscall(syscall.SYS_READ, r, 0, 1) // until the end of the pipe
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	return 0, 0 // not reached
}
