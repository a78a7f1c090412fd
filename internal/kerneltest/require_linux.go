package kerneltest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// EnvVM is set in the guests that the kernel tests run in. Nothing may be skipped there.
const EnvVM = "USEREVENTS_VM"

// Require skips the test on a machine where user events cannot work, and fails it where
// they should: in a guest, or when it could not be told.
func Require(tb testing.TB) *tracefs.FS {
	tb.Helper()
	err := uevents.Probe(nil).Err
	if msg := verdict(err, os.Getenv(EnvVM) != ""); msg == skip {
		tb.Skipf("needs a kernel with user_events: %v", err)
	} else if msg != "" {
		tb.Fatalf("%s: %v", msg, err)
	}
	fs, err := tracefs.Find()
	if err != nil {
		tb.Fatal(err)
	}
	if os.Geteuid() != 0 {
		tb.Skip("needs root to attach tracers")
	}
	return fs
}

const skip = "skip"

// verdict decides what an error of Probe means for a test: run (""), skip, or fail.
func verdict(err error, inVM bool) string {
	switch {
	case err == nil:
		return ""
	case inVM:
		return "the guest's kernel must have user_events"
	case errors.Is(err, uevents.ErrNotSupported), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return skip
	}
	return "it could not be told whether this machine has user_events"
}
