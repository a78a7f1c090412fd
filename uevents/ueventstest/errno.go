//go:build !plan9

package ueventstest

import "syscall"

// The answers of the kernel, by the names that it has for them. Systems other than Linux
// have the names too, with numbers of their own.
const (
	errPerm      = syscall.EPERM
	errNoEnt     = syscall.ENOENT
	errBadF      = syscall.EBADF
	errNoMem     = syscall.ENOMEM
	errFault     = syscall.EFAULT
	errBusy      = syscall.EBUSY
	errNoDev     = syscall.ENODEV
	errInval     = syscall.EINVAL
	errMFile     = syscall.EMFILE
	errAddrInUse = syscall.EADDRINUSE
)
