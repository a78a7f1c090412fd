//go:build !linux

package main

import (
	"testing"

	"github.com/userevents/userevents-go/uevents/tracefs"
)

func requireKernel(t *testing.T) *tracefs.Dir {
	t.Skip("needs Linux")
	return nil
}

func traceText(*testing.T, *tracefs.Dir) string { return "" }
