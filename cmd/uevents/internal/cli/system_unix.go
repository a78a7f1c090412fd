//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// foreground reports whether this process is in the foreground of a terminal: proc_pid_stat(5).
func foreground() bool {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return false
	}
	return isForeground(string(stat))
}

func isForeground(stat string) bool {
	const group, terminal, terminalGroup = 2, 4, 5
	fields := statFields(stat)
	return len(fields) > terminalGroup && fields[terminal] != "0" && fields[group] == fields[terminalGroup]
}

// signalCode returns the shells' exit code for a command that a signal has ended.
func signalCode(exit *exec.ExitError) int {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return exitError
	}
	return 128 + int(status.Signal())
}

// noFollow makes open refuse a link as the last part of a path.
const noFollow = syscall.O_NOFOLLOW

// ownFile reports whether a file belongs to this user.
func ownFile(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// linked reports whether a file has several names.
func linked(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Nlink > 1
}

func groupOf(st fs.FileInfo) (gid string, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return strconv.FormatUint(uint64(sys.Gid), 10), true
}

// lock refuses a file that another recording is writing: both would be lost. The lock ends with the process.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: another program is writing it: %w", f.Name(), err)
	}
	return nil // other errors are those of file systems without locks
}

var dumpSignals = []os.Signal{syscall.SIGUSR1}
