package ueventstest

import "syscall"

// Plan 9 has words in place of numbers, and not for all of these.
var (
	errPerm      error = syscall.EPERM
	errNoEnt     error = syscall.ENOENT
	errBadF      error = syscall.NewError("bad file descriptor")
	errNoMem     error = syscall.NewError("cannot allocate memory")
	errFault     error = syscall.NewError("bad address")
	errBusy      error = syscall.NewError("device or resource busy")
	errNoDev     error = syscall.NewError("no such device")
	errInval     error = syscall.EINVAL
	errMFile     error = syscall.EMFILE
	errAddrInUse error = syscall.NewError("address already in use")
)
