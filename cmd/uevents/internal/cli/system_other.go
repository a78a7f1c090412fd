//go:build !unix

package cli

import (
	"io/fs"
	"os"
	"os/exec"
)

func foreground() bool { return false }

// signalCode returns the exit code for a command that did not exit itself.
func signalCode(*exec.ExitError) int { return exitError }

// groupOf reports that files have no groups.
func groupOf(fs.FileInfo) (gid string, ok bool) { return "", false }

// Other systems have no such links and owners.
const noFollow = 0

func ownFile(fs.FileInfo) bool { return true }
func linked(fs.FileInfo) bool  { return false }

func lock(*os.File) error { return nil }

var dumpSignals []os.Signal
