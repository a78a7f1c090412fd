//go:build !linux

package uevents_test

import "testing"

func realKernel(t *testing.T) world {
	t.Skip("needs Linux")
	return nil
}
