//go:build !linux

package benchmarks

import "testing"

func ownSpansOff(*testing.B, scenario) {}

func ownSpansOn(*testing.B, scenario) {}
