//go:build unix

package cli

import (
	"os"
	"os/exec"
	"strings"
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
	const group, terminal, terminalGroup = 2, 4, 5 // after the name, which can have any character
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
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
