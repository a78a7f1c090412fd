//go:build !linux || 386 || arm || mips || mipsle

package memory

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/userevents/userevents-go/internal/backend"
)

// Open fails: the memory needs Linux and words of 64 bits.
func Open() (backend.Backend, error) {
	return nil, fmt.Errorf("%w on %s/%s", errors.ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
