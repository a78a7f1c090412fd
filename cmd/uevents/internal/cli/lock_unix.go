//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock refuses a file that another recording is writing: both would be lost. The lock ends with the process.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: another program is writing it: %w", f.Name(), err)
	}
	return nil // other errors are those of file systems without locks
}
