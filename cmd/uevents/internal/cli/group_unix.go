//go:build unix

package cli

import (
	"io/fs"
	"strconv"
	"syscall"
)

// groupOf returns the number of a file's group.
func groupOf(st fs.FileInfo) (gid string, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return strconv.FormatUint(uint64(sys.Gid), 10), true
}
