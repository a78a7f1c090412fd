//go:build !linux

package perf

import (
	"errors"
	"fmt"
)

var errOther = fmt.Errorf("perf events exist on Linux only: %w", errors.ErrUnsupported)

func newKernel(string) (kernel, error) { return nil, errOther }

// CPUs returns how many CPUs of the machine are online. A session has a ring for each.
func CPUs() (int, error) { return 0, errOther }
