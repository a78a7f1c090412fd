package perf_test

import (
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// TestMain fails the package if its tests leak resources.
func TestMain(m *testing.M) { leakcheck.Main(m) }
