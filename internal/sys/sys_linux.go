package sys

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenWriteOnly opens a file for writing, and for nothing else: write permission is all
// that user_events_data asks of a program.
func OpenWriteOnly(path string) (fd int, err error) {
	return open(path, unix.O_WRONLY)
}

// Close closes a descriptor.
func Close(fd int) error { return unix.Close(fd) }

// Dup returns a new descriptor for the same open file, closed on exec.
func Dup(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return n, os.NewSyscallError("fcntl", err)
}

// CloseOnExec makes exec close a descriptor.
func CloseOnExec(fd int) { unix.CloseOnExec(fd) }

// Writable reports whether a descriptor is open for writing.
func Writable(fd int) (bool, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	mode := flags & unix.O_ACCMODE
	return err == nil && (mode == unix.O_WRONLY || mode == unix.O_RDWR), os.NewSyscallError("fcntl", err)
}

// Write writes b at offset 0 with one pwrite64 system call. Unlike os.File it takes no lock
// and no reference: the caller makes sure that fd stays open until Write returns.
//
// A write without an offset locks the file's position, and all threads of a process would
// queue up for the mutex; user_events_data has no position. Without the mutex nothing in
// the kernel waits, so that Go's scheduler need not be told either, which is a sixth of the
// whole cost.
//
// Errors are errnos as the kernel returns them.
func Write(fd int, b []byte) error {
	// Zeros are an offset of 0 in whichever registers an architecture passes it.
	_, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Ioctl performs an ioctl whose argument points to memory that the kernel reads or writes.
func Ioctl(fd int, request uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// MapAnonymous maps size bytes of zeroed private memory that nothing ever moves or frees.
func MapAnonymous(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return b, os.NewSyscallError("mmap", err)
}

// MapReadOnly maps the first size bytes of a file, shared and read-only.
func MapReadOnly(fd, size int) ([]byte, error) {
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	return b, os.NewSyscallError("mmap", err)
}

// Sleep is time.Sleep by the kernel's clock: it also takes its time in a bubble of testing/synctest.
func Sleep(d time.Duration) {
	left := unix.NsecToTimespec(d.Nanoseconds())
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}

// Release returns the kernel's release and machine names, such as "6.12.1" and "x86_64".
func Release() (release, machine string) {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "", ""
	}
	return unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:])
}

// Requests of user_events_data, include/uapi/linux/user_events.h:
//
//	#define DIAG_IOC_MAGIC '*'
//	#define DIAG_IOCSREG   _IOWR(DIAG_IOC_MAGIC, 0, struct user_reg *)
//	#define DIAG_IOCSDEL   _IOW(DIAG_IOC_MAGIC, 1, char *)
//	#define DIAG_IOCSUNREG _IOW(DIAG_IOC_MAGIC, 2, struct user_unreg *)
const (
	IocReg   = (iocRead|iocWrite)<<iocDirShift | pointerSize<<16 | '*'<<8
	IocDel   = iocWrite<<iocDirShift | pointerSize<<16 | '*'<<8 | 1
	IocUnreg = iocWrite<<iocDirShift | pointerSize<<16 | '*'<<8 | 2

	pointerSize = uint(unsafe.Sizeof(uintptr(0)))
)

// The build fails where the encoding above is not the architecture's own: FS_IOC_GETFLAGS
// is _IOR('f', 1, long).
var _ = [1]struct{}{}[iocRead<<iocDirShift|pointerSize<<16|'f'<<8|1-uint(unix.FS_IOC_GETFLAGS)]
