//go:build !linux || 386 || arm || mips || mipsle

package reader

import (
	"errors"
	"fmt"
)

// newMemory fails: only 64-bit Linux shows the memory of programs to others.
func newMemory(*Reader) (memorySession, error) {
	return nil, fmt.Errorf("events in shared memory: %w", errors.ErrUnsupported)
}
