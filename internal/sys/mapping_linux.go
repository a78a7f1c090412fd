package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MapPrivate maps the beginning of a file for reading and writing; what this process writes is not in the file. A negative
// descriptor maps zeros. UnmapBytes undoes it.
func MapPrivate(fd, size int) ([]byte, error) {
	flags := unix.MAP_PRIVATE
	if fd < 0 {
		flags |= unix.MAP_ANON
	}
	return mapBytes(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
}

// DontFork omits a mapping from the children that fork makes.
func DontFork(b []byte) error {
	return os.NewSyscallError("madvise", unix.Madvise(b, unix.MADV_DONTFORK))
}

// NameMapping sets the name that a mapping has in /proc/PID/maps. The kernel refuses names without CONFIG_ANON_VMA_NAME, and before
// Linux 6.2 for a mapping of a file.
func NameMapping(b []byte, name string) error {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME,
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(unsafe.Pointer(text)), 0)
	if errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// BootTime returns CLOCK_BOOTTIME in nanoseconds.
func BootTime() (uint64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return uint64(t.Nano()), os.NewSyscallError("clock_gettime", err)
}
