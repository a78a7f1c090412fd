package otlpmetrics

import (
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// TestMain fails the package when its tests leave something behind.
func TestMain(m *testing.M) { leakcheck.Main(m) }
