//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"time"
)

// CgroupRoot returns false: there are no cgroups.
func CgroupRoot(string) bool { return false }

// Inode returns 0.
func Inode(string) uint64 { return 0 }

// Secure returns false: only Linux tells.
func Secure() bool { return false }

// KillTimer ends this process on Linux only: Go has no timers of other kernels that do.
type KillTimer struct{}

// NewKillTimer fails.
func NewKillTimer(time.Duration) (*KillTimer, error) {
	return nil, fmt.Errorf("a timer that ends this process: %w", errors.ErrUnsupported)
}

// Stop is never called.
func (*KillTimer) Stop() error { return nil }

// Monotonic is [Nanotime]: there are no time namespaces.
func Monotonic() int64 { return Nanotime() }
