package otlp_test

import (
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }
