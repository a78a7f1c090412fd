package main

import (
	"os"
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// envProgram makes the test binary the program.
const envProgram = "USER_EVENTS_TEST_REQUESTID"

// TestMain fails the package when its tests leave something behind.
func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		main()
		return
	}
	leakcheck.Main(m)
}
