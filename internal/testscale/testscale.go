// Package testscale says how much work a test does: all of it on a plain run, less where instructions cost more.
package testscale

import (
	"os"
	"testing"
)

// EnvVM is set in the guests that the kernel tests run in.
const EnvVM = "USEREVENTS_VM"

// Guest reports whether the test runs in a guest.
func Guest() bool { return os.Getenv(EnvVM) != "" }

// Count returns full, or reduced with -short, with the race detector and in guests, whose processor is emulated.
// It is for tests in which the kernel has no part: they do the full work on the machine that runs the guests.
func Count(full, reduced int) int {
	if testing.Short() || Race || Guest() {
		return reduced
	}
	return full
}
