//go:build !unix

package cli

import "os/exec"

// signalCode returns the exit code of a command that did not exit by itself.
func signalCode(*exec.ExitError) int { return exitError }
