//go:build unix

package cli

import (
	"os"
	"syscall"
)

// dumpSignals are the signals that make flight write what it has.
var dumpSignals = []os.Signal{syscall.SIGUSR1}
