//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"time"
)

// KillTimer ends this process on Linux only: Go has no timers of other kernels that do.
type KillTimer struct{}

// NewKillTimer fails.
func NewKillTimer(time.Duration) (*KillTimer, error) {
	return nil, fmt.Errorf("a timer that ends this process: %w", errors.ErrUnsupported)
}

// Stop is never called.
func (*KillTimer) Stop() error { return nil }
