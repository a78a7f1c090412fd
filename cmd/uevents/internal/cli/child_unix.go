//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// signalCode returns the shells' exit code for a command that a signal has ended.
func signalCode(exit *exec.ExitError) int {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return exitError
	}
	return 128 + int(status.Signal())
}
