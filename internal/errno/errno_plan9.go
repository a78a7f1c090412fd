// Package errno has the kernel's answers that mean something in the user_events interface,
// on every operating system: package ueventstest gives them everywhere.
package errno

import "syscall"

// Plan 9 has words in place of numbers, and not for all of these.
var (
	EPERM      error = syscall.EPERM
	ENOENT     error = syscall.ENOENT
	ESRCH      error = syscall.NewError("no such process")
	E2BIG      error = syscall.NewError("argument list too long")
	EBADF      error = syscall.NewError("bad file descriptor")
	ENOMEM     error = syscall.NewError("cannot allocate memory")
	EFAULT     error = syscall.NewError("bad address")
	EBUSY      error = syscall.NewError("device or resource busy")
	ENODEV     error = syscall.NewError("no such device")
	EINVAL     error = syscall.EINVAL
	EMFILE     error = syscall.EMFILE
	EADDRINUSE error = syscall.NewError("address already in use")
)
