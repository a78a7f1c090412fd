package sys

import (
	"os"
	"strings"
)

// Executable returns the path of a process's program, also if its file was replaced or removed since, which the kernel adds to the
// path. process is a directory such as /proc/1. Reading it needs permission to trace the process.
func Executable(process string) (string, error) {
	path, err := os.Readlink(process + "/exe")
	return strings.TrimSuffix(path, " (deleted)"), err
}
