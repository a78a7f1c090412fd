// Package testscale selects the amount of work of a test: all of it in a plain run, less where instructions are slower.
package testscale

import (
	"os"
	"testing"
)

// EnvVM is set in the guests that run the kernel tests.
const EnvVM = "USEREVENTS_VM"

// Kernel returns the name of the guest's kernel, such as 6.12 or 6.12-arm64, and "" outside of guests.
func Kernel() string { return os.Getenv("USEREVENTS_KERNEL") }

// Guest reports whether the test runs in a guest, and may change it.
func Guest() bool { return os.Getenv(EnvVM) != "" }

// EnvEmulated is set in all guests, also in those that play a host.
const EnvEmulated = "USEREVENTS_EMULATED"

// Emulated reports whether the processor is emulated. Instructions then take about 20 times as long.
func Emulated() bool { return os.Getenv(EnvEmulated) != "" }

// HostOnly skips a test in guests. Use it for tests that involve no kernel and take long, or that need the sources: they
// run on the machine that runs the guests.
func HostOnly(tb testing.TB) {
	tb.Helper()
	if Emulated() {
		tb.Skip("not on this kernel: the test needs none, and runs on the host")
	}
}

// Count returns full, or reduced with -short, with the race detector and in guests, whose processor is emulated. Use it
// for tests that do not involve the kernel: they do the full work on the machine that runs the guests.
func Count(full, reduced int) int {
	if testing.Short() || Race || Emulated() {
		return reduced
	}
	return full
}

// CountConcurrent is Count for tests of concurrency, which do the full work under the race detector too.
func CountConcurrent(full, reduced int) int {
	if testing.Short() || Emulated() {
		return reduced
	}
	return full
}
