//go:build !unix

package cli

import "os/exec"

func foreground() bool { return false }

// signalCode returns the exit code for a command that did not exit itself.
func signalCode(*exec.ExitError) int { return exitError }
