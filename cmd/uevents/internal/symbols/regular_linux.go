package symbols

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openPath is O_PATH on all processors that Go knows: the file is found, but not opened.
const openPath = 0x200000

// openRegular opens a regular file to read it, and nothing else: opening a device may do something, such as to start a
// watchdog. The file is found first, and is opened if it is a regular one, so that none can be put in its place.
//
// What remains: a file system of a user (FUSE) sees that the file is read, and can make the read wait; and the files of
// sysfs, which are regular and have a size, can be read.
func openRegular(open func(name string, flag int, perm fs.FileMode) (*os.File, error), name string) (*os.File, identity, error) {
	found, err := open(name, openPath, 0)
	if err != nil {
		return nil, identity{}, err
	}
	defer found.Close()
	if _, err := identify(found); err != nil {
		return nil, identity{}, err
	}
	return identified(os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", found.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func inodeOf(st fs.FileInfo) (device, inode uint64) {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Dev), sys.Ino //nolint:unconvert // on some processors the device has 32 bits
	}
	return 0, 0
}
