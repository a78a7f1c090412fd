//go:build !plan9

// Package errno has the kernel's answers that mean something in the user_events interface,
// on every operating system: package ueventstest gives them everywhere.
package errno

import "syscall"

// Systems other than Linux know these names too, with numbers of their own.
const (
	EPERM      = syscall.EPERM
	ENOENT     = syscall.ENOENT
	ESRCH      = syscall.ESRCH
	E2BIG      = syscall.E2BIG
	EBADF      = syscall.EBADF
	ENOMEM     = syscall.ENOMEM
	EFAULT     = syscall.EFAULT
	EBUSY      = syscall.EBUSY
	ENODEV     = syscall.ENODEV
	EINVAL     = syscall.EINVAL
	EMFILE     = syscall.EMFILE
	EADDRINUSE = syscall.EADDRINUSE
)
