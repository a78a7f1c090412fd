package main

import (
	"os"
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestMain fails the package when its tests leave something behind. A child of TestDashboard is the service itself.
func TestMain(m *testing.M) {
	limit = testscale.Patience // nothing is lost because a machine is slow
	if os.Getenv(envChild) != "" {
		os.Exit(child())
	}
	leakcheck.Main(m)
}
