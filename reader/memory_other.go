//go:build !linux || 386 || arm || mips || mipsle

package reader

import (
	"errors"
	"fmt"
)

// withMemory fails: only 64-bit Linux shows the memory of programs to others.
func (r *Reader) withMemory() (session, error) {
	return nil, fmt.Errorf("events in shared memory: %w", errors.ErrUnsupported)
}
