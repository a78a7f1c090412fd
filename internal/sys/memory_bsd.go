//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	lockCommand = unix.F_SETLK // for the process: these systems have no locks of open files, or no name for them
	noReserve   = 0
)

// CreateMemory fails: programs use files in a directory.
func CreateMemory(string, int, uint32) (fd int, err error) {
	return -1, fmt.Errorf("memfd_create on %s: %w", runtime.GOOS, unix.ENOSYS)
}

// SealMemory fails, since there are no files of CreateMemory.
func SealMemory(int, bool) error { return unix.ENOSYS }

// DontDump does nothing: these systems have no common advice for it.
func DontDump(unsafe.Pointer, int) error { return nil }

// Populated returns true: no control group pays for pages.
func Populated(int, int, int) bool { return true }

// Close closes a descriptor.
func Close(fd int) error { return unix.Close(fd) }
