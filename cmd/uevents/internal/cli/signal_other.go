//go:build !unix

package cli

import "os"

var dumpSignals []os.Signal
