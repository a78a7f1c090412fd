package uevents_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain fails the package when a test leaks descriptors, mappings or goroutines.
func TestMain(m *testing.M) {
	// The runtime opens its poller with the first pipe, and keeps it.
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
	before := takeInventory()
	code := m.Run()
	if code == 0 {
		if leak := before.leak(); leak != "" {
			fmt.Fprintln(os.Stderr, "the tests leak:", leak)
			code = 1
		}
	}
	os.Exit(code)
}
