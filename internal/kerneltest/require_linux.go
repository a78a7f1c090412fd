package kerneltest

import (
	"os"
	"strings"
	"testing"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

const (
	// EnvHostTests is set to 1 to let kernel tests run on the machine itself, as root. They change
	// it: they make and delete user events and trace instances, enable events of other
	// systems, give files of tracefs other owners and modes for a while, load an AppArmor profile
	// where AppArmor is on, and before Linux 6.4 leave their events behind until the next boot.
	EnvHostTests = "USEREVENTS_HOST_TESTS"
	// Attr is the attribute of tests that Guest let run. The runner counts them.
	Attr = "kernel"
)

func allowed() bool { return testscale.Guest() || os.Getenv(EnvHostTests) == "1" }

// Tests and examples that open the default provider, as programs do, would register events too:
// before Linux 6.4 those stay. So they find none, in each package whose tests import this one. Where they may, they are about the
// kernel: its refusal is an error, and leads to no other transport.
func init() {
	name, value := uevents.EnvDataFile, "/nonexistent"
	if allowed() {
		name, value = uevents.EnvTransport, uevents.TransportKernel.String()
	}
	if err := os.Setenv(name, value); err != nil {
		panic(err)
	}
}

// Guest skips the test unless it may change this machine: in a guest, or where EnvHostTests
// allows it.
func Guest(tb testing.TB) {
	tb.Helper()
	if !allowed() {
		tb.Skip("only in a guest: it changes the machine")
	}
	tb.Attr(Attr, "used")
}

// Require is Guest, and fails the test if the machine has no user_events or they cannot be
// used.
func Require(tb testing.TB) *tracefs.Dir {
	tb.Helper()
	Guest(tb)
	if err := uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err; err != nil {
		tb.Fatalf("the kernel must have user_events: %v", err)
	}
	fs, err := tracefs.Find()
	if err != nil {
		tb.Fatal(err)
	}
	if os.Geteuid() != 0 {
		tb.Fatal("needs root to attach tracing tools")
	}
	return fs
}

// RequireTool is Require for a test that runs programs of the host, such as perf. A guest with
// another processor cannot have them.
func RequireTool(tb testing.TB, name string) *tracefs.Dir {
	tb.Helper()
	fs := Require(tb)
	if strings.HasSuffix(testscale.Kernel(), "-arm64") {
		tb.Skipf("not on this kernel: a guest of another processor than the host's has no %s", name)
	}
	testscale.NeedProgram(tb, name)
	return fs
}
