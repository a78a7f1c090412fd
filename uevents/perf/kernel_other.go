//go:build !linux

package perf

import (
	"errors"
	"fmt"
)

func newKernel(string) (kernel, error) {
	return nil, fmt.Errorf("perf events exist on Linux only: %w", errors.ErrUnsupported)
}
