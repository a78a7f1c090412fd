//go:build unix

package cli

import (
	"os"
	"syscall"
)

// dumpSignals are the signals that make flight write a file.
var dumpSignals = []os.Signal{syscall.SIGUSR1}
