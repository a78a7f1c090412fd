package symbols

import (
	"io/fs"
	"syscall"
)

// nonBlocking makes opening a named pipe return at once.
const nonBlocking = syscall.O_NONBLOCK

func inodeOf(st fs.FileInfo) (device, inode uint64) {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Dev), sys.Ino //nolint:unconvert // on some processors the device has 32 bits
	}
	return 0, 0
}
