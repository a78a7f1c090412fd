package soak

import (
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
	_ "github.com/userevents/userevents-go/internal/memory/private"
)

// TestMain fails the package when its tests leave something behind.
func TestMain(m *testing.M) { leakcheck.Main(m) }
